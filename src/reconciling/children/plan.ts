/**
 * What is to be done about the children of an object, given what is wanted and what is there: whom to apply, whom to delete, and
 * whom to wait for. One step of it: what is done changes what is there, and then there may be a next step. Pure.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { ChildDrift } from '../drift/drift.ts'
import type { DesiredChild, DesiredGroup } from './desired.ts'
import { childKey, describeChild, groupOf } from './labels.ts'
import { isReady } from './readiness.ts'

export interface PlannedApply {
  readonly wanted: DesiredChild
  /** As it is; undefined where it is not there. */
  readonly live: KubeObject | undefined
  readonly judgement: Exclude<ChildDrift, { type: 'same' }> | { readonly type: 'missing' }
}

export interface ChildrenPlan {
  readonly applies: readonly PlannedApply[]
  readonly deletions: readonly KubeObject[]
  /** What has to happen before there is more to do, as sentences. */
  readonly waits: readonly string[]
  /** What cannot be done, since nothing is known of its kind; likewise. */
  readonly unseen: readonly string[]
}

export interface ChildrenInput {
  readonly groups: readonly DesiredGroup[]
  readonly present: readonly KubeObject[]
  /** Why nothing can be known of the children of a kind, as the end of a sentence; undefined where it is known. */
  readonly whyUnseen: (wanted: DesiredChild) => string | undefined
  readonly judge: (wanted: DesiredChild, live: KubeObject) => ChildDrift
  /** Whether another object has the name of the child and is left alone: there is nothing to do, and nothing to wait for. */
  readonly isLeft: (wanted: DesiredChild) => boolean
}

export function planChildren(situation: ChildrenInput): ChildrenPlan {
  const [waits, unseen]: [string[], string[]] = [[], []]
  const applies = [...planApplies(situation, waits, unseen)]
  return { applies, deletions: planDeletions(situation, waits), waits, unseen }
}

/** Group by group; what others have changed in a later one is put back all the same. */
function* planApplies(
  { groups, present, whyUnseen, judge, isLeft }: ChildrenInput,
  waits: string[],
  unseen: string[],
): Iterable<PlannedApply> {
  const live = new Map(present.map((child) => [childKey(child), child]))
  let isHeld = false
  for (const { children, ready } of groups) {
    const before = waits.length + unseen.length
    let isAtWork = false
    for (const wanted of children) {
      const child = live.get(wanted.key)
      const why = whyUnseen(wanted)
      if (why !== undefined) {
        unseen.push(`${describeChild(wanted.object)} ${why}`)
        continue
      }
      if (child?.metadata.deletionTimestamp !== undefined) {
        waits.push(`${describeChild(child)} is being deleted, and made anew when it is gone`)
        continue
      }
      if (child === undefined && isLeft(wanted)) continue
      const judgement = child === undefined ? ({ type: 'missing' } as const) : judge(wanted, child)
      if (judgement.type === 'same') {
        if (!isHeld && !isFar(child!, ready)) waits.push(`${describeChild(child!)} is not ready`)
      } else if (!isHeld || judgement.type === 'taken') {
        isAtWork = true
        yield { wanted, live: child, judgement }
      }
    }
    isHeld ||= isAtWork || waits.length + unseen.length > before
  }
}

function isFar(child: KubeObject, ready: DesiredGroup['ready']): boolean {
  const byDefault = isReady(child)
  return ready === undefined ? byDefault : Boolean(ready(child as never, byDefault))
}

/** Those that came last go first: what others depend on is there until these are gone. */
export function planDeletions(
  { groups, present }: Pick<ChildrenInput, 'groups' | 'present'>,
  waits: string[],
): readonly KubeObject[] {
  const wanted = new Set(groups.flatMap(({ children }) => children.map(({ key }) => key)))
  const superfluous = present.filter((child) => !wanted.has(childKey(child)))
  const last = superfluous.reduce((highest, child) => Math.max(highest, groupOf(child)), -Infinity)
  const next = superfluous.filter((child) => groupOf(child) === last)
  const isGoing = ({ metadata }: KubeObject) => metadata.deletionTimestamp !== undefined
  for (const child of next.filter(isGoing)) waits.push(`${describeChild(child)} is being deleted`)
  return next.filter((child) => !isGoing(child))
}
