/**
 * The `patch` argument of handlers: a merge patch whose stanzas exist on first access, and functions for edits that depend on the current
 * state. Created for each call; plan-patch.ts turns patches into requests, apply-patch.ts sends them.
 */

import { ConcealedValue } from '../causation/concealed-value.ts'
import type { JsonObject, KubeObject, ObjectMeta } from '../kube/objects.ts'
import { cloneJson, isDeepEqual } from '../util/json/deep-equal.ts'
import type { MergePatch } from '../util/json/deep-types.ts'
import { isPlainObject, type Json, setOwn } from '../util/json/json.ts'

/** The metadata of a patch. Labels and annotations exist already, so that keys can be assigned directly; null removes a key. */
interface MetadataPatch extends Omit<MergePatch<ObjectMeta>, 'labels' | 'annotations'> {
  labels: Record<string, string | null>
  annotations: Record<string, string | null>
}

/** Edits the newest body of the object in place. Called again after a conflict, so that it must be idempotent. */
export type PatchFunction<T> = (body: T) => void

/**
 * The `patch` argument of handlers: assign fields to change them on the object, null to remove them. It is a merge patch: nested objects are
 * merged, lists are replaced. The framework sends it when the handler has finished, together with those of the other handlers.
 *
 * @example
 * ```ts
 * kopf.on.create('kopfexamples', ({ patch }) => {
 *   patch.status.phase = 'Ready'
 *   patch.metadata.labels['example.com/checked'] = 'yes'
 *   patch.fns.push(({ spec }) => {
 *     if (!spec.items.includes('web')) spec.items.push('web')
 *   })
 * })
 * ```
 */
export type Patch<T = KubeObject> = {
  [K in keyof T as K extends 'apiVersion' | 'kind' | 'metadata' ? never : K]-?: MergePatch<NonNullable<T[K]>>
} & {
  metadata: MetadataPatch
} & {
  /** Edits that depend on the current state, such as appending to a list. Called after the merge patch is applied. */
  readonly fns: PatchFunction<T>[]
  /** Whether the patch changes nothing. */
  readonly isEmpty: boolean
}

const contents: unique symbol = Symbol.for('kopf.patch') as never

interface PatchContents {
  /** All stanzas that were accessed, including empty ones. */
  readonly stanzas: { [key: string]: unknown }
  readonly fns: PatchFunction<never>[]
  /** The parts that `takePatch` has already returned. */
  returned?: { readonly merge: JsonObject; readonly fns: ReadonlySet<PatchFunction<never>> }
}

/** Reading a stanza creates it, so that `patch.status.phase = …` needs no preparation. */
const traps: ProxyHandler<PatchContents> = {
  get(target, key) {
    if (key === contents) return target
    if (key === 'fns') return target.fns
    if (key === 'isEmpty') return isEmpty(target)
    // Awaiting or printing a patch must not create stanzas named `then` or `toJSON`.
    if (typeof key === 'symbol' || key === 'then' || key === 'toJSON') return undefined
    if (!Object.hasOwn(target.stanzas, key)) setOwn(target.stanzas, key, emptyStanza(key))
    return target.stanzas[key]
  },
  set(target, key, value: unknown) {
    if (typeof key === 'symbol' || key === 'fns' || key === 'isEmpty') return false
    assign(target.stanzas, key, value)
    return true
  },
  has: (target, key) => typeof key === 'string' && Object.hasOwn(target.stanzas, key),
  deleteProperty: (target, key) => typeof key === 'string' && delete target.stanzas[key],
  ownKeys: (target) => Object.keys(target.stanzas),
  getOwnPropertyDescriptor: (target, key) =>
    typeof key === 'string' && Object.hasOwn(target.stanzas, key)
      ? { value: target.stanzas[key], writable: true, enumerable: true, configurable: true }
      : undefined,
}

export function createPatch<T>(): Patch<T> {
  return new Proxy<PatchContents>({ stanzas: {}, fns: [] }, traps) as unknown as Patch<T>
}

/** The content of the patch as plain JSON, without empty stanzas that were only read. */
export function readPatch(patch: Patch<never>): { merge: JsonObject; fns: readonly PatchFunction<KubeObject>[] } {
  const { stanzas, fns } = contentsOf(patch)!
  const merge: JsonObject = {}
  for (const key of Object.keys(stanzas)) {
    const value = toPlainJson(stanzas[key])
    if (value === undefined || isUntouched(key, value)) continue
    setOwn(merge, key, value)
  }
  return { merge, fns: fns as unknown as PatchFunction<KubeObject>[] }
}

/**
 * The part of the patch that was added since the last call of this function. The patch of a handler with sub-handlers is collected in parts,
 * so that sub-handlers see the earlier part, and the later of two values of a field wins.
 */
export function takePatch(patch: Patch<never>): { merge: JsonObject; fns: readonly PatchFunction<KubeObject>[] } {
  const contents = contentsOf(patch)!
  const { merge, fns } = readPatch(patch)
  const { returned } = contents
  contents.returned = { merge: cloneJson(merge), fns: new Set(contents.fns) }
  if (returned === undefined) return { merge, fns }
  return { merge: changedFields(merge, returned.merge), fns: fns.filter((fn) => !returned.fns.has(fn as never)) }
}

/** The fields of a patch that an earlier state of it does not have, or has with another value. */
function changedFields(merge: JsonObject, earlier: JsonObject): JsonObject {
  const root: PatchStanza = { into: {} }
  const pending: Array<readonly [JsonObject, JsonObject, PatchStanza]> = [[merge, earlier, root]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [fields, known, stanza] = next
    for (const key of Object.keys(fields)) {
      const value = fields[key]!
      const before = Object.hasOwn(known, key) ? known[key] : undefined
      if (isPlainObject(value) && isPlainObject(before)) pending.push([value, before, { parent: stanza, key }])
      else if (!isDeepEqual(value, before)) setOwn(toFields(stanza), key, value)
    }
  }
  return root.into!
}

