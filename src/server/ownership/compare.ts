/**
 * Compares two states of an object: the added, modified and removed fields as sets. Runs for every write, so equal parts are skipped
 * quickly. ReadonlyJsonObject that identify the object have no manager and are ignored.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import type { Json } from '../../util/json/json.ts'
import {
  type FieldPosition,
  type FieldSet,
  FieldSetBuilder,
  isEmpty,
  recursiveDifference,
  toFieldSet,
} from './field-set.ts'
import type { FieldType, ListType, MapType } from './field-types.ts'
import { fitsType } from './validate.ts'
import {
  asList,
  asMap,
  elementOfItem,
  FieldTypeError,
  type Form,
  formOf,
  type OptionalJson,
  type ReadonlyJsonObject,
} from './values.ts'
import { fieldsOfWhole } from './whole-fields.ts'

export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

export function isSame({ added, modified, removed }: Comparison): boolean {
  return isEmpty(added) && isEmpty(modified) && isEmpty(removed)
}

/** Removes these fields, and all below them, from a comparison. */
export function exclude({ added, modified, removed }: Comparison, fields: FieldSet): Comparison {
  return {
    added: recursiveDifference(added, fields),
    modified: recursiveDifference(modified, fields),
    removed: recursiveDifference(removed, fields),
  }
}

const readApart: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/** Metadata fields without a manager: they identify the object or are set by the server only. */
const unownedMetadata: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
])

/** The fields without a manager, as a set to subtract from others. */
export const unownedFields: FieldSet = toFieldSet(
  ...[...readApart].map((name) => [`f:${name}`]),
  ...[...unownedMetadata].map((name) => ['f:metadata', `f:${name}`]),
)

/** Throws a FieldTypeError for a value that its type does not allow. */
export function compareObjects(type: FieldType, old: KubeObject, object: KubeObject): Comparison {
  const comparer = new Comparer()
  comparer.object(type.map!, old as ReadonlyJsonObject, object as ReadonlyJsonObject)
  return comparer.done()
}

class Comparer {
  /** Maps still to be compared. A stack instead of recursion, since objects may be nested deeper than the call stack. */
  readonly #pending: Array<{ type: MapType; old: ReadonlyJsonObject; map: ReadonlyJsonObject; place: FieldPosition }> =
    []
  readonly #added = new FieldSetBuilder()
  readonly #modified = new FieldSetBuilder()
  readonly #removed = new FieldSetBuilder()

  done(): Comparison {
    return { added: this.#added.done(), modified: this.#modified.done(), removed: this.#removed.done() }
  }

  object(type: MapType, old: ReadonlyJsonObject, object: ReadonlyJsonObject): void {
    this.#fields(type, old, object, undefined, readApart)
    const inside: FieldPosition = { around: undefined, element: 'f:metadata' }
    const metadataType = type.fields.get('metadata')!.map!
    const [before, after] = [asMap(old['metadata']), asMap(object['metadata'])]
    this.#fields(metadataType, before ?? nothing, after ?? nothing, inside, unownedMetadata)
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      this.#fields(next.type, next.old, next.map, next.place)
    }
  }

  /** Compares one value, at an element of a position; undefined if it is absent. */
  #compare(
    type: FieldType,
    old: OptionalJson,
    value: OptionalJson,
    around: FieldPosition | undefined,
    element: string,
  ): void {
    if (old === value) return
    if (old === undefined) this.#added.addAll(around, element, fieldsOfWhole(type, value!))
    else if (value === undefined) this.#removed.addAll(around, element, fieldsOfWhole(type, old))
    else this.#compareBoth(type, old, value, around, element)
  }

  #compareBoth(type: FieldType, old: Json, value: Json, around: FieldPosition | undefined, element: string): void {
    const form = formOf(type, value)
    const oldForm = formOf(type, old)
    // A value that changes its form is compared in both forms: old fields are removed, new ones added.
    if (oldForm !== form) this.#compareAs(oldForm, type, old, value, around, element)
    this.#compareAs(form, type, old, value, around, element)
  }

  #compareAs(
    form: Form,
    type: FieldType,
    old: Json,
    value: Json,
    around: FieldPosition | undefined,
    element: string,
  ): void {
    if (form === 'map') {
      const [left, right] = [asMap(old), asMap(value)]
      if (!type.map!.isAtomic && (hasFields(left) || hasFields(right))) {
        this.#pending.push({ type: type.map!, old: left ?? nothing, map: right ?? nothing, place: { around, element } })
        return
      }
    } else if (form === 'list') {
      const [left, right] = [asList(old), asList(value)]
      if (!type.list!.isAtomic && (left?.length || right?.length)) {
        // Usually nothing has changed, and the elements of the items need not be computed.
        if (!isDeepEqual(old, value)) this.#items(type.list!, left ?? [], right ?? [], { around, element })
        return
      }
    }
    if (isDeepEqual(old, value)) return
    if (!fitsType(type, value)) throw new FieldTypeError('a value does not fit its type')
    this.#modified.add(around, element)
  }

  #fields(
    type: MapType,
    old: ReadonlyJsonObject,
    object: ReadonlyJsonObject,
    place: FieldPosition | undefined,
    skipped?: ReadonlySet<string>,
  ): void {
    for (const key of Object.keys(object)) {
      if (skipped?.has(key)) continue
      const before = Object.hasOwn(old, key) ? old[key] : undefined
      if (before === object[key]) continue
      this.#compare(typeOfField(type, key), before, object[key], place, `f:${key}`)
    }
    for (const key of Object.keys(old)) {
      if (skipped?.has(key) || Object.hasOwn(object, key)) continue
      this.#compare(typeOfField(type, key), old[key], undefined, place, `f:${key}`)
    }
  }

  #items(type: ListType, old: readonly Json[], list: readonly Json[], place: FieldPosition): void {
    const before = byElement(type, old)
    const after = byElement(type, list)
    for (const element of new Set([...before.keys(), ...after.keys()])) {
      this.#item(type, before.get(element) ?? [], after.get(element) ?? [], place, element)
    }
  }

  /** Items with the same element are compared and owned as one. */
  #item(type: ListType, old: readonly Json[], items: readonly Json[], place: FieldPosition, element: string): void {
    if (old.length <= 1 && items.length <= 1) {
      this.#compare(type.element, old[0], items[0], place, element)
    } else if (old.length >= 2 && items.length >= 2) {
      if (!isDeepEqual(old, items)) this.#modified.add(place, element)
    } else if (old.length >= 2) {
      if (items.length > 0) this.#compare(type.element, undefined, items[0], place, element)
      this.#removed.add(place, element)
    } else {
      if (old.length > 0) this.#compare(type.element, old[0], undefined, place, element)
      this.#added.add(place, element)
    }
  }
}

const nothing: ReadonlyJsonObject = {}

function hasFields(map: ReadonlyJsonObject | undefined): boolean {
  if (map !== undefined) for (const _ in map) return true
  return false
}

function typeOfField({ fields, element }: MapType, key: string): FieldType {
  const type = fields.get(key) ?? element
  if (type === undefined) throw new FieldTypeError('field not declared in schema')
  return type
}

function byElement(type: ListType, items: readonly Json[]): Map<string, Json[]> {
  const found = new Map<string, Json[]>()
  for (const item of items) {
    const element = elementOfItem(type, item)
    const same = found.get(element)
    if (same === undefined) found.set(element, [item])
    else same.push(item)
  }
  return found
}
