/** Adapts field sets to a changed schema: if a list or map has become atomic, a manager of any field in it owns the whole. */
import { type FieldPosition, type FieldSet, FieldSetBuilder, isEmpty, recursiveDifference, union } from './field-set.ts'
import type { FieldType, ListType, MapType } from './field-types.ts'

/** Returns the same set if nothing changes. */
export function reconcileFields(type: FieldType, fields: FieldSet): FieldSet {
  const whole = new FieldSetBuilder()
  collect(type, fields, undefined, { whole, isLeaf: false })
  if (whole.isEmpty) return fields
  const found = whole.done()
  return union(recursiveDifference(fields, found), found)
}

interface Search {
  readonly whole: FieldSetBuilder
  /** True if the field is in the set and has nothing below it. */
  readonly isLeaf: boolean
}

function collect(type: FieldType, fields: FieldSet, place: FieldPosition | undefined, search: Search): void {
  if (type.map !== undefined) collectInMap(type.map, fields, place, search)
  else if (type.scalar === undefined && type.list !== undefined) collectInList(type.list, fields, place, search)
}

function collectInMap(
  type: MapType,
  fields: FieldSet,
  place: FieldPosition | undefined,
  { whole, isLeaf }: Search,
): void {
  if (type.isFree) return
  if (!isLeaf && type.isAtomic) {
    if (!isEmpty(fields) && place !== undefined) whole.add(place.around, place.element)
    return
  }
  for (const element in fields) {
    if (element === '.') continue
    const child = type.fields.get(element.slice(2)) ?? type.element
    if (child !== undefined) collectBelow(child, fields, place, element, whole)
  }
}

function collectInList(
  type: ListType,
  fields: FieldSet,
  place: FieldPosition | undefined,
  { whole, isLeaf }: Search,
): void {
  if (!isLeaf && type.isAtomic) {
    if (place !== undefined) whole.add(place.around, place.element)
    return
  }
  for (const element in fields) {
    if (element !== '.') collectBelow(type.element, fields, place, element, whole)
  }
}

function collectBelow(
  type: FieldType,
  fields: FieldSet,
  place: FieldPosition | undefined,
  element: string,
  whole: FieldSetBuilder,
): void {
  const inside = fields[element]!
  collect(type, inside, { around: place, element }, { whole, isLeaf: isEmpty(inside) })
}
