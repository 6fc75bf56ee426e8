/**
 * Tracks field managers over a write: a manager owns the fields that it changes, and other managers lose them. Runs for every write
 * before the kind's strategy, as in kube-apiserver; fields that the strategy resets or defaults have no manager.
 */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import type { Json } from '../../util/json/json.ts'
import { type Comparison, compareObjects, exclude, isSame } from './compare.ts'
import { difference, type FieldSet, intersection, isEmpty, union } from './field-set.ts'
import type { FieldType } from './field-types.ts'
import { capUpdaters, type Manager, parseManagers, readManagers, withUpdater, writeManagers } from './managers.ts'
import { reconcileFields } from './reconcile.ts'
import { checkFields, checkFieldsOf } from './validate.ts'
import { FieldTypeError } from './values.ts'

/** The field types of a kind in one version, and the fields that a request cannot own. */
export interface VersionedFields {
  readonly type: FieldType
  readonly resets: FieldSet | undefined
}

/** A resource or subresource in the version of a request. */
export interface Ownership extends VersionedFields {
  readonly apiVersion: string
  readonly subresource: string
  /** The fields in another version of the same kind; undefined if that version no longer exists. */
  inVersion(apiVersion: string): VersionedFields | undefined
}

export interface Write {
  readonly old: KubeObject
  /** Its `managedFields` are set by trackWrite. */
  readonly object: KubeObject
  readonly manager: string
  readonly now: string
}

export interface TrackOptions {
  /** The old state was written with another schema. */
  readonly isForeign?: boolean
}

export function trackWrite(ownership: Ownership, write: Write, options: TrackOptions = {}): void {
  const { isForeign = false } = options
  const { old, object } = write
  const live = old.metadata.managedFields
  const given = ownership.subresource === '' ? givenManagers(object.metadata.managedFields, live) : undefined
  const managers = given ?? readManagers(live)
  delete object.metadata.managedFields
  // Objects that were never tracked, or whose managedFields are reset, stay untracked.
  if (managers.length === 0 && old.metadata.uid !== undefined) return
  try {
    const tracked = trackUpdate(ownership, managers, write, isForeign || given !== undefined)
    const isAsBefore = tracked === managers && given === undefined && managers.length === live?.length
    const entries = isAsBefore ? live : writeManagers(tracked)
    if (entries !== undefined) object.metadata.managedFields = entries
  } catch (error) {
    // A value that does not fit its schema has no manager.
    if (!(error instanceof FieldTypeError)) throw error
  }
}

/** The managers given by the client; undefined if it gives none or invalid ones. */
function givenManagers(
  given: readonly JsonObject[] | undefined,
  live: readonly JsonObject[] | undefined,
): Manager[] | undefined {
  if (given === undefined || isDeepEqual(given, live)) return undefined
  if (given.length === 0 || (given.length === 1 && Object.keys(given[0]!).length === 0)) return []
  try {
    return parseManagers(given)
  } catch {
    return undefined
  }
}

/** Returns the same managers if nothing has changed. */
export function trackUpdate(
  ownership: Ownership,
  managers: readonly Manager[],
  { old, object, manager, now }: Write,
  needsReconciling: boolean,
): readonly Manager[] {
  const { apiVersion, subresource } = ownership
  const current = needsReconciling ? reconcileManagers(ownership, managers, old) : managers
  const comparison = compareIn(ownership, old, object)
  const isOfOneVersion = current.every((one) => one.apiVersion === apiVersion)
  if (isOfOneVersion && isSame(comparison)) return capUpdaters(current)
  const { managers: others } = settle(ownership, current, { old, object, comparison })
  const fields = union(comparison.modified, comparison.added)
  const name = manager === '' ? 'unknown' : manager
  return capUpdaters(withUpdater(others, { name, operation: 'Update', apiVersion, subresource, time: now, fields }))
}

export interface Settlement {
  readonly old: KubeObject
  readonly object: KubeObject
  /** In the version of the request. */
  readonly comparison: Comparison
  /** The writing manager, if it is one of the managers: it loses no fields. */
  readonly self?: Manager
}

export interface Settled {
  readonly managers: readonly Manager[]
  /** The fields that each manager lost by a change. */
  readonly conflicts: ReadonlyArray<{ readonly manager: Manager; readonly fields: FieldSet }>
}

/** The other managers after a write. */
export function settle(ownership: Ownership, managers: readonly Manager[], settlement: Settlement): Settled {
  const { self, comparison } = settlement
  const comparisons = new Map<string, Comparison | undefined>([[ownership.apiVersion, comparison]])
  const kept: Manager[] = []
  const conflicts: Array<{ manager: Manager; fields: FieldSet }> = []
  for (const manager of managers) {
    if (manager === self) {
      kept.push(manager)
      continue
    }
    const { apiVersion } = manager
    if (!comparisons.has(apiVersion)) comparisons.set(apiVersion, compareLater(ownership, apiVersion, settlement))
    const own = comparisons.get(apiVersion)
    if (own === undefined) continue
    const changed = union(own.modified, own.added)
    const taken = intersection(manager.fields, changed)
    if (!isEmpty(taken)) conflicts.push({ manager, fields: taken })
    const fields = difference(difference(manager.fields, changed), own.removed)
    if (fields === manager.fields) kept.push(manager)
    else if (!isEmpty(fields)) kept.push({ ...manager, fields })
  }
  return { managers: kept, conflicts }
}

export function compareIn({ type, resets }: VersionedFields, old: KubeObject, object: KubeObject): Comparison {
  const comparison = compareObjects(type, old, object)
  return resets === undefined ? comparison : exclude(comparison, resets)
}

/** Compares with the schema of another version; undefined if that version no longer exists. */
function compareLater(ownership: Ownership, apiVersion: string, { old, object }: Settlement): Comparison | undefined {
  const fields = ownership.inVersion(apiVersion)
  if (fields === undefined) return undefined
  checkFieldsOf('failed to convert old object', fields.type, old as unknown as Json)
  checkFieldsOf('failed to convert new object', fields.type, object as unknown as Json)
  return compareIn(fields, old, object)
}

/** Adapts the managers to a changed schema, and drops managers of versions that no longer exist. */
export function reconcileManagers(ownership: Ownership, managers: readonly Manager[], live: KubeObject): Manager[] {
  return managers.flatMap((manager) => {
    const isOwn = manager.apiVersion === ownership.apiVersion
    const known = isOwn ? ownership : ownership.inVersion(manager.apiVersion)
    if (known === undefined) return []
    if (!isOwn) checkFields(known.type, live as unknown as Json)
    const fields = reconcileFields(known.type, manager.fields)
    return [fields === manager.fields ? manager : { ...manager, fields }]
  })
}
