/** Everything that comes or goes with a value: all of its fields, and each container of them. Checks the types on the way. */
import type { Json } from '../../util/json.ts'
import { type FieldSet, noFields, sortElements } from './field-set.ts'
import type { FieldType, ListType, MapType } from './field-types.ts'
import { fitsType } from './validate.ts'
import { asList, asMap, elementOfItem, FieldTypeError, formOf } from './values.ts'

type Growing = { [element: string]: FieldSet }

/** What is below the value, which is in it itself; nothing where it is owned as a whole. Throws a FieldTypeError. */
export function fieldsOfWhole(type: FieldType, value: Json): FieldSet {
  const form = formOf(type, value)
  if (form === 'map' && !type.map!.isAtomic) {
    const map = asMap(value)
    if (map !== undefined) return fieldsOfMap(type.map!, map)
  } else if (form === 'list' && !type.list!.isAtomic) {
    const list = asList(value)
    if (list !== undefined) return fieldsOfList(type.list!, list)
  }
  if (!fitsType(type, value)) throw new FieldTypeError('a value does not fit its type')
  return noFields
}

function fieldsOfMap(type: MapType, map: { readonly [key: string]: Json }): FieldSet {
  const keys = Object.keys(map)
  if (keys.length === 0) return noFields
  const node: Growing = { '.': noFields }
  for (const key of keys.sort()) {
    const child = type.fields.get(key) ?? type.element
    if (child === undefined) throw new FieldTypeError('field not declared in schema')
    node[`f:${key}`] = fieldsOfWhole(child, map[key]!)
  }
  return node
}

/** An element that stands for several items is owned as one. */
function fieldsOfList(type: ListType, list: readonly Json[]): FieldSet {
  if (list.length === 0) return noFields
  const items = new Map<string, FieldSet>()
  for (const item of list) {
    const element = elementOfItem(type, item)
    items.set(element, items.has(element) ? noFields : fieldsOfWhole(type.element, item))
  }
  const node: Growing = { '.': noFields }
  for (const element of sortElements([...items.keys()])) node[element] = items.get(element)!
  return node
}
