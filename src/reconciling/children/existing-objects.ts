/**
 * Objects that exist under the name of a child and that the operator may not have created: decides whether such an object belongs to the reconciler, and
 * when to check an unmanaged one again. The author of a parent chooses the names of children, so an object of that name may belong to another user: the
 * operator must not write, adopt or delete it. Called by sync.ts. Pure.
 */
import type { ObjectMeta } from '../../kube/objects.ts'
import type { OwnerKeyOfChild } from '../sources/child-cache.ts'
import type { DesiredChild } from './desired.ts'
import { fingerprintOf, reconcilerLabel } from './labels.ts'

export interface ExpectedChild {
  readonly own: OwnerKeyOfChild
  readonly desired: DesiredChild
  /** The uid of the child that this process last saw or created under the name. */
  readonly knownUid: string | undefined
}

/** Why the operator must not write the object, as the end of a sentence; undefined if it is a child of the parent, or may be adopted. */
export function whyForeign(existing: ObjectMeta, { own, desired, knownUid }: ExpectedChild): string | undefined {
  const controller = existing.ownerReferences?.find((one) => one.controller === true)
  if (controller !== undefined && controller.uid !== own.owner) {
    return `another object controls it, and there can be only one: ${controller.kind} "${controller.name}"; name the child differently, or delete it`
  }
  const isOurs = controller !== undefined || existing.uid === knownUid || wasApplied(existing, own, desired)
  if (isOurs || desired.existing === 'adopt') return undefined
  return 'it exists, and this operator has not created it; name the child differently, delete the existing object, or set the option "existing"'
}

/**
 * Recognises a child whose owner reference was removed while no operator ran. The annotation has a digest of the applied object, which includes the
 * uid of the parent: only the operator, or a client that may write the object anyway, can have set it.
 */
function wasApplied(existing: ObjectMeta, { label }: OwnerKeyOfChild, { fingerprint }: DesiredChild): boolean {
  return existing.labels?.[reconcilerLabel] === label && fingerprintOf({ metadata: existing }) === fingerprint
}

/** An object that stays unmanaged (`existing: 'leave'`). The operator does not watch it, and checks from time to time whether the name is free. */
export interface UnmanagedChild {
  /** `Secret "db"`, for the condition. */
  readonly name: string
  /** The time between the last check and the next one. */
  readonly delayMs: number
  /** The time of the next check, which costs two requests; by the monotonic clock. */
  readonly nextMs: number
}

const firstDelayMs = 60_000
const maxDelayMs = 600_000

/** The record after a check has found the object, for the first time or again. */
export function recordUnmanaged(before: UnmanagedChild | undefined, name: string, nowMs: number): UnmanagedChild {
  const delayMs = Math.min(before === undefined ? firstDelayMs : before.delayMs * 2, maxDelayMs)
  return { name, delayMs, nextMs: nowMs + delayMs }
}

/** The owner, or an object that its reconciler watches, has changed: the name of the child may be free now. */
export function recheckNow(unmanaged: Map<string, UnmanagedChild>): void {
  for (const [key, one] of unmanaged) unmanaged.set(key, { ...one, nextMs: -Infinity })
}
