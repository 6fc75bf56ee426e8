/**
 * The differences between two states of an object, for the journal: a bounded number of changed fields with short values, and without secrets. Lists of
 * objects with names, such as containers and conditions, are compared item by item. Takes time linear in the size of the smaller states and a fixed time
 * for large ones. Pure.
 */
import { isDeepEqual } from '../util/json/deep-equal.ts'
import { isPlainObject, type Json } from '../util/json/json.ts'
import { lazyMemberAt, weightOf } from '../util/json/lazy-json.ts'
import type { FieldChange } from './entries.ts'
import { describeValue, isSecretField, isSecretPair, isSensitiveName } from './mask.ts'

export interface FieldChanges {
  readonly changes: readonly FieldChange[]
  readonly moreChanges: number
}

export const noChanges: FieldChanges = { changes: [], moreChanges: 0 }

const maxChanges = 20
const maxValueLength = 200
const maxPathLength = 300
const maxDepth = 32
/** Compared values of one pair of states. Beyond it, the rest of the object is compared no further. */
const maxVisited = 20_000
/** Objects with longer texts are compared by their top-level fields only: nothing is parsed for the journal. */
const maxParsedBytes = 64 * 1024

/** Fields that change with every write, or never. */
const ignored = new Set(['resourceVersion', 'generation', 'managedFields', 'uid', 'selfLink'])

interface ComparedField {
  readonly path: string
  /** Two keys are enough to recognise the fields of a Secret. */
  readonly keys: readonly string[]
  readonly depth: number
  readonly isHidden: boolean
  readonly old: unknown
  readonly new: unknown
}

interface ChangeWalk {
  readonly body: object
  /** Of an added or removed object, each field is a change of its own: they may have different authors. */
  readonly isExpanded: boolean
  readonly changes: FieldChange[]
  readonly pending: ComparedField[]
  count: number
  visited: number
}

export function compareStates(
  before: object,
  after: object,
  { isExpanded = false }: { readonly isExpanded?: boolean } = {},
): FieldChanges {
  if (before === after) return noChanges
  if (Math.max(weightOf(before).bytes, weightOf(after).bytes) > maxParsedBytes) return compareLarge(before, after)
  const walk: ChangeWalk = { body: after, isExpanded, changes: [], pending: [], count: 0, visited: 0 }
  walk.pending.push({ path: '', keys: [], depth: 0, isHidden: false, old: before, new: after })
  for (let next = walk.pending.pop(); next !== undefined; next = walk.pending.pop()) {
    walk.visited += 1
    if (walk.visited > maxVisited) break
    compareField(walk, next)
  }
  return { changes: walk.changes, moreChanges: walk.count - walk.changes.length }
}

/** The fields of a large object whose texts are different, without values. */
function compareLarge(before: object, after: object): FieldChanges {
  const changes: FieldChange[] = []
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  for (const key of keys) {
    if (key === 'metadata' || isSameText(before, after, key)) continue
    changes.push({ operation: operationOf(Object.hasOwn(before, key), Object.hasOwn(after, key)), path: cutPath(key) })
  }
  const shown = changes.slice(0, maxChanges)
  return { changes: shown, moreChanges: changes.length - shown.length }
}

function isSameText(before: object, after: object, key: string): boolean {
  const [old, current] = [lazyMemberAt(before, key), lazyMemberAt(after, key)]
  if (old !== undefined && current !== undefined) return old.hasTextOf(current)
  if (old !== undefined || current !== undefined) return false
  return JSON.stringify(Reflect.get(before, key)) === JSON.stringify(Reflect.get(after, key))
}

function compareField(walk: ChangeWalk, field: ComparedField): void {
  let [old, current] = [field.old ?? undefined, field.new ?? undefined]
  if (Object.is(old, current)) return
  if (walk.isExpanded && hasFields(current)) old ??= {}
  if (walk.isExpanded && hasFields(old)) current ??= {}
  if (field.depth < maxDepth && isPlainObject(old) && isPlainObject(current)) {
    compareObjects(walk, field, old, current)
  } else if (field.depth < maxDepth && Array.isArray(old) && Array.isArray(current)) {
    compareLists(walk, field, old, current)
  } else {
    report(walk, field)
  }
}

function hasFields(value: unknown): boolean {
  return isPlainObject(value) && Object.keys(value).length > 0
}

