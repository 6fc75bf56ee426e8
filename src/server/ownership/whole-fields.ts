/** All fields of an added or removed value, including its containers. Checks the types. */
import type { Json } from '../../util/json/json.ts'
import { type FieldSet, type MutableFieldSet, noFields, sortElements } from './field-set.ts'
import type { FieldType, ListType, MapType } from './field-types.ts'
import { fitsType } from './validate.ts'
import { asList, asMap, elementOfItem, FieldTypeError, formOf } from './values.ts'

/** A value whose fields are still to be added to the enclosing node. */
interface PendingNode {
  readonly type: FieldType
  readonly value: Json
  readonly around: MutableFieldSet
  readonly element: string
}

/**
 * The fields below the value, which is itself a member; none if it is atomic. Throws a FieldTypeError. Not recursive, since clients
 * decide how deep an object is.
 */
export function fieldsOfWhole(type: FieldType, value: Json): FieldSet {
  const pending: PendingNode[] = []
  const whole = nodeOf(type, value, pending)
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    next.around[next.element] = nodeOf(next.type, next.value, pending)
  }
  return whole
}

function nodeOf(type: FieldType, value: Json, pending: PendingNode[]): FieldSet {
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

/** Adds an element at its sorted place; the content of a container is added later. */
function put(around: MutableFieldSet, element: string, type: FieldType, value: Json, pending: PendingNode[]): void {
  const isContainer = typeof value === 'object' && value !== null
  around[element] = isContainer ? noFields : nodeOf(type, value, pending)
  if (isContainer) pending.push({ type, value, around, element })
}

function nodeOfMap(type: MapType, map: { readonly [key: string]: Json }, pending: PendingNode[]): FieldSet {
  const keys = Object.keys(map)
  if (keys.length === 0) return noFields
  const node: MutableFieldSet = { '.': noFields }
  for (const key of keys.sort()) {
    const child = type.fields.get(key) ?? type.element
    if (child === undefined) throw new FieldTypeError('field not declared in schema')
    put(node, `f:${key}`, child, map[key]!, pending)
  }
  return node
}

/** Items with the same element are owned as one. */
function nodeOfList(type: ListType, list: readonly Json[], pending: PendingNode[]): FieldSet {
  if (list.length === 0) return noFields
  /** Undefined for a repeated element. */
  const items = new Map<string, Json | undefined>()
  for (const item of list) {
    const element = elementOfItem(type, item)
    const first = items.get(element)
    if (first !== undefined && !fitsType(type.element, first)) {
      throw new FieldTypeError('a value does not fit its type')
    }
    items.set(element, items.has(element) ? undefined : item)
  }
  const node: MutableFieldSet = { '.': noFields }
  for (const element of sortElements([...items.keys()])) {
    const item = items.get(element)
    if (item === undefined) node[element] = noFields
    else put(node, element, type.element, item, pending)
  }
  return node
}
