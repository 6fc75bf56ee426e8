/**
 * What a handler wants to be different: a merge patch that can be filled at once, stanza by stanza, and functions for
 * edits that depend on the current state. Made for each call; put together by compose.ts, sent by apply.ts.
 */
import type { JsonObject, KubeObject, ObjectMeta } from '../../kube/objects.ts'
import type { DeepReadonly, Primitive } from '../../util/deep-types.ts'
import { cloneJson, isDeepEqual } from '../../util/equality.ts'
import { isPlainObject, type Json, setOwn } from '../../util/json.ts'
import { ConcealedValue } from '../causation/concealed-value.ts'

/** The same shape, everything optional, null to delete. Lists are replaced as a whole, also by those of a body, which are read-only. */
type PatchOf<V> = V extends Primitive
  ? V
  : V extends readonly unknown[]
    ? DeepReadonly<V>
    : V extends object
      ? { [K in keyof V]?: PatchOf<V[K]> | null }
      : V

interface MetadataPatch extends Omit<PatchOf<ObjectMeta>, 'labels' | 'annotations'> {
  labels: Record<string, string | null>
  annotations: Record<string, string | null>
}

/** Edits the freshest body, possibly more than once when others write too: it must be idempotent. */
export type PatchFunction<T> = (body: T) => void

/**
 * What is to be different on the object: set fields of it, or null to take them away. Merged when the handler is done.
 */
export type Patch<T = KubeObject> = {
  [K in keyof T as K extends 'apiVersion' | 'kind' | 'metadata' ? never : K]-?: PatchOf<NonNullable<T[K]>>
} & {
  metadata: MetadataPatch
} & {
  /** Edits that depend on the current state, such as appending to a list. */
  readonly fns: PatchFunction<T>[]
  readonly isEmpty: boolean
}

const contents: unique symbol = Symbol.for('kopf.patch') as never

interface PatchContents {
  /** Stanzas that were looked at are here, also while they are empty. */
  readonly stanzas: { [key: string]: unknown }
  readonly fns: PatchFunction<never>[]
  /** What `takePatch` has returned so far. */
  taken?: { readonly merge: JsonObject; readonly fns: ReadonlySet<PatchFunction<never>> }
}

