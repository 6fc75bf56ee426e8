/** All fields of a value, as a set: what the author of a configuration owns by it. */
import type { Json } from '../../util/json.ts'
import { type FieldSet, FieldSetBuilder, type Place } from './field-set.ts'
import type { FieldType, ListType, MapType } from './field-types.ts'
import { asList, asMap, elementOfItem, formOf } from './values.ts'

export function fieldsOf(type: FieldType, value: Json): FieldSet {
  const collector = new Collector()
  collector.collect(type, value)
  return collector.fields.done()
}

/** A value that is still to be looked into, at an element of a place; `undefined` is the object itself, which has no owner. */
interface Pending {
  readonly type: FieldType
  readonly value: Json
  readonly place: Place | undefined
}

/** Does not recurse, for a client decides how deep a configuration is. */
class Collector {
  readonly fields = new FieldSetBuilder()
  readonly #pending: Pending[] = []

  collect(type: FieldType, value: Json): void {
    this.#pending.push({ type, value, place: undefined })
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) this.#lookInto(next)
  }

  #lookInto({ type, value, place }: Pending): void {
    const form = formOf(type, value)
    if (form === 'map' && !type.map!.isAtomic) this.#map(type.map!, asMap(value) ?? {}, place)
    else if (form === 'list' && !type.list!.isAtomic) this.#list(type.list!, asList(value) ?? [], place)
    else if (place !== undefined) this.fields.add(place.around, place.element)
  }

  /** Fields of a struct are where what is in them is; those of a map are there by themselves. */
  #map(type: MapType, map: { readonly [key: string]: Json }, around: Place | undefined): void {
    for (const key of Object.keys(map)) {
      const own = type.fields.get(key)
      const value = map[key]!
      const element = `f:${key}`
      this.#pending.push({ type: (own ?? type.element)!, value, place: { around, element } })
      if (own === undefined || value === null || isEmptyMap(value)) this.fields.add(around, element)
    }
  }

  #list(type: ListType, items: readonly Json[], around: Place | undefined): void {
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
