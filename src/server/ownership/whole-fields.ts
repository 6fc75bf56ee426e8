/** Everything that comes or goes with a value: all of its fields, and each container of them. Checks the types on the way. */
import type { Json } from '../../util/json.ts'
import { type FieldSet, noFields, sortElements } from './field-set.ts'
import type { FieldType, ListType, MapType } from './field-types.ts'
import { fitsType } from './validate.ts'
import { asList, asMap, elementOfItem, FieldTypeError, formOf } from './values.ts'

type Growing = { [element: string]: FieldSet }

/** A value whose fields are still to be put into the node around it. */
interface Pending {
  readonly type: FieldType
  readonly value: Json
  readonly around: Growing
  readonly element: string
}

/**
 * What is below the value, which is in it itself; nothing where it is owned as a whole. Throws a FieldTypeError. Does not recurse, for
 * a client decides how deep an object is.
 */
export function fieldsOfWhole(type: FieldType, value: Json): FieldSet {
  const pending: Pending[] = []
  const whole = nodeOf(type, value, pending)
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    next.around[next.element] = nodeOf(next.type, next.value, pending)
  }
  return whole
}

function nodeOf(type: FieldType, value: Json, pending: Pending[]): FieldSet {
  const form = formOf(type, value)
  if (form === 'map' && !type.map!.isAtomic) {
    const map = asMap(value)
    if (map !== undefined) return nodeOfMap(type.map!, map, pending)
  } else if (form === 'list' && !type.list!.isAtomic) {
    const list = asList(value)
    if (list !== undefined) return nodeOfList(type.list!, list, pending)
  }
  if (!fitsType(type, value)) throw new FieldTypeError('a value does not fit its type')
  return noFields
}

/** Puts an element into a node, in its place among the others; what is below a container follows later. */
function put(around: Growing, element: string, type: FieldType, value: Json, pending: Pending[]): void {
  const isContainer = typeof value === 'object' && value !== null
  around[element] = isContainer ? noFields : nodeOf(type, value, pending)
  if (isContainer) pending.push({ type, value, around, element })
}

function nodeOfMap(type: MapType, map: { readonly [key: string]: Json }, pending: Pending[]): FieldSet {
  const keys = Object.keys(map)
  if (keys.length === 0) return noFields
  const node: Growing = { '.': noFields }
  for (const key of keys.sort()) {
    const child = type.fields.get(key) ?? type.element
    if (child === undefined) throw new FieldTypeError('field not declared in schema')
    put(node, `f:${key}`, child, map[key]!, pending)
  }
  return node
}

/** An element that stands for several items is owned as one. */
function nodeOfList(type: ListType, list: readonly Json[], pending: Pending[]): FieldSet {
  if (list.length === 0) return noFields
  /** Undefined for a repeated one. */
  const items = new Map<string, Json | undefined>()
  for (const item of list) {
    const element = elementOfItem(type, item)
    const first = items.get(element)
    if (first !== undefined && !fitsType(type.element, first)) {
      throw new FieldTypeError('a value does not fit its type')
    }
    items.set(element, items.has(element) ? undefined : item)
  }
  const node: Growing = { '.': noFields }
  for (const element of sortElements([...items.keys()])) {
    const item = items.get(element)
    if (item === undefined) node[element] = noFields
    else put(node, element, type.element, item, pending)
  }
  return node
}
