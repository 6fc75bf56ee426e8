/** All fields of a value, as a set: what the author of a configuration owns by it. */
import type { Json } from '../../util/json.ts'
import { type FieldSet, FieldSetBuilder, type Place } from './field-set.ts'
import type { FieldType, ListType, MapType } from './field-types.ts'
import { asList, asMap, elementOfItem, formOf } from './values.ts'

export function fieldsOf(type: FieldType, value: Json): FieldSet {
  const collector = new Collector()
  collector.collect(type, value, undefined, '')
  return collector.fields.done()
}

class Collector {
  readonly fields = new FieldSetBuilder()

  /** At '' it is the whole, which nobody owns. */
  collect(type: FieldType, value: Json, around: Place | undefined, element: string): void {
    const place = element === '' ? undefined : { around, element }
    const form = formOf(type, value)
    if (form === 'map' && !type.map!.isAtomic) this.#map(type.map!, asMap(value) ?? {}, place)
    else if (form === 'list' && !type.list!.isAtomic) this.#list(type.list!, asList(value) ?? [], place)
    else if (element !== '') this.fields.add(around, element)
  }

  /** Fields of a struct are where what is in them is; those of a map are there by themselves. */
  #map(type: MapType, map: { readonly [key: string]: Json }, place: Place | undefined): void {
    for (const key of Object.keys(map)) {
      const own = type.fields.get(key)
      const value = map[key]!
      this.collect((own ?? type.element)!, value, place, `f:${key}`)
      if (own === undefined || value === null || isEmptyMap(value)) this.fields.add(place, `f:${key}`)
    }
  }

  #list(type: ListType, items: readonly Json[], place: Place | undefined): void {
    const elements = items.map((item) => elementOfItem(type, item))
    for (const [index, element] of elements.entries()) {
      const isRepeated = elements.indexOf(element) !== elements.lastIndexOf(element)
      if (!isRepeated) this.collect(type.element, items[index]!, place, element)
      this.fields.add(place, element)
    }
  }
}

function isEmptyMap(value: Json): boolean {
  const map = asMap(value)
  return map !== undefined && Object.keys(map).length === 0
}
