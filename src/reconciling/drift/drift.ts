/**
 * Decides whether a child is as it is wanted, without a request: its annotation says what was wanted when it was last applied, its
 * managed fields say whether all of that is still ours, and its values whether another client has written under our name. Pure.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { DesiredChild } from '../children/desired.ts'
import { reconcilerLabelOf } from '../children/labels.ts'
import { entriesOf, fieldsOf, formatPath, type ManagedFieldPath, ownsField } from './field-sets.ts'
import { digestDrift, findDrift } from './value-drift.ts'

export type ChildDrift =
  | { readonly type: 'same' }
  /** Something else is wanted than when it was applied. */
  | { readonly type: 'changed' }
  /** Others have changed what is wanted; `by` are their names as field managers, as far as they can be told. */
  | { readonly type: 'taken'; readonly fields: readonly string[]; readonly by: readonly string[] }

/** What a child differed in right after our own apply: that is how the server keeps it, and no reason to apply it again. */
export interface Normalised {
  /** Fields that the server does not keep. */
  readonly dropped: ReadonlySet<string>
  /** A digest of the fields that it keeps with other values, and of these values; undefined where there are none. */
  readonly values: string | undefined
}

export function detectDrift(
  wanted: DesiredChild,
  live: KubeObject,
  { fieldManager, normalised }: { readonly fieldManager: string; readonly normalised?: Normalised | undefined },
): ChildDrift {
  if (reconcilerLabelOf(live) !== wanted.mark) return { type: 'changed' }
  const lost = findLost(wanted, live, fieldManager).filter((path) => !normalised?.dropped.has(formatPath(path)))
  if (lost.length > 0) return { type: 'taken', fields: lost.map(formatPath), by: namesOf(live, lost, fieldManager) }
  const drift = findDriftOf(wanted, live, fieldManager)
  if (drift.length === 0 || digestDrift(drift) === normalised?.values) return { type: 'same' }
  return { type: 'taken', fields: drift.map(({ path }) => formatPath(path)), by: [] }
}

/** Of a child as the answer to our apply has it. */
export function readNormalised(wanted: DesiredChild, applied: KubeObject, fieldManager: string): Normalised {
  const drift = findDriftOf(wanted, applied, fieldManager)
  return {
    dropped: new Set(findLost(wanted, applied, fieldManager).map(formatPath)),
    values: drift.length === 0 ? undefined : digestDrift(drift),
  }
}

function findDriftOf({ object }: DesiredChild, live: KubeObject, fieldManager: string): ReturnType<typeof findDrift> {
  const ours = entriesOf(live).find(({ manager, operation }) => manager === fieldManager && operation === 'Apply')
  return ours === undefined ? [] : findDrift(object, live, ours.fields)
}

/** The fields that are wanted and not ours: right after an apply, these are what the server does not keep. */
function findLost({ object }: DesiredChild, live: KubeObject, fieldManager: string): ManagedFieldPath[] {
  const ours = entriesOf(live).filter(({ manager, operation }) => manager === fieldManager && operation === 'Apply')
  return fieldsOf(object).filter((path) => !ours.some((entry) => ownsField(entry, path)))
}

/** The API server keeps ten managers that update; those that apply have no limit, and a client that may write the child may name any number. */
const maxManagers = 32

/** Who owns them now, of the managers that wrote last; a removed field has no owner, so that the manager that wrote last is named. */
function namesOf(live: KubeObject, lost: readonly ManagedFieldPath[], fieldManager: string): string[] {
  const foreign = entriesOf(live).filter(({ manager, operation }) => manager !== fieldManager || operation !== 'Apply')
  const others = foreign.toSorted((a, b) => a.time.localeCompare(b.time)).slice(-maxManagers)
  const owners = others.filter((entry) => lost.some((path) => ownsField(entry, path)))
  const last = others.at(-1)
  const found = owners.length > 0 || last === undefined ? owners : [last]
  return [...new Set(found.map(({ manager }) => manager))]
}
