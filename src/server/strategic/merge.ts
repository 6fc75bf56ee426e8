/**
 * Strategic merge patches as in apimachinery's strategicpatch: objects are merged per field, lists by the strategies of the Go types,
 * directives start with `$`. Called by the strategies of typed kinds. The result is not checked against the types
 * (builtins/unstructured.ts does that).
 */
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject, type Json, setOwn } from '../../util/json/json.ts'
import type { Types } from '../builtins/types.ts'
import { badFormat, unknownDirective, wrongType } from './failures.ts'
import { goTypeOf } from './go-values.ts'
import { areObjects, checkOrder, deleteFromList, fieldOfDirective, type ListRules, mergeLists } from './lists.ts'
import { kindOf, lookupField, lookupList, type MergedType, type PatchField } from './lookup.ts'
import { hash, ownValue, putInOrder } from './order.ts'

const orderDirective = '$setElementOrder'
const deletionDirective = '$deleteFromPrimitiveList'

/** Returns the patched object. Modifies both arguments; messages show the modified patch. */
export function mergeStrategically(types: Types, type: string, original: JsonObject, patch: JsonObject): JsonObject {
  const struct = types.struct(type)
  return new Merger(types).objects(original, patch, {
    type: { tag: 'struct', name: type, goName: struct.goName },
    isPointer: false,
  })
}

class Merger {
  readonly #types: Types

  constructor(types: Types) {
    this.#types = types
  }

  objects(original: JsonObject, patch: JsonObject, shape: MergedType): JsonObject {
    const directive = ownValue(patch, '$patch')
    if (directive !== undefined) return applyDirective(directive, patch)
    retainKeys(original, patch)
    for (const key of Object.keys(patch)) {
      if (key.startsWith(orderDirective)) this.#mergeInOrder(original, patch, key, shape)
    }
    for (const [key, value] of Object.entries(patch)) this.#mergeField(original, key, value, shape)
    return original
  }

  #mergeField(original: JsonObject, key: string, value: Json, shape: MergedType): void {
    const isDeletion = key.startsWith(deletionDirective)
    const name = isDeletion ? fieldOfDirective(key, deletionDirective) || key : key
    if (value === null) {
      delete original[name]
      return
    }
    const current = ownValue(original, name)
    if (current === undefined || goTypeOf(current) !== goTypeOf(value)) {
      if (!isDeletion) setClean(original, name, withoutNulls(value))
    } else if (Array.isArray(current)) {
      const field = lookupList(this.#types, shape, name)
      setOwn(original, name, this.#lists(current, value as Json[], field, isDeletion))
    } else if (isPlainObject(current)) {
      const field = lookupField(this.#types, shape, name)
      const isReplaced = field.strategy === 'replace'
      setOwn(original, name, isReplaced ? value : this.objects(current, value as JsonObject, field.shape))
    } else {
      setOwn(original, name, value)
    }
  }

  #lists(original: Json[], patch: Json[], field: PatchField, isDeletion: boolean): Json[] {
    if (isDeletion) return deleteFromList(original, patch, this.#rulesOf(field))
    return field.strategy === 'merge' ? mergeLists(original, patch, this.#rulesOf(field)) : patch
  }

  #rulesOf({ mergeKey, shape }: PatchField): ListRules {
    return {
      mergeKey,
      elementKind: kindOf(shape),
      mergeElements: (original, patch) => this.objects(original, patch, shape),
    }
  }

  /** Merges a list that has a `$setElementOrder` directive. Removes both from the patch. */
  #mergeInOrder(original: JsonObject, patch: JsonObject, key: string, shape: MergedType): void {
    const order = patch[key]!
    delete patch[key]
    if (!Array.isArray(order)) throw wrongType('[]interface {}', order)
    const name = fieldOfDirective(key, orderDirective)
    const current = listIn(original, name)
    const wanted = listIn(patch, name)
    const field = lookupList(this.#types, shape, name)
    checkOrder(wanted ?? [], order, field.mergeKey)
    const serverOrder = [...(current ?? [])]
    const merged = this.#mergeIfThere(current && serverOrder, wanted, field)
    if (merged === undefined) return
    const ordering = { mergeKey: field.mergeKey, patchOrder: order, serverOrder }
    const areObjectsThere = () => areObjects(serverOrder, wanted ?? [])
    setOwn(original, name, putInOrder(merged, { ...ordering, areObjects: areObjectsThere }))
    delete patch[name]
  }

  #mergeIfThere(current: Json[] | undefined, wanted: Json[] | undefined, field: PatchField): Json[] | undefined {
    if (wanted === undefined) return current
    return current === undefined ? (cleaned(wanted) as Json[]) : this.#lists(current, wanted, field, false)
  }
}

function listIn(fields: JsonObject, name: string): Json[] | undefined {
  const value = ownValue(fields, name)
  if (value === undefined || Array.isArray(value)) return value
  throw wrongType('[]interface {}', value)
}

function applyDirective(directive: Json, patch: JsonObject): JsonObject {
  if (directive === 'delete') return {}
  if (directive !== 'replace') throw unknownDirective(directive, patch)
  delete patch['$patch']
  return patch
}

/** `$retainKeys`: removes all fields that are not listed; the patch may not contain others. */
function retainKeys(original: JsonObject, patch: JsonObject): void {
  const retained = ownValue(patch, '$retainKeys')
  if (retained === undefined) return
  delete patch['$retainKeys']
  if (!Array.isArray(retained)) throw badFormat('retainKeys')
  const keys = new Set(retained.map(hash))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || key.startsWith(deletionDirective) || key.startsWith(orderDirective)) continue
    if (!keys.has(hash(key))) throw badFormat('retainKeys')
  }
  for (const key of Object.keys(original)) if (!keys.has(hash(key))) delete original[key]
}

/** Removes nulls from objects in the patch, also in lists. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) {
    for (const element of value) withoutNulls(element)
  } else if (isPlainObject(value)) {
    for (const [key, child] of Object.entries(value)) {
      if (child === null) delete value[key]
      else withoutNulls(child)
    }
  }
  return value
}

/** New values are added without directives; a value with a `$patch` directive is not added. */
function setClean(target: JsonObject, key: string, value: Json): void {
  const clean = cleaned(value)
  if (clean === undefined) delete target[key]
  else setOwn(target, key, clean)
}

function cleaned(value: Json): Json | undefined {
  if (Array.isArray(value)) return value.flatMap((element) => wrap(cleaned(element)))
  if (!isPlainObject(value)) return value
  if (Object.hasOwn(value, '$patch')) return undefined
  for (const [key, child] of Object.entries(value)) setClean(value, key, child)
  return value
}

/** Prevents flatMap from flattening nested lists. */
function wrap(value: Json | undefined): Json[] {
  return value === undefined ? [] : [value]
}
