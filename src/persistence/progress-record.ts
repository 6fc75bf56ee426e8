/** The stored progress of one handler during a handling cycle: Kopf's fields in Kopf's order, and a few of our own. */
import type { JsonObject } from '../kube/objects.ts'
import { isDeepEqual } from '../util/json/deep-equal.ts'
import { isPlainObject, type Json } from '../util/json/json.ts'

/**
 * The stored progress of one handler, or of one step, for a `ProgressStorage`. It exists from the first attempt until all handlers of the
 * cause have finished. Timestamps are ISO 8601 in UTC. Null means the same as absent.
 */
export interface ProgressRecord {
  /** When the handler was called for the first time. */
  readonly started?: string | null | undefined
  /** When the handler succeeded or failed permanently. */
  readonly stopped?: string | null | undefined
  /** The handler is not called again before this time. */
  readonly delayed?: string | null | undefined
  /** The reason the handler is called for, such as `create`. Absent: any reason. */
  readonly purpose?: string | null | undefined
  /** The number of attempts so far. */
  readonly retries?: number | null | undefined
  /** Whether the handler has succeeded. */
  readonly success?: boolean | null | undefined
  /** Whether the handler has failed permanently. */
  readonly failure?: boolean | null | undefined
  /** The message of the last error. */
  readonly message?: string | null | undefined
  /** The ids of all sub-handlers and steps of the handler, at any depth; sorted. */
  readonly subrefs?: readonly string[] | null | undefined
  /** The digest of the essence that the handler finished on. Kopf ignores this field. */
  readonly seen?: string | null | undefined
  /** How many attempts repeated an earlier attempt of the same cycle and requested another retry. Kopf ignores this field. */
  readonly repeats?: number | null | undefined
  /** The result of a step as JSON text; empty if it returned nothing. Kopf ignores this field. */
  readonly result?: string | null | undefined
  /** The signature of a step's result, which proves that the operator wrote it. Kopf ignores this field. */
  readonly signature?: string | null | undefined
}

const isString = (value: unknown): boolean => typeof value === 'string'
const isBoolean = (value: unknown): boolean => typeof value === 'boolean'
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
const isNames = (value: unknown): boolean => Array.isArray(value) && value.every(isString)

/** Kopf's fields in the order in which Kopf writes them, each with the check of its value. */
const fields: ReadonlyArray<readonly [keyof ProgressRecord, (value: unknown) => boolean]> = [
  ['started', isString],
  ['stopped', isString],
  ['delayed', isString],
  ['purpose', isString],
  ['retries', isCount],
  ['success', isBoolean],
  ['failure', isBoolean],
  ['message', isString],
  ['subrefs', isNames],
]

/** The fields that Kopf does not have. They are written only if they have a value. */
const ownChecks: ReadonlyArray<readonly [keyof ProgressRecord, (value: unknown) => boolean]> = [
  ['seen', isString],
  ['repeats', isCount],
  ['result', isString],
  ['signature', isString],
]

/** The names of the fields in a record that Kopf does not have. */
export function ownFieldsOf(record: ProgressRecord | undefined): ReadonlyArray<keyof ProgressRecord> {
  return ownChecks.filter(([name, isValid]) => isValid(record?.[name])).map(([name]) => name)
}

/** Reads a stored record. Users may have edited it: ignores fields of a wrong type, and returns undefined if it is not an object. */
export function readRecord(stored: unknown): ProgressRecord | undefined {
  if (!isPlainObject(stored)) return undefined
  const record: { [field: string]: Json } = {}
  for (const [name, isValid] of [...fields, ...ownChecks]) {
    const value = Object.hasOwn(stored, name) ? stored[name] : undefined
    if (value !== undefined && isValid(value)) record[name] = value
  }
  return record
}

/** The record with all nine fields of Kopf, null if absent, and our own fields only if they have a value. */
export function toFullRecord(record: ProgressRecord): JsonObject {
  const full: JsonObject = {}
  for (const [name] of fields) full[name] = (record[name] ?? null) as Json
  if (record.subrefs?.length === 0) full['subrefs'] = null
  for (const name of ownFieldsOf(record)) full[name] = record[name] as Json
  return full
}

/** The record without null fields. */
export function toBriefRecord(record: ProgressRecord): JsonObject {
  return Object.fromEntries(Object.entries(toFullRecord(record)).filter(([, value]) => value !== null))
}

/** Whether two records are equal; null equals absent. */
export function isSameRecord(stored: ProgressRecord | undefined, record: ProgressRecord): boolean {
  return stored !== undefined && isDeepEqual(toBriefRecord(stored), toBriefRecord(record))
}
