/**
 * Whether a child is as it is wanted, without asking anybody: its annotation says what was wanted when it was last applied, and
 * its managed fields say whether all of that is still ours. Values are not compared: defaults, quantities and webhooks make
 * others of them. Pure.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { entriesOf, type FieldPath, fieldsOf, formatPath, owns } from './field-sets.ts'
import { markOf } from './marks.ts'
import type { Wanted } from './wanted.ts'

export type Judgement =
  | { readonly type: 'same' }
  /** Something else is wanted than when it was applied. */
  | { readonly type: 'changed' }
  /** Others have changed what is wanted; `by` are their names as field managers, as far as they can be told. */
  | { readonly type: 'taken'; readonly fields: readonly string[]; readonly by: readonly string[] }

/** `unkept` are fields that the server does not keep, whoever wants them: they are missed by nobody. */
export function judgeChild(
  wanted: Wanted,
  live: KubeObject,
  { fieldManager, unkept }: { readonly fieldManager: string; readonly unkept?: ReadonlySet<string> | undefined },
): Judgement {
  if (markOf(live) !== wanted.mark) return { type: 'changed' }
  const lost = findLost(wanted, live, fieldManager).filter((path) => !unkept?.has(formatPath(path)))
  if (lost.length === 0) return { type: 'same' }
  return { type: 'taken', fields: lost.map(formatPath), by: namesOf(live, lost, fieldManager) }
}

/** The fields that are wanted and not ours: right after an apply, these are what the server does not keep. */
export function findLost({ object }: Wanted, live: KubeObject, fieldManager: string): FieldPath[] {
  const ours = entriesOf(live).filter(({ manager, operation }) => manager === fieldManager && operation === 'Apply')
  return fieldsOf(object).filter((path) => !ours.some((entry) => owns(entry, path)))
}

/** The API server keeps ten managers that update; those that apply have no limit, and whoever may write a child may name any number. */
const maxManagers = 32

/** Who owns them now, of the managers that wrote last; of fields that were removed nobody does, so that it is whoever wrote last. */
function namesOf(live: KubeObject, lost: readonly FieldPath[], fieldManager: string): string[] {
  const foreign = entriesOf(live).filter(({ manager, operation }) => manager !== fieldManager || operation !== 'Apply')
  const others = foreign.toSorted((a, b) => a.time.localeCompare(b.time)).slice(-maxManagers)
  const owners = others.filter((entry) => lost.some((path) => owns(entry, path)))
  const last = others.at(-1)
  const found = owners.length > 0 || last === undefined ? owners : [last]
  return [...new Set(found.map(({ manager }) => manager))]
}
