/**
 * Finds fields of a child that the operator owns and that have other values than desired. A client that changes a value under its own manager name
 * becomes the owner, which field-sets.ts detects. But any client may use the operator's manager name, and then only the values differ. The server and
 * webhooks change some values, so a difference is not yet drift: drift.ts compares it with the response to the last apply. Pure, linear in the child.
 */
import { digestEssence } from '../../causation/essence.ts'
import type { Json, JsonObject, KubeObject } from '../../kube/objects.ts'
import { parseQuantity } from '../../kube/quantities.ts'
import { getOwn, isPlainObject } from '../../util/json/json.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import { enter, formatPath, listFieldsOf, type ManagedFieldPath, type OwnedFields, whole } from './field-sets.ts'

interface ValueDrift {
  readonly path: ManagedFieldPath
  /** The value in the cluster; undefined if the field is missing. */
  readonly live: Json | undefined
}

interface DriftPair {
  readonly path: ManagedFieldPath | undefined
  readonly desired: Json
  readonly live: Json | undefined
  readonly owned: OwnedFields
  /** Within `spec`, where the server may normalise a quantity. Data and annotations are plain strings. */
  readonly isTyped: boolean
}

/** `owned` is the field set of the operator's entry in the managed fields. */
export function findDrift(desired: JsonObject, live: KubeObject, owned: JsonObject): ValueDrift[] {
  const { apiVersion: _, kind: __, ...fields } = desired
  const found: ValueDrift[] = []
  const pending: DriftPair[] = [
    { path: undefined, desired: fields, live: live as unknown as Json, owned, isTyped: false },
  ]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const { path, desired: value } = pair
    // drift.ts finds fields that the operator does not own by their owners.
    if (value === null || pair.owned === undefined) continue
    if (pair.owned !== whole && isPlainObject(value)) pushFields(pair, value, pending)
    else if (pair.owned !== whole && Array.isArray(value)) pushItems(pair, value, pending)
    else if (path !== undefined && !isContained(pair)) found.push({ path, live: pair.live })
  }
  return found
}

/** Equal for the same fields with the same values in the cluster, in any order. */
export function digestDrift(drift: readonly ValueDrift[]): string {
  const values = drift.map(({ path, live }) => [formatPath(path), live ?? null]).toSorted(byPath)
  return digestEssence({ values } as never)
}

function byPath([a]: unknown[], [b]: unknown[]): number {
  return String(a) < String(b) ? -1 : 1
}

function pushFields({ path, live, owned, isTyped }: DriftPair, desired: JsonObject, pending: DriftPair[]): void {
  for (const [field, value] of Object.entries(desired)) {
    const step = { field }
    const inner = isPlainObject(live) ? (getOwn(live, field) as Json | undefined) : undefined
    const isTypedField = isTyped || (path === undefined && field === 'spec')
    const part: OwnedFields = enter(owned, step)
    pending.push({ path: { parent: path, step }, desired: value, live: inner, owned: part, isTyped: isTypedField })
  }
}

function pushItems({ path, live, owned, isTyped }: DriftPair, desired: readonly Json[], pending: DriftPair[]): void {
  const list = Array.isArray(live) ? live : []
  const find = createFinder(list, owned as JsonObject)
  for (const [index, item] of desired.entries()) {
    const step = { item, index }
    const part: OwnedFields = enter(owned, step)
    pending.push({ path: { parent: path, step }, desired: item, live: find(item, index), owned: part, isTyped })
  }
}

/** Returns a function that finds the live item for a desired one: by its keys, by its value, or by its position. */
function createFinder(list: readonly Json[], owned: JsonObject): (item: Json, index: number) => Json | undefined {
  /** The items of the list by the values of some keys; one map for each set of keys. */
  const indices = new Map<string, Map<string, Json>>()
  const fields = listFieldsOf(owned)
  return (item, index) => {
    const keys = isPlainObject(item) ? fields.keysOf(item) : undefined
    if (keys === undefined) return Object.hasOwn(owned, `i:${index}`) ? list[index] : findValue(list, item, indices)
    const name = toJsonText(keys)
    const byKeys = indices.get(name) ?? indexBy(list, keys)
    indices.set(name, byKeys)
    return byKeys.get(textOfKeys(item as JsonObject, keys))
  }
}

function findValue(list: readonly Json[], item: Json, indices: Map<string, Map<string, Json>>): Json | undefined {
  const byValue = indices.get('') ?? new Map(list.map((one) => [toJsonText(one), one]))
  indices.set('', byValue)
  return byValue.get(toJsonText(item))
}

function indexBy(list: readonly Json[], keys: readonly string[]): Map<string, Json> {
  const index = new Map<string, Json>()
  for (const item of list) {
    if (!isPlainObject(item)) continue
    const text = textOfKeys(item, keys)
    if (!index.has(text)) index.set(text, item)
  }
  return index
}

function textOfKeys(item: JsonObject, keys: readonly string[]): string {
  return toJsonText(keys.map((key) => getOwn(item, key) ?? null))
}

/** Whether the live value contains everything that is desired: the server may add defaults and omit empty values. */
function isContained({ desired, live, isTyped }: DriftPair): boolean {
  const pending: Array<readonly [Json, Json | undefined]> = [[desired, live]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [value, found] = next
    if (isPlainObject(value) && isPlainObject(found)) {
      for (const [key, inner] of Object.entries(value)) {
        pending.push([inner, getOwn(found, key) as Json | undefined])
      }
    } else if (Array.isArray(value) && Array.isArray(found)) {
      if (value.length !== found.length) return false
      for (const [index, inner] of value.entries()) pending.push([inner, found[index]])
    } else if (!isSameScalar(value, found) && !(isTyped && isSameQuantity(value, found))) return false
  }
  return true
}

function isSameScalar(desired: Json, live: Json | undefined): boolean {
  if (desired === live || desired === null) return true
  if (live === undefined || live === null) return isEmpty(desired)
  // The JSON parser returns a bigint for an integer that a number cannot represent exactly.
  return isNumeric(desired) && isNumeric(live) && Number(desired) === Number(live)
}

function isNumeric(value: Json): boolean {
  return typeof value === 'number' || typeof value === 'bigint'
}

/** Whether Go omits the value from JSON with `omitempty`. */
function isEmpty(value: Json): boolean {
  if (Array.isArray(value)) return value.length === 0
  return isPlainObject(value) ? Object.keys(value).length === 0 : !value
}

/** `0.5` is stored as `500m`, and the number 1 as `"1"`. */
function isSameQuantity(desired: Json, live: Json | undefined): boolean {
  if (typeof live !== 'string' || !(typeof desired === 'string' || isNumeric(desired))) return false
  const [a, b] = [parseQuantity(String(desired)), parseQuantity(live)]
  if (typeof a === 'string' || typeof b === 'string') return false
  return a.nanos === b.nanos && b.text === live
}