/** An object in the result of `changedFields`, created with its first field. */
interface PatchStanza {
  readonly parent?: PatchStanza
  readonly key?: string
  into?: JsonObject
}

function toFields(stanza: PatchStanza): JsonObject {
  const missing: PatchStanza[] = []
  let next = stanza
  for (; next.into === undefined; next = next.parent!) missing.push(next)
  for (const one of missing.reverse()) {
    one.into = {}
    setOwn(one.parent!.into!, one.key!, one.into)
  }
  return stanza.into!
}

/** Merges a patch that was collected in a worker thread into the `patch` argument. */
export function addToPatch(patch: object, merge: JsonObject): void {
  mergeInto((contentsOf(patch)?.stanzas ?? patch) as JsonObject, merge)
}

/** Undefined if the patch is an ordinary object: users' tests may call a handler with one. */
function contentsOf(patch: object): PatchContents | undefined {
  return (patch as { [contents]?: PatchContents })[contents]
}

function isEmpty({ stanzas, fns }: PatchContents): boolean {
  if (fns.length > 0) return false
  return Object.keys(stanzas).every((key) => {
    const value = toPlainJson(stanzas[key])
    return value === undefined || isUntouched(key, value)
  })
}

function emptyStanza(key: string): JsonObject {
  return key === 'metadata' ? { labels: {}, annotations: {} } : {}
}

/** Assigning a whole stanza merges it into the existing one. */
function assign(stanzas: { [key: string]: unknown }, key: string, value: unknown): void {
  const current = Object.hasOwn(stanzas, key) ? stanzas[key] : emptyStanza(key)
  if (!isPlainObject(value) || !isPlainObject(current)) {
    setOwn(stanzas, key, value)
    return
  }
  for (const inner of Object.keys(value)) setOwn(current, inner, value[inner]!)
  setOwn(stanzas, key, current)
}

/** Whether the stanza is empty, apart from the empty labels and annotations that reading the metadata creates. */
function isUntouched(key: string, value: Json): boolean {
  if (!isPlainObject(value)) return false
  if (key !== 'metadata') return Object.keys(value).length === 0
  for (const inner of ['labels', 'annotations']) {
    const map = value[inner]
    if (isPlainObject(map) && Object.keys(map).length === 0) delete value[inner]
  }
  return Object.keys(value).length === 0
}

/** Converts a user's value to plain JSON; undefined stays undefined. Throws a TypeError that names a value that JSON cannot hold. */
export function toPlainJson(value: unknown): Json | undefined {
  const holder: { [key: string]: unknown } = {}
  const frame: CopyFrame = { pending: [], ancestors: new Set() }
  copyValue(value, (json) => setOwn(holder, 'value', json), frame)
  for (let next = frame.pending.pop(); next !== undefined; next = frame.pending.pop()) next()
  return holder['value'] as Json | undefined
}

interface CopyFrame {
  /** A stack of pending steps, used instead of recursion, so that deep values do not overflow the call stack. */
  readonly pending: Array<() => void>
  /** The containers between the root and the current value. */
  readonly ancestors: Set<object>
}

function copyValue(source: unknown, put: (json: unknown) => void, frame: CopyFrame): void {
  if (source instanceof ConcealedValue) {
    throw new TypeError(
      'The old value of a Secret is concealed and cannot be written; take the current value from "body"',
    )
  }
  const value = hasToJson(source) ? source.toJSON() : source
  if (value === undefined) return
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint') {
    put(value)
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`JSON cannot hold the number ${value}`)
    put(value)
  } else if (typeof value === 'object') {
    if (frame.ancestors.has(value)) throw new TypeError('JSON cannot hold an object that contains itself')
    const copy: unknown = Array.isArray(value) ? [] : {}
    put(copy)
    frame.pending.push(() => copyContent(value, copy, frame))
  } else {
    throw new TypeError(`JSON cannot hold a ${typeof value}`)
  }
}

function copyContent(from: object, to: unknown, frame: CopyFrame): void {
  frame.ancestors.add(from)
  // Pushed before the content, so that it runs after the content: the stack is last in, first out.
  frame.pending.push(() => frame.ancestors.delete(from))
  if (Array.isArray(from)) {
    const items = to as unknown[]
    from.forEach((item, index) => {
      items[index] = null
      copyValue(item, (json) => (items[index] = json), frame)
    })
    return
  }
  const fields = from instanceof Map ? Object.fromEntries(from) : (from as { [key: string]: unknown })
  for (const key of Object.keys(fields)) {
    copyValue(fields[key], (json) => setOwn(to as { [key: string]: unknown }, key, json), frame)
  }
}

function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return typeof value === 'object' && value !== null && typeof (value as { toJSON?: unknown }).toJSON === 'function'
}

/** Merges one merge patch into another: the later one wins, field by field. */
export function mergeInto(target: JsonObject, addition: JsonObject): void {
  const pending: Array<readonly [JsonObject, JsonObject]> = [[target, addition]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [to, from] = pair
    for (const key of Object.keys(from)) {
      const value = from[key]!
      const current = Object.hasOwn(to, key) ? to[key] : undefined
      if (isPlainObject(value) && isPlainObject(current)) pending.push([current, value])
      else setOwn(to, key, cloneJson(value))
    }
  }
}
