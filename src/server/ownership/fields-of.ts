/** All fields of a value as a set: the fields that a manager owns by applying it. */
import type { Json } from '../../util/json/json.ts'
import { type FieldPosition, type FieldSet, FieldSetBuilder } from './field-set.ts'
import type { FieldType, ListType, MapType } from './field-types.ts'
import { asList, asMap, elementOfItem, formOf } from './values.ts'

export function fieldsOf(type: FieldType, value: Json): FieldSet {
  const collector = new Collector()
  collector.collect(type, value)
  return collector.fields.done()
}

/** A value still to be visited, and its position; undefined for the object itself, which has no manager. */
interface PendingValue {
  readonly type: FieldType
  readonly value: Json
  readonly place: FieldPosition | undefined
}

/** Not recursive, since clients decide how deep a configuration is. */
class Collector {
  readonly fields = new FieldSetBuilder()
  readonly #pending: PendingValue[] = []

  collect(type: FieldType, value: Json): void {
    this.#pending.push({ type, value, place: undefined })
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) this.#lookInto(next)
  }

  #lookInto({ type, value, place }: PendingValue): void {
    const form = formOf(type, value)
    if (form === 'map' && !type.map!.isAtomic) this.#map(type.map!, asMap(value) ?? {}, place)
    else if (form === 'list' && !type.list!.isAtomic) this.#list(type.list!, asList(value) ?? [], place)
    else if (place !== undefined) this.fields.add(place.around, place.element)
  }

  /** A struct field is a member only if it has no fields below; a map entry is always a member. */
  #map(type: MapType, map: { readonly [key: string]: Json }, around: FieldPosition | undefined): void {
    for (const key of Object.keys(map)) {
      const own = type.fields.get(key)
      const value = map[key]!
      const element = `f:${key}`
      this.#pending.push({ type: (own ?? type.element)!, value, place: { around, element } })
      if (own === undefined || value === null || isEmptyMap(value)) this.fields.add(around, element)
    }
  }

  #list(type: ListType, items: readonly Json[], around: FieldPosition | undefined): void {
    const elements = items.map((item) => elementOfItem(type, item))
    const times = new Map<string, number>()
    for (const element of elements) times.set(element, (times.get(element) ?? 0) + 1)
    for (const [index, element] of elements.entries()) {
      const isRepeated = times.get(element)! > 1
      if (!isRepeated) this.#pending.push({ type: type.element, value: items[index]!, place: { around, element } })
      this.fields.add(around, element)
    }
  }
}

function isEmptyMap(value: Json): boolean {
  const map = asMap(value)
  return map !== undefined && Object.keys(map).length === 0
}
