/** How children are told apart, and called in messages. */
import { parseGroupVersion } from '../../kube/objects.ts'

interface Named {
  readonly [field: string]: unknown
}

/** The version is no part of it: the server has each object once. */
export function keyOfChild(object: object): string {
  const { apiVersion, kind, metadata } = object as Named
  const { namespace, name } = metadata as Named
  return `${parseGroupVersion(String(apiVersion))?.group ?? ''}/${kind}/${namespace ?? ''}/${name}`
}

/** ` in the namespace "team-a"`, where the owner is in none; else nothing, since children are in the namespace of their owner. */
export function describePlace(object: object, ownerNamespace: string | undefined): string {
  const { namespace } = (object as Named)['metadata'] as Named
  return namespace === undefined || namespace === ownerNamespace ? '' : ` in the namespace ${JSON.stringify(namespace)}`
}

/** `ConfigMap "settings"`. */
export function describeChild(object: object): string {
  const { kind, metadata } = object as Named
  return `${kind} ${JSON.stringify((metadata as Named)['name'])}`
}
