/**
 * JSON patches and merge patches as kube-apiserver's library applies them (gopkg.in/evanphx/json-patch.v4), which deviates from the
 * standards; util/merge-patch.ts follows them. The deviations:
 *
 * - `add`, `remove`, `move` and `copy` cannot address the whole document; `test` and `replace` can.
 * - Text before the first slash of a path is ignored: `x/a` is `/a`.
 * - Indices may be negative, counted from the end, and may have a sign or leading zeros.
 * - `replace` of a missing key adds it; `copy` of a missing key and `add` without a value add null.
 * - `test` of a missing key for null, or without a value, passes.
 * - Copies are limited to 3 MiB in total: a few operations could otherwise double a document again and again.
 * - A merge patch also removes nulls from objects in its lists, unless the list replaces an object.
 *
 * One deviation is not followed: the library's `test` compares scalars as written, so that 1.0 differs from 1.
 */
import type { JsonObject } from '../kube/objects.ts'
import { cloneJson, isDeepEqual } from '../util/json/deep-equal.ts'
import { getOwn, isContainer, isPlainObject, type Json, type JsonContainer, setOwn } from '../util/json/json.ts'
import { toJsonText } from '../util/json/json-text.ts'

/** The operation does not apply. Clients do not see the message; it is used for patches of webhooks. */
export class PatchFailure extends Error {}

/** An operation as parsed: any object. */
export type PatchOperation = { readonly [member: string]: Json }

const maxCopyBytes = 3 * 1024 * 1024

/** Returns the patched document; the given one is not modified. */
export function applyJsonOperations(document: Json, operations: readonly PatchOperation[]): Json {
  const state = { root: cloneJson(document), copiedBytes: 0 }
  for (const operation of operations) applyOperation(state, operation)
  return state.root
}

interface PatchState {
  root: Json
  copiedBytes: number
}

function applyOperation(state: PatchState, operation: PatchOperation): void {
  const op = getOwn(operation, 'op')
  const apply = typeof op === 'string' && Object.hasOwn(operations, op) ? operations[op] : undefined
  if (apply === undefined) throw new PatchFailure(`Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`)
  apply(state, operation)
}

type ApplyOperation = (state: PatchState, operation: PatchOperation) => void

const operations: Readonly<Record<string, ApplyOperation>> = {
  add: applyAdd,
  remove: applyRemove,
  replace,
  test,
  move,
  copy,
}

function applyAdd({ root }: PatchState, operation: PatchOperation): void {
  const path = readPointer(operation, 'path', 'add operation failed to decode path')
  const location = locate(root, path, `add operation does not apply: doc is missing path: "${path}"`)
  withContext(`error in add for path: '${path}'`, () => add(location, valueIn(operation)))
}

function applyRemove({ root }: PatchState, operation: PatchOperation): void {
  const path = readPointer(operation, 'path', 'remove operation failed to decode path')
  const location = locate(root, path, `remove operation does not apply: doc is missing path: "${path}"`)
  withContext(`error in remove for path: '${path}'`, () => remove(location))
}

function replace(state: PatchState, operation: PatchOperation): void {
  const path = readPointer(operation, 'path', `replace operation failed to decode path: ${noPath}`)
  const value = valueIn(operation)
  if (path === '') {
    // The library's own formatting error.
    if (!isContainer(value)) throw new PatchFailure('replace operation value must be object or array: %!w(<nil>)')
    state.root = value
    return
  }
  const { container, key } = locate(state.root, path, `replace operation does not apply: doc is missing path: ${path}`)
  if (!Array.isArray(container)) {
    setOwn(container, key, value)
    return
  }
  const index = tryIndex(key, container.length)
  if (index === undefined) throw missing(`replace operation does not apply: doc is missing key: ${path}`)
  container[index] = value
}

function test({ root }: PatchState, operation: PatchOperation): void {
  const path = readPointer(operation, 'path', `test operation failed to decode path: ${noPath}`)
  const found = path === '' ? root : valueAt(root, path)
  if (!isDeepEqual(found, valueIn(operation))) throw new PatchFailure(`testing value ${path} failed: test failed`)
}

function valueAt(root: Json, path: string): Json {
  const location = locate(root, path, `test operation does not apply: is missing path: ${path}`)
  return withContext(`error in test for path: '${path}'`, () => get(location))
}

function move({ root }: PatchState, operation: PatchOperation): void {
  const from = readPointer(operation, 'from', `move operation failed to decode from: ${noFrom}`)
  const source = locate(root, from, `move operation does not apply: doc is missing from path: ${from}`)
  const value = withContext(`error in move for path: '${source.key}'`, () => {
    const found = get(source)
    remove(source)
    return found
  })
  const path = readPointer(operation, 'path', `move operation failed to decode path: ${noPath}`)
  const target = locate(root, path, `move operation does not apply: doc is missing destination path: ${path}`)
  withContext(`error in move for path: '${path}'`, () => add(target, value))
}

function copy(state: PatchState, operation: PatchOperation): void {
  const from = readPointer(operation, 'from', `copy operation failed to decode from: ${noFrom}`)
  const source = locate(state.root, from, `copy operation does not apply: doc is missing from path: ${from}`)
  const value = withContext(`error in copy for from: '${from}'`, () => get(source))
  const path = readPointer(operation, 'path', 'copy operation failed to decode path')
  const target = locate(state.root, path, `copy operation does not apply: doc is missing destination path: ${path}`)
  state.copiedBytes += countBytes(value, maxCopyBytes - state.copiedBytes)
  if (state.copiedBytes > maxCopyBytes) throw new PatchFailure(`copies of more than ${maxCopyBytes} bytes in all`)
  withContext('error while adding value during copy', () => add(target, cloneJson(value)))
}

