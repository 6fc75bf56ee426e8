/**
 * The label and the annotation that the operator writes on children, and the keys and names of children. The label selects the
 * children in a watch; the annotation has the applied desired state. After a restart the operator finds its children and their drift by both.
 */
import { type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import { digestInHex } from '../../util/text/digest.ts'

/** The label with the operator and the reconciler that created a child. Children are listed and watched by this label. */
export const reconcilerLabel = 'kopf.dev/reconciler'

/** The annotation with the fingerprint of the applied desired state: the position of the group and a digest, `0-Yx…`. */
export const desiredAnnotation = 'kopf.dev/wanted'

const maxValueLength = 63

/** `<operator>.<handler id>`, or the handler id if the operator has no name. A value that is no valid label is shortened and gets a digest. */
export function toReconcilerLabel(operator: string | undefined, id: string): string {
  const whole = operator === undefined ? id : `${operator}.${id}`
  if (/^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(whole)) return whole
  const digest = digestInHex(whole)
  const safe = whole.replace(/[^-A-Za-z0-9_.]+/g, '-').replace(/^[^A-Za-z0-9]+/, '')
  return `${safe.slice(0, maxValueLength - digest.length - 1)}-${digest}`.replace(/^-/, '')
}

/** Kubernetes allows at most 128 printable characters in the name of a field manager. */
export function toFieldManager(operator: string | undefined): string {
  return (operator ?? '').replace(/[^\x20-\x7e]+/g, '-').slice(0, 128) || 'kopf'
}

export function fingerprintOf({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  return metadata.annotations?.[desiredAnnotation]
}

export function toFingerprint(group: number, digest: string): string {
  return `${group}-${digest}`
}

/** The position of the child's group: children of later groups are deleted first. 0 for a child without the annotation. */
export function groupOf(object: KubeObject): number {
  return Number(/^(\d{1,6})-/.exec(fingerprintOf(object) ?? '')?.[1] ?? 0)
}

interface NamedChild {
  readonly [field: string]: unknown
}

/** Identifies a child by API group, kind, namespace and name. Without the version: all versions of a kind are the same object. */
export function childKey(object: object): string {
  const { apiVersion, kind, metadata } = object as NamedChild
  const { namespace, name } = metadata as NamedChild
  return `${parseGroupVersion(String(apiVersion))?.group ?? ''}/${kind}/${namespace ?? ''}/${name}`
}

/** ` in the namespace "team-a"` if the owner is cluster-scoped. Empty otherwise, since the child is in the namespace of its owner. */
export function describePlace(object: object, ownerNamespace: string | undefined): string {
  const { namespace } = (object as NamedChild)['metadata'] as NamedChild
  return namespace === undefined || namespace === ownerNamespace ? '' : ` in the namespace ${JSON.stringify(namespace)}`
}

/** `ConfigMap "settings"`. */
export function describeChild(object: object): string {
  const { kind, metadata } = object as NamedChild
  return `${kind} ${JSON.stringify((metadata as NamedChild)['name'])}`
}
