/** Names of schemas in OpenAPI documents, and references to them. */
import type { JsonObject } from '../../kube/objects.ts'
import type { ApiResource } from '../resource.ts'

/** Schemas by name; references have the form `#/components/schemas/<name>`. */
export type SchemaDefinitions = Readonly<Record<string, JsonObject>>

const machinery = 'io.k8s.apimachinery.pkg'

/** `core.v1.Pod` -> `io.k8s.api.core.v1.Pod` */
function longName(short: string): string {
  if (short.startsWith('meta.')) return `${machinery}.apis.${short}`
  if (short.startsWith('apiextensions.')) return `io.k8s.apiextensions-apiserver.pkg.apis.${short}`
  return `io.k8s.api.${short}`
}

export function reference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

/** Schemas that all documents may refer to. */
export const common: Readonly<
  Record<'objectMeta' | 'listMeta' | 'status' | 'deleteOptions' | 'patch' | 'scale', string>
> = {
  objectMeta: longName('meta.v1.ObjectMeta'),
  listMeta: longName('meta.v1.ListMeta'),
  status: longName('meta.v1.Status'),
  deleteOptions: longName('meta.v1.DeleteOptions'),
  patch: longName('meta.v1.Patch'),
  scale: longName('autoscaling.v1.Scale'),
}

/** The schema name of a kind. The group of a CRD is reversed: `dev.kopf.v1.KopfExample`. */
export function schemaName(resource: ApiResource, suffix: '' | 'List' = ''): string {
  const { group, version, kind, listKind, isCustom } = resource
  if (isCustom) return `${group.split('.').reverse().join('.')}.${version}.${suffix === '' ? kind : listKind}`
  return longName(`${group === '' ? 'core' : group.split('.')[0]}.${version}.${kind}`) + suffix
}