type ChangedFields = { readonly [key: string]: Json }

function compareObjects(walk: ChangeWalk, field: ComparedField, old: ChangedFields, current: ChangedFields): void {
  const isMetadata = field.depth === 1 && field.keys[0] === 'metadata'
  const isPair = isSecretPair(current) || isSecretPair(old)
  const keys = Object.keys(current)
  for (const key of Object.keys(old)) if (!Object.hasOwn(current, key)) keys.push(key)
  // The pending fields are a stack: last in, first out.
  for (const key of keys.reverse()) {
    if (isMetadata && ignored.has(key)) continue
    push(walk, field, {
      key,
      part: toPart(key, field.path === ''),
      isHidden: isSensitiveName(key) || (isPair && key === 'value'),
      old: Object.hasOwn(old, key) ? old[key] : undefined,
      new: Object.hasOwn(current, key) ? current[key] : undefined,
    })
  }
}

function compareLists(walk: ChangeWalk, field: ComparedField, old: readonly Json[], current: readonly Json[]): void {
  const [before, after] = [byName(old), byName(current)]
  if (before !== undefined && after !== undefined) {
    const names = [...new Set([...after.keys(), ...before.keys()])]
    for (const name of names.reverse()) {
      push(walk, field, {
        key: name,
        part: `[${cutKey(name)}]`,
        isHidden: false,
        old: before.get(name),
        new: after.get(name),
      })
    }
    return
  }
  for (let index = Math.max(old.length, current.length) - 1; index >= 0; index -= 1) {
    push(walk, field, { key: '', part: `[${index}]`, isHidden: false, old: old[index], new: current[index] })
  }
}

/** The items of a list by their unique names or types; undefined if some have none. */
function byName(list: readonly Json[]): ReadonlyMap<string, Json> | undefined {
  for (const key of ['name', 'type']) {
    const found = new Map<string, Json>()
    for (const item of list) {
      const name = isPlainObject(item) && Object.hasOwn(item, key) ? item[key] : undefined
      if (typeof name !== 'string' || found.has(name)) break
      found.set(name, item)
    }
    if (found.size === list.length) return found
  }
  return undefined
}

interface InnerField {
  readonly key: string
  readonly part: string
  readonly isHidden: boolean
  readonly old: unknown
  readonly new: unknown
}

function push(walk: ChangeWalk, parent: ComparedField, inner: InnerField): void {
  if (Object.is(inner.old ?? undefined, inner.new ?? undefined)) return
  const keys = parent.keys.length < 2 ? [...parent.keys, inner.key] : parent.keys
  walk.pending.push({
    path: cutPath(parent.path + inner.part),
    keys,
    depth: parent.depth + 1,
    isHidden: parent.isHidden || inner.isHidden || isSecretField(walk.body, keys),
    old: inner.old,
    new: inner.new,
  })
}

function report(walk: ChangeWalk, { path, old, new: current, isHidden }: ComparedField): void {
  // Below the maximum depth, values are compared as a whole.
  if (isDeepEqual(old ?? null, current ?? null)) return
  walk.count += 1
  if (walk.changes.length === maxChanges) return
  const [isOld, isNew] = [isPresent(old), isPresent(current)]
  walk.changes.push({
    operation: operationOf(isOld, isNew),
    path,
    ...(isOld && { old: describeValue(old, { isHidden, maxLength: maxValueLength }) }),
    ...(isNew && { new: describeValue(current, { isHidden, maxLength: maxValueLength }) }),
  })
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

function operationOf(isOld: boolean, isNew: boolean): FieldChange['operation'] {
  return isOld ? (isNew ? 'change' : 'remove') : 'add'
}

/** `.key`, or `["a.b/c"]` for keys with dots; without the dot at the beginning of a path. */
function toPart(key: string, isFirst: boolean): string {
  const text = cutKey(key)
  if (!/^[\w-]+$/.test(text)) return `["${text}"]`
  return isFirst ? text : `.${text}`
}

const maxKeyLength = 80

function cutKey(key: string): string {
  return key.length > maxKeyLength ? `${key.slice(0, maxKeyLength - 1)}…` : key
}

function cutPath(path: string): string {
  return path.length > maxPathLength ? `${path.slice(0, maxPathLength - 1)}…` : path
}