/** Looking into a stanza makes it, so that `patch.status.phase = …` needs no preparation. */
const traps: ProxyHandler<PatchContents> = {
  get(target, key) {
    if (key === contents) return target
    if (key === 'fns') return target.fns
    if (key === 'isEmpty') return isEmpty(target)
    // A patch that is awaited or printed must not grow stanzas called `then` or `toJSON`.
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

/** What was put into the patch, as plain JSON; empty stanzas that were only looked at are not in it. */
export function readPatch(patch: Patch<never>): { merge: JsonObject; fns: readonly PatchFunction<KubeObject>[] } {
  const { stanzas, fns } = contentsOf(patch)!
  const merge: JsonObject = {}
  for (const key of Object.keys(stanzas)) {
    const value = toPlainJson(stanzas[key])
    if (value === undefined || isHollow(key, value)) continue
    setOwn(merge, key, value)
  }
  return { merge, fns: fns as unknown as PatchFunction<KubeObject>[] }
}

/**
 * What was put into the patch since the last call of this function: a handler with sub-handlers hands its patch over in parts, so that
 * the sub-handlers see the part before them, and so that the later of two values of a field wins.
 */
export function takePatch(patch: Patch<never>): { merge: JsonObject; fns: readonly PatchFunction<KubeObject>[] } {
  const contents = contentsOf(patch)!
  const { merge, fns } = readPatch(patch)
  const { taken } = contents
  contents.taken = { merge: cloneJson(merge), fns: new Set(contents.fns) }
  if (taken === undefined) return { merge, fns }
  return { merge: withoutSame(merge, taken.merge), fns: fns.filter((fn) => !taken.fns.has(fn as never)) }
}

/** The fields of a patch that are not in an earlier state of it, or have another value there. */
function withoutSame(merge: JsonObject, earlier: JsonObject): JsonObject {
  const root: Stanza = { into: {} }
  const pending: Array<readonly [JsonObject, JsonObject, Stanza]> = [[merge, earlier, root]]
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

/** An object in the result of `withoutSame`; made with the first field that belongs into it. */
interface Stanza {
  readonly parent?: Stanza
  readonly key?: string
  into?: JsonObject
}

function toFields(stanza: Stanza): JsonObject {
  const missing: Stanza[] = []
  let next = stanza
  for (; next.into === undefined; next = next.parent!) missing.push(next)
  for (const one of missing.reverse()) {
    one.into = {}
    setOwn(one.parent!.into!, one.key!, one.into)
  }
  return stanza.into!
}

/** Merges what was gathered elsewhere into what is there already. */
export function addToPatch(patch: object, merge: JsonObject): void {
  mergeInto((contentsOf(patch)?.stanzas ?? patch) as JsonObject, merge)
}

/** Undefined where somebody gave a handler something else for a patch: in a test of their own. */
function contentsOf(patch: object): PatchContents | undefined {
  return (patch as { [contents]?: PatchContents })[contents]
}

function isEmpty({ stanzas, fns }: PatchContents): boolean {
  if (fns.length > 0) return false
  return Object.keys(stanzas).every((key) => {
    const value = toPlainJson(stanzas[key])
    return value === undefined || isHollow(key, value)
  })
}

function emptyStanza(key: string): JsonObject {
  return key === 'metadata' ? { labels: {}, annotations: {} } : {}
}

/** Assigning a stanza as a whole merges it into what is there already. */
function assign(stanzas: { [key: string]: unknown }, key: string, value: unknown): void {
  const current = Object.hasOwn(stanzas, key) ? stanzas[key] : emptyStanza(key)
  if (!isPlainObject(value) || !isPlainObject(current)) {
    setOwn(stanzas, key, value)
    return
  }
  for (const inner of Object.keys(value)) setOwn(current, inner, value[inner]!)
  setOwn(stanzas, key, current)
}

/** Nothing in it but the empty labels and annotations that looking at the metadata makes. */
function isHollow(key: string, value: Json): boolean {
  if (!isPlainObject(value)) return false
  if (key !== 'metadata') return Object.keys(value).length === 0
  for (const inner of ['labels', 'annotations']) {
    const map = value[inner]
    if (isPlainObject(map) && Object.keys(map).length === 0) delete value[inner]
  }
  return Object.keys(value).length === 0
}

/** Plain JSON of what a user gave us; undefined where there is nothing. Throws a TypeError that names what JSON cannot hold. */
export function toPlainJson(value: unknown): Json | undefined {
  const holder: { [key: string]: unknown } = {}
  const copying: Copying = { pending: [], open: new Set() }
  place(value, (json) => setOwn(holder, 'value', json), copying)
  for (let next = copying.pending.pop(); next !== undefined; next = copying.pending.pop()) next()
  return holder['value'] as Json | undefined
}

interface Copying {
  /** What is still to be done, the next last. */
  readonly pending: Array<() => void>
  /** The containers on the way from the root to the value at hand. */
  readonly open: Set<object>
}

function place(source: unknown, put: (json: unknown) => void, copying: Copying): void {
  if (source instanceof ConcealedValue) {
    throw new TypeError(
      'The old value of a Secret is concealed and cannot be written; take the present value from "body"',
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
    if (copying.open.has(value)) throw new TypeError('JSON cannot hold an object that contains itself')
    const copy: unknown = Array.isArray(value) ? [] : {}
    put(copy)
    copying.pending.push(() => fill(value, copy, copying))
  } else {
    throw new TypeError(`JSON cannot hold a ${typeof value}`)
  }
}

function fill(from: object, to: unknown, copying: Copying): void {
  copying.open.add(from)
  // Done after all that is inside: the last in is the first out.
  copying.pending.push(() => copying.open.delete(from))
  if (Array.isArray(from)) {
    const items = to as unknown[]
    from.forEach((item, index) => {
      items[index] = null
      place(item, (json) => (items[index] = json), copying)
    })
    return
  }
  const fields = from instanceof Map ? Object.fromEntries(from) : (from as { [key: string]: unknown })
  for (const key of Object.keys(fields)) {
    place(fields[key], (json) => setOwn(to as { [key: string]: unknown }, key, json), copying)
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
