/** What is kept of a handler that has not finished yet, or has while others have not. Kopf's fields, in Kopf's order. */
import type { JsonObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/equality.ts'
import { isPlainObject, type Json } from '../../util/json.ts'

/** Moments are texts as formatTimestamp makes them. Null is as good as absent. */
export interface ProgressRecord {
  /** The first attempt. */
  readonly started?: string | null | undefined
  /** Set once, when it has succeeded or failed for good. */
  readonly stopped?: string | null | undefined
  /** Not to be called again before. */
  readonly delayed?: string | null | undefined
  /** The cause it is called for; none for any. */
  readonly purpose?: string | null | undefined
  /** How many attempts there were. */
  readonly retries?: number | null | undefined
  readonly success?: boolean | null | undefined
  readonly failure?: boolean | null | undefined
  /** Of the last error. */
  readonly message?: string | null | undefined
  /** The ids of all its sub-handlers, of any depth; sorted. */
  readonly subrefs?: readonly string[] | null | undefined
  /** The digest of the essence it has finished on. Not known to Kopf, which ignores it. */
  readonly seen?: string | null | undefined
  /** How many of the attempts repeated another one in the same cycle, and asked for a retry again. Not known to Kopf. */
  readonly repeats?: number | null | undefined
  /** Of a step: what it has come to, as the text of JSON; empty for nothing. Not known to Kopf, either. */
  readonly result?: string | null | undefined
  /** Of a step: what proves that the operator has written the result. Not known to Kopf. */
  readonly signature?: string | null | undefined
}

const isString = (value: unknown): boolean => typeof value === 'string'
const isBoolean = (value: unknown): boolean => typeof value === 'boolean'
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
const isNames = (value: unknown): boolean => Array.isArray(value) && value.every(isString)

/** The fields of Kopf, in the order it writes them, and what they can be. */
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

/** Those that Kopf does not know: written only where there is something. */
const ownChecks: ReadonlyArray<readonly [keyof ProgressRecord, (value: unknown) => boolean]> = [
  ['seen', isString],
  ['repeats', isCount],
  ['result', isString],
  ['signature', isString],
]

/** The names of the fields of ours that a record has. */
export function ownFieldsOf(record: ProgressRecord | undefined): ReadonlyArray<keyof ProgressRecord> {
  return ownChecks.filter(([name, isValid]) => isValid(record?.[name])).map(([name]) => name)
}

/** Reads what anybody may have edited: fields of a wrong type are as good as absent; what is no object is no record. */
export function readRecord(stored: unknown): ProgressRecord | undefined {
  if (!isPlainObject(stored)) return undefined
  const record: { [field: string]: Json } = {}
  for (const [name, isValid] of [...fields, ...ownChecks]) {
    const value = Object.hasOwn(stored, name) ? stored[name] : undefined
    if (value !== undefined && isValid(value)) record[name] = value
  }
  return record
}

/** The nine fields of Kopf, null where there is nothing, and ours only where there is something. */
export function toFullRecord(record: ProgressRecord): JsonObject {
  const full: JsonObject = {}
  for (const [name] of fields) full[name] = (record[name] ?? null) as Json
  if (record.subrefs?.length === 0) full['subrefs'] = null
  for (const name of ownFieldsOf(record)) full[name] = record[name] as Json
  return full
}

/** The same without nulls. */
export function toBriefRecord(record: ProgressRecord): JsonObject {
  return Object.fromEntries(Object.entries(toFullRecord(record)).filter(([, value]) => value !== null))
}

/** Whether two records say the same, nulls aside. */
export function isSameRecord(stored: ProgressRecord | undefined, record: ProgressRecord): boolean {
  return stored !== undefined && isDeepEqual(toBriefRecord(stored), toBriefRecord(record))
}
