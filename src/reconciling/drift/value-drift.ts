/**
 * Finds fields of a child that we own and whose values are not those that we want. A client that changes a value under a name of its own
 * becomes its owner, which field-sets.ts sees; but any client may write under our name as a field manager, and then only the
 * values tell. The server and webhooks write some values in their own way, so a difference is no proof: drift.ts compares it with what
 * was there right after our own apply. Pure, and linear in the child.
 */
import { digestEssence } from '../../causation/essence.ts'
import type { Json, JsonObject, KubeObject } from '../../kube/objects.ts'
import { parseQuantity } from '../../kube/quantities.ts'
import { getOwn, isPlainObject } from '../../util/json/json.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import { enter, formatPath, listFieldsOf, type ManagedFieldPath, type OwnedFields, whole } from './field-sets.ts'

interface ValueDrift {
  readonly path: ManagedFieldPath
  /** The value in the cluster; undefined where there is none. */
  readonly live: Json | undefined
}

interface DriftPair {
  readonly path: ManagedFieldPath | undefined
  readonly wanted: Json
  readonly live: Json | undefined
  readonly owned: OwnedFields
  /** Within `spec`, where the server may know a text as a quantity; data and annotations are texts. */
  readonly isTyped: boolean
}

/** `owned` is the field set of our entry in the managed fields. */
export function findDrift(wanted: JsonObject, live: KubeObject, owned: JsonObject): ValueDrift[] {
  const { apiVersion: _, kind: __, ...fields } = wanted
  const found: ValueDrift[] = []
  const pending: DriftPair[] = [
    { path: undefined, wanted: fields, live: live as unknown as Json, owned, isTyped: false },
  ]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const { path, wanted: value } = pair
    // Fields that are not ours are found by who owns them.
    if (value === null || pair.owned === undefined) continue
    if (pair.owned !== whole && isPlainObject(value)) pushFields(pair, value, pending)
    else if (pair.owned !== whole && Array.isArray(value)) pushItems(pair, value, pending)
    else if (path !== undefined && !isContained(pair)) found.push({ path, live: pair.live })
  }
  return found
}

/** The same for the same fields with the same values in the cluster. */
export function digestDrift(drift: readonly ValueDrift[]): string {
  const values = drift.map(({ path, live }) => [formatPath(path), live ?? null]).toSorted(byPath)
  return digestEssence({ values } as never)
}

function byPath([a]: unknown[], [b]: unknown[]): number {
  return String(a) < String(b) ? -1 : 1
}

function pushFields({ path, live, owned, isTyped }: DriftPair, wanted: JsonObject, pending: DriftPair[]): void {
  for (const [field, value] of Object.entries(wanted)) {
    const step = { field }
    const inner = isPlainObject(live) ? (getOwn(live, field) as Json | undefined) : undefined
    const isTypedField = isTyped || (path === undefined && field === 'spec')
    const part: OwnedFields = enter(owned, step)
    pending.push({ path: { parent: path, step }, wanted: value, live: inner, owned: part, isTyped: isTypedField })
  }
}

function pushItems({ path, live, owned, isTyped }: DriftPair, wanted: readonly Json[], pending: DriftPair[]): void {
  const list = Array.isArray(live) ? live : []
  const find = createFinder(list, owned as JsonObject)
  for (const [index, item] of wanted.entries()) {
    const step = { item, index }
    const part: OwnedFields = enter(owned, step)
    pending.push({ path: { parent: path, step }, wanted: item, live: find(item, index), owned: part, isTyped })
  }
}

/** Finds the item of the cluster that a wanted one is: by its keys, by its value, or by its place. */
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

/** Whether all that is wanted is there: servers add defaults, and leave out what is empty. */
function isContained({ wanted, live, isTyped }: DriftPair): boolean {
  const pending: Array<readonly [Json, Json | undefined]> = [[wanted, live]]
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

function isSameScalar(wanted: Json, live: Json | undefined): boolean {
  if (wanted === live || wanted === null) return true
  if (live === undefined || live === null) return isEmpty(wanted)
  // An integer is a bigint where it would lose digits, and a number elsewhere.
  return isNumeric(wanted) && isNumeric(live) && Number(wanted) === Number(live)
}

function isNumeric(value: Json): boolean {
  return typeof value === 'number' || typeof value === 'bigint'
}

/** What Go leaves out of JSON by `omitempty`. */
function isEmpty(value: Json): boolean {
  if (Array.isArray(value)) return value.length === 0
  return isPlainObject(value) ? Object.keys(value).length === 0 : !value
}

/** `0.5` is stored as `500m`, and the number 1 as `"1"`. */
function isSameQuantity(wanted: Json, live: Json | undefined): boolean {
  if (typeof live !== 'string' || !(typeof wanted === 'string' || isNumeric(wanted))) return false
  const [a, b] = [parseQuantity(String(wanted)), parseQuantity(live)]
  if (typeof a === 'string' || typeof b === 'string') return false
  return a.nanos === b.nanos && b.text === live
}
