/** An object without some of its fields. */
import { type Json, setOwn } from '../../util/json.ts'
import { below, type FieldSet, hasElement } from './field-set.ts'
import type { FieldType, ListType, MapType } from './field-types.ts'
import { asList, asMap, elementOfItem, formOf } from './values.ts'

/** Null for a container that nothing is left of. Shares what it keeps with the value. */
export function removeFields(type: FieldType, value: Json, fields: FieldSet): Json {
  const form = formOf(type, value)
  if (form === 'scalar') return value
  if (form === 'map') return type.map!.isAtomic ? null : removeFromMap(type.map!, asMap(value) ?? {}, fields)
  return type.list!.isAtomic ? null : removeFromList(type.list!, asList(value) ?? [], fields)
}

function removeFromMap(type: MapType, map: { readonly [key: string]: Json }, fields: FieldSet): Json {
  const kept: { [key: string]: Json } = {}
  for (const key of Object.keys(map)) {
    const element = `f:${key}`
    if (hasElement(fields, element)) continue
    const inside = below(fields, element)
    const child = (type.fields.get(key) ?? type.element)!
    setOwn(kept, key, inside === undefined ? map[key]! : removeFields(child, map[key]!, inside))
  }
  return Object.keys(kept).length === 0 ? null : kept
}

function removeFromList(type: ListType, items: readonly Json[], fields: FieldSet): Json {
  const kept = items.flatMap((item) => {
    const element = elementOfItem(type, item)
    if (hasElement(fields, element)) return []
    const inside = below(fields, element)
    return [inside === undefined ? item : removeFields(type.element, item, inside)]
  })
  return kept.length === 0 ? null : kept
}
