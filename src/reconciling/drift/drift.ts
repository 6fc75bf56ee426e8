/**
 * Detects without a request whether a child differs from the desired state. The annotation shows whether the desired state has changed since the last
 * apply; managed fields and values show whether another client has changed the child since. Called by sync.ts. Pure.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { DesiredChild } from '../children/desired.ts'
import { fingerprintOf } from '../children/labels.ts'
import { entriesOf, fieldsOf, formatPath, type ManagedFieldPath, ownsField } from './field-sets.ts'
import { digestDrift, findDrift } from './value-drift.ts'

export type ChildDrift =
  | { readonly type: 'same' }
  /** The desired state has changed since the last apply. */
  | { readonly type: 'changed' }
  /** Other clients have changed or removed desired fields; `by` has the names of their field managers, as far as they are known. */
  | { readonly type: 'overwritten'; readonly fields: readonly string[]; readonly by: readonly string[] }

/** Differences between the desired state and the response to the operator's own apply: defaulting or webhooks cause them, so they are not drift. */
export interface Normalised {
  /** Fields that the server did not store. */
  readonly dropped: ReadonlySet<string>
  /** A digest of the fields that the server stored with other values, and of these values; undefined if there are none. */
  readonly values: string | undefined
}

export function detectDrift(
  desired: DesiredChild,
  live: KubeObject,
  { fieldManager, normalised }: { readonly fieldManager: string; readonly normalised?: Normalised | undefined },
): ChildDrift {
  if (fingerprintOf(live) !== desired.fingerprint) return { type: 'changed' }
  const lost = findLost(desired, live, fieldManager).filter((path) => !normalised?.dropped.has(formatPath(path)))
  if (lost.length > 0)
    return { type: 'overwritten', fields: lost.map(formatPath), by: namesOf(live, lost, fieldManager) }
  const drift = findDriftOf(desired, live, fieldManager)
  if (drift.length === 0 || digestDrift(drift) === normalised?.values) return { type: 'same' }
  return { type: 'overwritten', fields: drift.map(({ path }) => formatPath(path)), by: [] }
}

/** Compares the desired state with the response to the operator's apply. */
export function readNormalised(desired: DesiredChild, applied: KubeObject, fieldManager: string): Normalised {
  const drift = findDriftOf(desired, applied, fieldManager)
  return {
    dropped: new Set(findLost(desired, applied, fieldManager).map(formatPath)),
    values: drift.length === 0 ? undefined : digestDrift(drift),
  }
}

function findDriftOf({ object }: DesiredChild, live: KubeObject, fieldManager: string): ReturnType<typeof findDrift> {
  const ours = entriesOf(live).find(({ manager, operation }) => manager === fieldManager && operation === 'Apply')
  return ours === undefined ? [] : findDrift(object, live, ours.fields)
}

/** The desired fields that the operator's field manager does not own. Right after an apply, the server has dropped these fields. */
function findLost({ object }: DesiredChild, live: KubeObject, fieldManager: string): ManagedFieldPath[] {
  const ours = entriesOf(live).filter(({ manager, operation }) => manager === fieldManager && operation === 'Apply')
  return fieldsOf(object).filter((path) => !ours.some((entry) => ownsField(entry, path)))
}

/** Limits the work per child: the API server keeps at most ten managers with Update, but any number with Apply. */
const maxManagers = 32

/** The managers that own the lost fields now. A removed field has no owner: then the manager that wrote last is returned. */
function namesOf(live: KubeObject, lost: readonly ManagedFieldPath[], fieldManager: string): string[] {
  const foreign = entriesOf(live).filter(({ manager, operation }) => manager !== fieldManager || operation !== 'Apply')
  const others = foreign.toSorted((a, b) => a.time.localeCompare(b.time)).slice(-maxManagers)
  const owners = others.filter((entry) => lost.some((path) => ownsField(entry, path)))
  const last = others.at(-1)
  const found = owners.length > 0 || last === undefined ? owners : [last]
  return [...new Set(found.map(({ manager }) => manager))]
}
