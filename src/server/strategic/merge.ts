/**
 * Strategic merge patches, as apimachinery's strategicpatch applies them: objects field by field, lists as the Go types of
 * the kind say, with directives that begin with `$`. Called by the strategies of typed kinds. What comes out has not been
 * checked against the types yet (builtins/unstructured.ts).
 */
import { isPlainObject, type Json, setOwn } from '../../util/json.ts'
import type { Types } from '../builtins/types.ts'
import { badFormat, unknownDirective, wrongType } from './failures.ts'
import { goTypeOf } from './go-values.ts'
import { areObjects, checkOrder, deleteFromList, fieldOfDirective, type ListRules, mergeLists } from './lists.ts'
import { kindOf, lookupField, lookupList, type PatchField, type Shape } from './lookup.ts'
import { type Fields, hash, ownValue, putInOrder } from './order.ts'

const orderDirective = '$setElementOrder'
const deletionDirective = '$deleteFromPrimitiveList'

/** The object as the patch would have it. Changes both; messages show the patch as this leaves it. */
export function mergeStrategically(types: Types, type: string, original: Fields, patch: Fields): Fields {
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

  objects(original: Fields, patch: Fields, shape: Shape): Fields {
    const directive = ownValue(patch, '$patch')
    if (directive !== undefined) return applyDirective(directive, patch)
    retainKeys(original, patch)
    for (const key of Object.keys(patch)) {
      if (key.startsWith(orderDirective)) this.#mergeInOrder(original, patch, key, shape)
    }
    for (const [key, value] of Object.entries(patch)) this.#mergeField(original, key, value, shape)
    return original
  }

  #mergeField(original: Fields, key: string, value: Json, shape: Shape): void {
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
      setOwn(original, name, isReplaced ? value : this.objects(current, value as Fields, field.shape))
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

  /** A list, merged together with the order that the patch wishes for it. Both are taken off the patch. */
  #mergeInOrder(original: Fields, patch: Fields, key: string, shape: Shape): void {
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

function listIn(fields: Fields, name: string): Json[] | undefined {
  const value = ownValue(fields, name)
  if (value === undefined || Array.isArray(value)) return value
  throw wrongType('[]interface {}', value)
}

function applyDirective(directive: Json, patch: Fields): Fields {
  if (directive === 'delete') return {}
  if (directive !== 'replace') throw unknownDirective(directive, patch)
  delete patch['$patch']
  return patch
}

/** `$retainKeys`: all that is not listed goes, and the patch may name nothing else. */
function retainKeys(original: Fields, patch: Fields): void {
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

/** Takes the nulls of objects off the patch itself, in lists too. */
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

/** What is new in the object comes without directives; what is nothing but a directive does not come at all. */
function setClean(target: Fields, key: string, value: Json): void {
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

/** Lists in lists stay lists. */
function wrap(value: Json | undefined): Json[] {
  return value === undefined ? [] : [value]
}
