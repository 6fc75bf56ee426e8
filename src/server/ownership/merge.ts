/**
 * Merges a configuration into an object: values of the configuration win, all other values stay. Lists that are owned per item follow
 * the order of the configuration.
 */
import { type Json, setOwn } from '../../util/json/json.ts'
import { type Recursion, runRecursion } from '../../util/recursion.ts'
import type { FieldType, ListType, MapType } from './field-types.ts'
import { asList, asMap, elementOfItem, formOf, type OptionalJson, type ReadonlyJsonObject } from './values.ts'

/** The result shares values with both arguments. */
export function merge(type: FieldType, live: OptionalJson, config: OptionalJson): OptionalJson {
  return runRecursion(mergeValues(type, live, config))
}

function* mergeValues(type: FieldType, live: OptionalJson, config: OptionalJson): Recursion<OptionalJson> {
  const form = formOf(type, config === undefined ? live : config)
  if (form === 'map' && !type.map!.isAtomic) {
    const [left, right] = [asMap(live), asMap(config)]
    if (hasAny(left) || hasAny(right)) return yield mergeMaps(type.map!, left ?? {}, right ?? {})
  } else if (form === 'list' && !type.list!.isAtomic) {
    const [left, right] = [asList(live), asList(config)]
    if (hasAny(left) || hasAny(right)) return yield mergeLists(type.list!, left ?? [], right ?? [])
  }
  return config === undefined ? live : config
}

function hasAny(container: ReadonlyJsonObject | readonly Json[] | undefined): boolean {
  return container !== undefined && Object.keys(container).length > 0
}

function* mergeMaps(type: MapType, live: ReadonlyJsonObject, config: ReadonlyJsonObject): Recursion<OptionalJson> {
  const merged: { [key: string]: Json } = {}
  for (const key of Object.keys(live)) {
    const desired = Object.hasOwn(config, key) ? config[key] : undefined
    setOwn(merged, key, (yield mergeField(type, key, live[key], desired))!)
  }
  for (const key of Object.keys(config)) {
    if (Object.hasOwn(live, key)) continue
    setOwn(merged, key, (yield mergeField(type, key, undefined, config[key]))!)
  }
  return merged
}

function mergeField(type: MapType, key: string, live: OptionalJson, config: OptionalJson): Recursion<OptionalJson> {
  return mergeValues((type.fields.get(key) ?? type.element)!, live, config)
}

/** A list indexed by the elements of its items. A repeated element has no single item. */
interface Indexed {
  readonly elements: readonly string[]
  readonly items: ReadonlyMap<string, OptionalJson>
}

function indexed(type: ListType, list: readonly Json[]): Indexed {
  const items = new Map<string, OptionalJson>()
  const elements = list.map((item) => elementOfItem(type, item))
  for (const [index, element] of elements.entries()) {
    items.set(element, items.has(element) ? undefined : list[index])
  }
  return { elements, items }
}

function* mergeLists(type: ListType, live: readonly Json[], config: readonly Json[]): Recursion<OptionalJson> {
  const [left, right] = [indexed(type, live), indexed(type, config)]
  const merged: Json[] = []
  for (const { element, kept } of orderOf(left, right, live)) {
    merged.push((kept ?? (yield mergeValues(type.element, left.items.get(element), right.items.get(element))))!)
  }
  return merged
}

/** An item of a merged list: an unchanged one of the object, or the element of one to merge. */
interface MergedItem {
  readonly element: string
  readonly kept?: Json
}

/**
 * Items that the configuration does not mention stay before the item that followed them, if that is mentioned in the same order; all
 * others are in the order of the configuration.
 */
function orderOf(left: Indexed, right: Indexed, live: readonly Json[]): MergedItem[] {
  const shared = right.elements.filter((element) => left.items.has(element))
  const order: MergedItem[] = []
  const done = new Set<string>()
  let [l, r, s] = [0, 0, 0]
  const take = (element: string): void => {
    done.add(element)
    order.push({ element })
    if (shared[s] === element) s += 1
  }
  while (l < left.elements.length || r < right.elements.length) {
    const element = left.elements[l]
    if (element !== undefined && r < right.elements.length) {
      if (element === right.elements[r]) {
        take(element)
        l += 1
        r += 1
        continue
      }
      if (right.items.has(element) && s < shared.length && shared[s] !== element) {
        l += 1
        continue
      }
    }
    if (element !== undefined) {
      if (!right.items.has(element)) {
        order.push({ element, kept: live[l]! })
        l += 1
        continue
      }
      if (done.has(element)) l += 1
    }
    if (r < right.elements.length) {
      take(right.elements[r]!)
      r += 1
    }
  }
  return order
}
