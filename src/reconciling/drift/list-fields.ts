/**
 * The items of one list in managed fields, found by what they hold: FieldsV1 names an item by its value (`v:"x"`) or by its keys
 * (`k:{"name":"app"}`). Each name is parsed once and looked up in a map, so comparing a list takes time in proportion to it. Used by
 * field-sets.ts; items by position (`i:0`) are found there.
 */
import { digestEssence } from '../../causation/essence.ts'
import type { Json, JsonObject } from '../../kube/objects.ts'
import { isContainer, isPlainObject } from '../../util/json/json.ts'
import { parseJsonText, toJsonText } from '../../util/json/json-text.ts'

/** One item that is named by its keys. */
interface KeyedItem {
  readonly keys: JsonObject
  readonly fields: Json
}

/** The items that are named by the same keys, mostly all of a list. */
interface KeyGroup {
  readonly names: readonly string[]
  readonly items: KeyedItem[]
  /** By the names that an item has of these, and then by their values. */
  readonly byValues: Map<string, Map<string, Json>>
}

/**
 * The API server names all items of a list by the same keys, and has at most a few. Lists with more groups, or items that leave out
 * more combinations of keys, are forged: what is not found in them counts as not owned, and is applied again.
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

  /** The keys by which the list tells this item from others, of those that the item has; undefined where it is not named by keys. */
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

/** Keys that the item leaves out are defaults, such as the protocol of a port: any value of them will do. */
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

/** The same for equal values and no others. Values of lists that are sets may be objects, whose keys have no order. */
function textOf(value: Json): string {
  return isContainer(value) ? digestEssence({ value: [value] }) : toJsonText(value)
}

/** The first of several with the same text counts. */
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
