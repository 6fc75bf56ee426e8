/**
 * Compares the desired children of an object with the existing ones and plans one round: children to apply, to delete and to wait
 * for. sync.ts executes the plan and asks for another one, since the round changes the existing children. Pure.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { ChildDrift } from '../drift/drift.ts'
import type { DesiredChild, DesiredGroup } from './desired.ts'
import { childKey, describeChild, groupOf } from './labels.ts'
import { isReady } from './readiness.ts'

export interface PlannedApply {
  readonly desired: DesiredChild
  /** The existing child; undefined if it is missing. */
  readonly live: KubeObject | undefined
  readonly drift: Exclude<ChildDrift, { type: 'same' }> | { readonly type: 'missing' }
}

export interface ChildrenPlan {
  readonly applies: readonly PlannedApply[]
  readonly deletions: readonly KubeObject[]
  /** Reasons why later groups wait, as sentences. */
  readonly waits: readonly string[]
  /** Children that cannot be applied because existing children of their kind are not listed, as sentences. */
  readonly unlisted: readonly string[]
}

export interface ChildrenInput {
  readonly groups: readonly DesiredGroup[]
  readonly present: readonly KubeObject[]
  /** Why existing children of this kind are not listed, as the end of a sentence; undefined if they are. */
  readonly whyUnlisted: (desired: DesiredChild) => string | undefined
  readonly driftOf: (desired: DesiredChild, live: KubeObject) => ChildDrift
  /** Whether the name belongs to an unmanaged object (`existing: 'leave'`): the child is neither applied nor waited for. */
  readonly isUnmanaged: (desired: DesiredChild) => boolean
}

export function planChildren(input: ChildrenInput): ChildrenPlan {
  const [waits, unlisted]: [string[], string[]] = [[], []]
  const applies = [...planApplies(input, waits, unlisted)]
  return { applies, deletions: planDeletions(input, waits), waits, unlisted }
}

/** A group is applied after the groups before it are ready. Children that other clients overwrote are applied in any group. */
function* planApplies(
  { groups, present, whyUnlisted, driftOf, isUnmanaged }: ChildrenInput,
  waits: string[],
  unlisted: string[],
): Iterable<PlannedApply> {
  const live = new Map(present.map((child) => [childKey(child), child]))
  let isBlocked = false
  for (const { children, ready } of groups) {
    const before = waits.length + unlisted.length
    let isInProgress = false
    for (const desired of children) {
      const child = live.get(desired.key)
      const why = whyUnlisted(desired)
      if (why !== undefined) {
        unlisted.push(`${describeChild(desired.object)} ${why}`)
        continue
      }
      if (child?.metadata.deletionTimestamp !== undefined) {
        waits.push(`${describeChild(child)} is being deleted, and is created again afterwards`)
        continue
      }
      if (child === undefined && isUnmanaged(desired)) continue
      const drift = child === undefined ? ({ type: 'missing' } as const) : driftOf(desired, child)
      if (drift.type === 'same') {
        if (!isBlocked && !isChildReady(child!, ready)) waits.push(`${describeChild(child!)} is not ready`)
      } else if (!isBlocked || drift.type === 'overwritten') {
        isInProgress = true
        yield { desired, live: child, drift }
      }
    }
    isBlocked ||= isInProgress || waits.length + unlisted.length > before
  }
}

function isChildReady(child: KubeObject, ready: DesiredGroup['ready']): boolean {
  const byDefault = isReady(child)
  return ready === undefined ? byDefault : Boolean(ready(child as never, byDefault))
}

/** Children that are not desired any more, of the last group that has some: a group is deleted after all groups behind it are gone. */
export function planDeletions(
  { groups, present }: Pick<ChildrenInput, 'groups' | 'present'>,
  waits: string[],
): readonly KubeObject[] {
  const desired = new Set(groups.flatMap(({ children }) => children.map(({ key }) => key)))
  const superfluous = present.filter((child) => !desired.has(childKey(child)))
  const last = superfluous.reduce((highest, child) => Math.max(highest, groupOf(child)), -Infinity)
  const next = superfluous.filter((child) => groupOf(child) === last)
  const isGoing = ({ metadata }: KubeObject) => metadata.deletionTimestamp !== undefined
  for (const child of next.filter(isGoing)) waits.push(`${describeChild(child)} is being deleted`)
  return next.filter((child) => !isGoing(child))
}
