/** What schemas are called in OpenAPI documents, and how documents refer to them. */
import type { JsonObject } from '../../kube/objects.ts'
import type { ServedResource } from '../resource.ts'

/** Schemas by their names, references being `#/components/schemas/<name>`. */
export type Definitions = Readonly<Record<string, JsonObject>>

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

/** What every document may refer to. */
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

/** The name of a kind's schema. A CRD's group is written backwards: `dev.kopf.v1.KopfExample`. */
export function schemaName(resource: ServedResource, suffix: '' | 'List' = ''): string {
  const { group, version, kind, listKind, isCustom } = resource
  if (isCustom) return `${group.split('.').reverse().join('.')}.${version}.${suffix === '' ? kind : listKind}`
  return longName(`${group === '' ? 'core' : group.split('.')[0]}.${version}.${kind}`) + suffix
}
