/**
 * Finds the entry of a list item in managed fields. FieldsV1 names an item by its value (`v:"x"`) or by its keys (`k:{"name":"app"}`). Each name is
 * parsed once into a map, so that comparing a list takes linear time. Used by field-sets.ts, which finds items by position (`i:0`) itself.
 */
import { digestEssence } from '../../causation/essence.ts'
import type { Json, JsonObject } from '../../kube/objects.ts'
import { isContainer, isPlainObject } from '../../util/json/json.ts'
import { parseJsonText, toJsonText } from '../../util/json/json-text.ts'

/** The entry of an item that is named by its keys. */
interface KeyedItem {
  readonly keys: JsonObject
  readonly fields: Json
}

/** The entries that are named by the same keys; usually all entries of a list. */
interface KeyGroup {
  readonly names: readonly string[]
  readonly items: KeyedItem[]
  /** An index of the entries: first by the keys that an item has, then by the values of these keys. */
  readonly byValues: Map<string, Map<string, Json>>
}

/**
 * The API server names all items of a list by the same few keys. A list with more groups, or with items that omit more combinations of keys, is
 * forged: its items count as not owned, and are applied again.
 */
const maxGroups = 4
const maxCombinations = 16

export class ListFields {
  readonly #byValue = new Map<string, Json>()
  readonly #groups = new Map<string, KeyGroup>()

  constructor(set: JsonObject) {
    for (const name of Object.keys(set)) {
      const parsed = parseName(name)
      if (parsed === undefined) continue
      if (name.startsWith('v:')) addOnce(this.#byValue, textOf(parsed), set[name]!)
      else if (name.startsWith('k:') && isPlainObject(parsed)) this.#addKeyed({ keys: parsed, fields: set[name]! })
    }
  }

  find(item: Json): Json | undefined {
    const found = this.#byValue.size === 0 ? undefined : this.#byValue.get(textOf(item))
    if (found !== undefined || !isPlainObject(item)) return found
    for (const group of this.#groups.values()) {
      const fields = findIn(group, item)
      if (fields !== undefined) return fields
    }
    return undefined
  }

  /** The list's map keys that the item has; undefined if no entry names the item by keys. */
  keysOf(item: JsonObject): readonly string[] | undefined {
    for (const group of this.#groups.values()) if (findIn(group, item) !== undefined) return givenKeys(group, item)
    return undefined
  }

  #addKeyed(item: KeyedItem): void {
    const names = Object.keys(item.keys).sort()
    const id = toJsonText(names)
    const group = this.#groups.get(id)
    if (group !== undefined) group.items.push(item)
    else if (this.#groups.size < maxGroups) this.#groups.set(id, { names, items: [item], byValues: new Map() })
  }
}

/** A key that the item omits has a default on the server, such as the protocol of a port, so it matches any value. */
function findIn(group: KeyGroup, item: JsonObject): Json | undefined {
  const { items, byValues } = group
  const given = givenKeys(group, item)
  const id = toJsonText(given)
  let index = byValues.get(id)
  if (index === undefined) {
    if (byValues.size >= maxCombinations) return undefined
    index = new Map()
    for (const { keys, fields } of items) addOnce(index, valuesText(keys, given), fields)
    byValues.set(id, index)
  }
  return index.get(valuesText(item, given))
}

function givenKeys({ names }: KeyGroup, item: JsonObject): readonly string[] {
  return names.filter((name) => Object.hasOwn(item, name))
}

function valuesText(fields: JsonObject, names: readonly string[]): string {
  return names.map((name) => textOf(fields[name]!)).join()
}

/** Returns the same text for equal values only. Items of sets may be objects, whose keys have no order, so containers are digested. */
function textOf(value: Json): string {
  return isContainer(value) ? digestEssence({ value: [value] }) : toJsonText(value)
}

/** Keeps the first entry if several have the same text. */
function addOnce(map: Map<string, Json>, text: string, fields: Json): void {
  if (!map.has(text)) map.set(text, fields)
}

function parseName(name: string): Json | undefined {
  if (!name.startsWith('v:') && !name.startsWith('k:')) return undefined
  try {
    return parseJsonText(name.slice(2)) as Json
  } catch {
    return undefined
  }
}
