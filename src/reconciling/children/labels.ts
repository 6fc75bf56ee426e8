/**
 * What is written onto children, and only there: a label by which the server finds them, and an annotation that says what was
 * wanted of them. With these, an operator that starts with an empty memory knows its children, and whether to write anything.
 */
import { type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import { digestInHex } from '../../util/text/digest.ts'

/** Whose child it is: which reconciler of which operator. The server is asked for those with our values only. */
export const reconcilerLabel = 'kopf.dev/reconciler'

/** The group of the child and the digest of what was wanted of it: `0-Yx…`. */
export const desiredAnnotation = 'kopf.dev/wanted'

const maxValueLength = 63

/** The id of the handler, after the name of the operator where it has one; shortened where no label could hold it. */
export function toReconcilerLabel(operator: string | undefined, id: string): string {
  const whole = operator === undefined ? id : `${operator}.${id}`
  if (/^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(whole)) return whole
  const digest = digestInHex(whole)
  const safe = whole.replace(/[^-A-Za-z0-9_.]+/g, '-').replace(/^[^A-Za-z0-9]+/, '')
  return `${safe.slice(0, maxValueLength - digest.length - 1)}-${digest}`.replace(/^-/, '')
}

/** What Kubernetes takes as the name of a field manager: at most 128 printable characters. */
export function toFieldManager(operator: string | undefined): string {
  return (operator ?? '').replace(/[^\x20-\x7e]+/g, '-').slice(0, 128) || 'kopf'
}

export function reconcilerLabelOf({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  return metadata.annotations?.[desiredAnnotation]
}

export function toLabelValue(group: number, digest: string): string {
  return `${group}-${digest}`
}

/** Those of later groups are deleted first; what does not say its group is of the first one. */
export function groupOf(object: KubeObject): number {
  return Number(/^(\d{1,6})-/.exec(reconcilerLabelOf(object) ?? '')?.[1] ?? 0)
}

/** How children are told apart, and called in messages. */

interface NamedChild {
  readonly [field: string]: unknown
}

/** The version is no part of it: the server has each object once. */
export function childKey(object: object): string {
  const { apiVersion, kind, metadata } = object as NamedChild
  const { namespace, name } = metadata as NamedChild
  return `${parseGroupVersion(String(apiVersion))?.group ?? ''}/${kind}/${namespace ?? ''}/${name}`
}

/** ` in the namespace "team-a"`, where the owner is in none; else nothing, since children are in the namespace of their owner. */
export function describePlace(object: object, ownerNamespace: string | undefined): string {
  const { namespace } = (object as NamedChild)['metadata'] as NamedChild
  return namespace === undefined || namespace === ownerNamespace ? '' : ` in the namespace ${JSON.stringify(namespace)}`
}

/** `ConfigMap "settings"`. */
export function describeChild(object: object): string {
  const { kind, metadata } = object as NamedChild
  return `${kind} ${JSON.stringify((metadata as NamedChild)['name'])}`
}
