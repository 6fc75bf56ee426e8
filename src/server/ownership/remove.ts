/** Removes a set of fields from a value. */
import { type Json, setOwn } from '../../util/json/json.ts'
import { type Recursion, runRecursion } from '../../util/recursion.ts'
import { below, type FieldSet, hasElement } from './field-set.ts'
import type { FieldType, ListType, MapType } from './field-types.ts'
import { asList, asMap, elementOfItem, formOf } from './values.ts'

/** Returns null for a container without remaining content. The result shares values with the argument. */
export function removeFields(type: FieldType, value: Json, fields: FieldSet): Json {
  return runRecursion(remove(type, value, fields))
}

function* remove(type: FieldType, value: Json, fields: FieldSet): Recursion<Json> {
  const form = formOf(type, value)
  if (form === 'scalar') return value
  if (form === 'map') return type.map!.isAtomic ? null : yield removeFromMap(type.map!, asMap(value) ?? {}, fields)
  return type.list!.isAtomic ? null : yield removeFromList(type.list!, asList(value) ?? [], fields)
}

function* removeFromMap(type: MapType, map: { readonly [key: string]: Json }, fields: FieldSet): Recursion<Json> {
  const kept: { [key: string]: Json } = {}
  for (const key of Object.keys(map)) {
    const element = `f:${key}`
    if (hasElement(fields, element)) continue
    const inside = below(fields, element)
    const child = (type.fields.get(key) ?? type.element)!
    setOwn(kept, key, inside === undefined ? map[key]! : yield remove(child, map[key]!, inside))
  }
  return Object.keys(kept).length === 0 ? null : kept
}

function* removeFromList(type: ListType, items: readonly Json[], fields: FieldSet): Recursion<Json> {
  const kept: Json[] = []
  for (const item of items) {
    const element = elementOfItem(type, item)
    if (hasElement(fields, element)) continue
    const inside = below(fields, element)
    kept.push(inside === undefined ? item : yield remove(type.element, item, inside))
  }
  return kept.length === 0 ? null : kept
}