const noPath = 'operation missing path field'
const noFrom = 'operation, missing from field'

function missing(what: string): PatchFailure {
  return new PatchFailure(`${what}: missing value`)
}

function withContext<T>(where: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof PatchFailure ? new PatchFailure(`${where}: ${error.message}`) : error
  }
}

function valueIn(operation: PatchOperation): Json {
  return cloneJson(getOwn(operation, 'value') ?? null)
}

function readPointer(operation: PatchOperation, member: 'path' | 'from', complaint: string): string {
  const pointer = getOwn(operation, member)
  if (typeof pointer !== 'string') throw missing(complaint)
  return pointer
}

interface Location {
  readonly container: JsonContainer
  readonly key: string
}

/** `complaint` is the error if a container on the path is missing. The callers check the last key. */
function locate(root: Json, path: string, complaint: string): Location {
  const [, ...tokens] = path.split('/').map(decodeToken)
  const key = tokens.pop()
  let container: Json | undefined = root
  for (const token of tokens) container = isContainer(container) ? step(container, token) : undefined
  if (key === undefined || !isContainer(container)) throw missing(complaint)
  return { container, key }
}

function step(container: JsonContainer, token: string): Json | undefined {
  if (!Array.isArray(container)) return getOwn(container, token)
  const index = tryIndex(token, container.length)
  return index === undefined ? undefined : container[index]
}

/** Decodes in one pass from left to right, like the library; a lone tilde is not an error. */
function decodeToken(token: string): string {
  return token.replaceAll(/~[01]/g, (pair) => (pair === '~1' ? '/' : '~'))
}

function get({ container, key }: Location): Json {
  if (Array.isArray(container)) return container[indexOf(key, container.length)]!
  return getOwn(container, key) ?? null
}

function add({ container, key }: Location, value: Json): void {
  if (!Array.isArray(container)) {
    setOwn(container, key, value)
  } else if (key === '-') {
    container.push(value)
  } else {
    const index = isIndex(key)
      ? indexOf(key, container.length + 1)
      : withContext(`value was not a proper array index: '${key}'`, () => indexOf(key, 0))
    container.splice(index, 0, value)
  }
}

function remove({ container, key }: Location): void {
  if (Array.isArray(container)) {
    container.splice(indexOf(key, container.length), 1)
  } else {
    if (!Object.hasOwn(container, key)) throw missing(`Unable to remove nonexistent key: ${key}`)
    delete container[key]
  }
}

function isIndex(key: string): boolean {
  return /^[+-]?[0-9]+$/.test(key)
}

function tryIndex(key: string, length: number): number | undefined {
  if (!isIndex(key)) return undefined
  const number = Number(key)
  const index = number < 0 ? number + length : number
  return index < 0 || index >= length ? undefined : index
}

function indexOf(key: string, length: number): number {
  if (!isIndex(key)) throw new PatchFailure(`strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`)
  const index = tryIndex(key, length)
  if (index === undefined) {
    throw new PatchFailure(`Unable to access invalid index: ${Number(key)}: invalid index referenced`)
  }
  return index
}

/** The approximate length of the value as JSON; stops counting beyond the limit. */
function countBytes(value: Json, limit: number): number {
  let bytes = 0
  const pending: Json[] = [value]
  while (pending.length > 0 && bytes <= limit) {
    const next = pending.pop()!
    if (Array.isArray(next)) {
      bytes += 2 + Math.max(0, next.length - 1)
      for (const item of next) pending.push(item)
    } else if (isPlainObject(next)) {
      const keys = Object.keys(next)
      bytes += 2 + Math.max(0, keys.length - 1)
      for (const key of keys) {
        bytes += Buffer.byteLength(JSON.stringify(key)) + 1
        pending.push(next[key]!)
      }
    } else {
      bytes += Buffer.byteLength(toJsonText(next))
    }
  }
  return bytes
}

/** Returns the merged document; neither argument is modified, but unchanged parts are shared with the document. */
export function applyMerge(document: JsonObject, patch: JsonObject): JsonObject {
  const result = { ...document }
  const pending: Array<[JsonObject, JsonObject]> = [[result, cloneJson(patch)]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [fields, changes] = pair
    for (const key of Object.keys(changes)) {
      const change = changes[key]!
      const current = getOwn(fields, key)
      if (change === null) {
        delete fields[key]
      } else if (isPlainObject(current)) {
        const merged = isPlainObject(change) ? { ...current } : change
        if (isPlainObject(change)) pending.push([merged as JsonObject, change])
        setOwn(fields, key, merged)
      } else {
        dropNulls(change)
        setOwn(fields, key, change)
      }
    }
  }
  return result
}

/** Removes keys with null from all objects in the value, at any depth. Nulls in lists stay. */
function dropNulls(value: Json): void {
  const pending: Json[] = [value]
  while (pending.length > 0) {
    const next = pending.pop()!
    if (Array.isArray(next)) {
      for (const item of next) pending.push(item)
    } else if (isPlainObject(next)) {
      for (const key of Object.keys(next)) {
        if (next[key] === null) delete next[key]
        else pending.push(next[key]!)
      }
    }
  }
}
