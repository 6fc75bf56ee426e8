/**
 * Decides whether an object that exists under the name of a child belongs to the reconciler. An author chooses the names of
 * children by naming the parent, so an object of that name may belong to another user: it must not be written, adopted or deleted. Pure.
 */
import type { ObjectMeta } from '../../kube/objects.ts'
import type { OwnerKeyOfChild } from '../sources/child-cache.ts'
import type { DesiredChild } from './desired.ts'
import { reconcilerLabel, reconcilerLabelOf } from './labels.ts'

export interface ExistingChild {
  readonly own: OwnerKeyOfChild
  readonly wanted: DesiredChild
  /** The uid under which this process has seen or made the child before. */
  readonly knownUid: string | undefined
}

const notOurs = 'it exists, and this operator has not created it'

/** Why the object must be left alone, as the end of a sentence; undefined where it is a child of the parent, or may be adopted. */
export function whyForeign(existing: ObjectMeta, { own, wanted, knownUid }: ExistingChild): string | undefined {
  const controller = existing.ownerReferences?.find((one) => one.controller === true)
  if (controller !== undefined && controller.uid !== own.owner) {
    return `another object controls it, and there can be only one: ${controller.kind} "${controller.name}"; name the child differently, or delete it`
  }
  const isOurs = controller !== undefined || existing.uid === knownUid || wasApplied(existing, own, wanted)
  if (isOurs || wanted.existing === 'adopt') return undefined
  return `${notOurs}; name the child differently, delete the existing object, or say what to do with it by the option "existing"`
}

/**
 * The owner reference was removed while no operator ran. The annotation has a digest of what was applied, which covers the uid of the
 * parent: only the operator, or a client that may write the object anyway, can have put it there.
 */
function wasApplied(existing: ObjectMeta, { label }: OwnerKeyOfChild, { mark }: DesiredChild): boolean {
  return existing.labels?.[reconcilerLabel] === label && reconcilerLabelOf({ metadata: existing }) === mark
}
