/**
 * JSON patches and merge patches as the real API server's library applies them (gopkg.in/evanphx/json-patch.v4), which is
 * not quite as the standards have it; util/merge-patch.ts is. Where it deviates:
 *
 * - `add`, `remove`, `move` and `copy` cannot address the whole document; `test` and `replace` can.
 * - What stands before the first slash of a path is ignored: `x/a` is `/a`.
 * - Indices may be negative, counted from the end, and may have a sign or leading zeros.
 * - `replace` of a missing key adds it; `copy` of a missing key and `add` without a value add null.
 * - `test` of a missing key for null, or without a value, passes.
 * - Copies are limited to 3 MiB in all: a handful of operations could otherwise double a document for ever.
 * - A merge patch loses the nulls of objects in its lists too, unless the list replaces an object.
 *
 * One deviation is not followed: there, `test` compares scalars as they are written, so 1.0 is not 1.
 */
import { cloneJson, isDeepEqual } from '../util/equality.ts'
import { getOwn, isContainer, isPlainObject, type Json, type JsonContainer, setOwn } from '../util/json.ts'
import { toJsonText } from '../util/json-text.ts'

/** The operation does not apply. No details: the answer of the server does not give any. */
export class PatchFailure extends Error {}

/** An operation as it is read: nothing is certain but that it is an object. */
export type PatchOperation = { readonly [member: string]: Json }

const maxCopyBytes = 3 * 1024 * 1024

/** The patched document; the one that was given is not changed. */
export function applyJsonOperations(document: Json, operations: readonly PatchOperation[]): Json {
  const state = { root: cloneJson(document), copiedBytes: 0 }
  for (const operation of operations) applyOperation(state, operation)
  return state.root
}

interface State {
  root: Json
  copiedBytes: number
}

function applyOperation(state: State, operation: PatchOperation): void {
  const path = getOwn(operation, 'path')
  if (typeof path !== 'string') throw new PatchFailure()
  const value = cloneJson(getOwn(operation, 'value') ?? null)
  switch (getOwn(operation, 'op')) {
    case 'add':
      add(locate(state.root, path), value)
      break
    case 'remove':
      remove(locate(state.root, path))
      break
    case 'replace':
      replace(state, path, value)
      break
    case 'test':
      if (!isDeepEqual(path === '' ? state.root : get(locate(state.root, path)), value)) throw new PatchFailure()
      break
    case 'move':
      move(state, operation, path)
      break
    case 'copy':
      copy(state, operation, path)
      break
    default:
      throw new PatchFailure()
  }
}

function replace(state: State, path: string, value: Json): void {
  if (path === '') {
    if (!isContainer(value)) throw new PatchFailure()
    state.root = value
    return
  }
  const { container, key } = locate(state.root, path)
  if (Array.isArray(container)) container[indexOf(key, container.length)] = value
  else setOwn(container, key, value)
}

function move(state: State, operation: PatchOperation, path: string): void {
  const source = locate(state.root, readFrom(operation))
  const value = get(source)
  remove(source)
  add(locate(state.root, path), value)
}

function copy(state: State, operation: PatchOperation, path: string): void {
  const value = get(locate(state.root, readFrom(operation)))
  const target = locate(state.root, path)
  state.copiedBytes += countBytes(value, maxCopyBytes - state.copiedBytes)
  if (state.copiedBytes > maxCopyBytes) throw new PatchFailure()
  add(target, cloneJson(value))
}

function readFrom(operation: PatchOperation): string {
  const from = getOwn(operation, 'from')
  if (typeof from !== 'string') throw new PatchFailure()
  return from
}

interface Location {
  readonly container: JsonContainer
  readonly key: string
}

function locate(root: Json, path: string): Location {
  const [, ...tokens] = path.split('/').map(decodeToken)
  const key = tokens.pop()
  if (key === undefined) throw new PatchFailure()
  let container = root
  for (const token of tokens) {
    if (!isContainer(container)) throw new PatchFailure()
    container = get({ container, key: token })
  }
  if (!isContainer(container)) throw new PatchFailure()
  return { container, key }
}

/** In one go from left to right, as the library does, and with no complaint about a tilde before anything else. */
function decodeToken(token: string): string {
  return token.replaceAll(/~[01]/g, (pair) => (pair === '~1' ? '/' : '~'))
}

function get({ container, key }: Location): Json {
  if (Array.isArray(container)) return container[indexOf(key, container.length)]!
  return getOwn(container, key) ?? null
}

function add({ container, key }: Location, value: Json): void {
  if (Array.isArray(container)) {
    const index = key === '-' ? container.length : indexOf(key, container.length + 1)
    container.splice(index, 0, value)
  } else {
    setOwn(container, key, value)
  }
}

function remove({ container, key }: Location): void {
  if (Array.isArray(container)) {
    container.splice(indexOf(key, container.length), 1)
  } else {
    if (!Object.hasOwn(container, key)) throw new PatchFailure()
    delete container[key]
  }
}

function indexOf(key: string, length: number): number {
  if (!/^[+-]?[0-9]+$/.test(key)) throw new PatchFailure()
  const number = Number(key)
  const index = number < 0 ? number + length : number
  if (index < 0 || index >= length) throw new PatchFailure()
  return index
}

/** About the length of the value as JSON; stops counting past the limit. */
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

type Fields = { [key: string]: Json }

/** The merged document; neither argument is changed, but what the patch does not mention is shared with the document. */
export function applyMerge(document: Fields, patch: Fields): Fields {
  const result = { ...document }
  const pending: Array<[Fields, Fields]> = [[result, cloneJson(patch)]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [fields, changes] = pair
    for (const key of Object.keys(changes)) {
      const change = changes[key]!
      const current = getOwn(fields, key)
      if (change === null) {
        delete fields[key]
      } else if (isPlainObject(current)) {
        const merged = isPlainObject(change) ? { ...current } : change
        if (isPlainObject(change)) pending.push([merged as Fields, change])
        setOwn(fields, key, merged)
      } else {
        dropNulls(change)
        setOwn(fields, key, change)
      }
    }
  }
  return result
}

/** Removes the keys with null from all objects in the value, however deep. Nulls in lists stay. */
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
