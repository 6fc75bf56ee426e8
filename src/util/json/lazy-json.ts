/**
 * Parses large JSON objects lazily: large members stay UTF-8 text outside of V8's heap until they are read, since parsed JSON takes up
 * to 29 times the memory of its text. The object is frozen, and the large members are getters. Small objects are parsed whole. Used for
 * objects of watches, lists and responses to writes. Why: docs/decisions/0035-large-objects-as-text.md.
 */
import { deepFreeze } from './deep-freeze.ts'
import { isPlainObject, setOwn } from './json.ts'
import { JsonScanner, type Span } from './json-scanner.ts'
import { parseJsonText, toJsonText } from './json-text.ts'
import { LazyMember } from './lazy-member.ts'

/** Objects with shorter texts are parsed whole: getters would cost more than they save. */
export const minLazyLength: number = 8 * 1024

/** Members with shorter texts are parsed at once. */
const minMemberLength = 1024

/** Each member has a fixed cost, as text or parsed. Built-in kinds have about ten members; an object with thousands is hostile. */
const maxMembers = 256

export interface Weight {
  /** Length of the whole text in UTF-8, including omitted members. */
  readonly bytes: number
  /** Estimated bytes of V8's heap while all members are parsed. */
  readonly cost: number
  /** The object has more than `maxMembers` members; further members were dropped. */
  readonly isCut: boolean
}

const noWeight: Weight = { bytes: 0, cost: 0, isCut: false }
const weights = new WeakMap<object, Weight>()
/** Lazy members by their getters, which copies of an object share. */
const lazyMembers = new WeakMap<() => unknown, LazyMember>()

export interface LazyOptions {
  /** Members of `metadata` to drop. */
  readonly omit?: readonly string[]
}

type LazyMembers = { [key: string]: unknown }

/** The size of a lazy object; zero for other objects. */
export function weightOf(object: object): Weight {
  return weights.get(object) ?? noWeight
}

/** An equal object without getters, for user code, which may print it. Objects that are not lazy are returned unchanged. */
export function toWhole<T extends object>(object: T): T {
  if (!weights.has(object)) return object
  const whole = { ...object } as LazyMembers
  if (isPlainObject(whole['metadata'])) whole['metadata'] = Object.freeze({ ...whole['metadata'] })
  return Object.freeze(whole) as T
}

/** `{ ...before, ...object, ...after }` without parsing: the copy of a lazy object is lazy. Undefined in `after` removes a member. */
export function copyWith<T extends object>(object: T, after: object, before: object = {}): T {
  const copy = Object.defineProperties({ ...before }, descriptorsOf(object, after))
  const weight = weights.get(object)
  if (weight === undefined) return copy as T
  weights.set(copy, weight)
  return Object.freeze(copy) as T
}

function descriptorsOf(object: object, after: object): PropertyDescriptorMap {
  const descriptors: PropertyDescriptorMap = Object.getOwnPropertyDescriptors(object)
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined) delete descriptors[key]
    else descriptors[key] = { value, writable: true, enumerable: true, configurable: true }
  }
  return descriptors
}

/** The lazy members of an object and of its metadata, by path. */
export function lazyMembersOf(object: object): ReadonlyMap<string, LazyMember> {
  const found = new Map<string, LazyMember>()
  if (!weights.has(object)) return found
  addLazyMembers(found, object, '')
  const { metadata } = object as { metadata?: unknown }
  if (isPlainObject(metadata)) addLazyMembers(found, metadata, 'metadata.')
  return found
}

function addLazyMembers(found: Map<string, LazyMember>, object: object, prefix: string): void {
  for (const key of Object.keys(object)) {
    const member = lazyMemberAt(object, key)
    if (member !== undefined) found.set(prefix + key, member)
  }
}

/** Undefined for a member that is not lazy. */
export function lazyMemberAt(object: object, key: string): LazyMember | undefined {
  const getter = Object.getOwnPropertyDescriptor(object, key)?.get
  return getter && lazyMembers.get(getter)
}

/** Members with the same text in both states share the memory of the text, and the parsed value while it exists. */
export function shareText(newer: object, older: object): void {
  if (!weights.has(newer) || newer === older) return
  const known = lazyMembersOf(older)
  for (const [path, member] of lazyMembersOf(newer)) {
    const before = known.get(path)
    if (before !== undefined) member.shareWith(before)
  }
}

/** A lazy object for a large value that is kept for long; small values are returned unchanged. */
export function toLazy<T extends object>(value: T): T {
  const text = toJsonText(value)
  return text.length < minLazyLength ? value : (parseObject(text) as T)
}

/** Parses one object. Throws SyntaxError if the text is not JSON. */
export function parseObject(text: string, options: LazyOptions = {}): unknown {
  const scanner = new JsonScanner(text)
  const object = readObject(text, scanner, options)
  if (object === undefined || !scanner.isAtEnd) throw notJson(text)
  return object
}

/** Parses a watch event: a large `object` is lazy, other members are parsed. */
export function parseEnvelope(text: string, options: LazyOptions = {}): unknown {
  return parseMembers(text, (scanner, key) =>
    key === 'object' ? readObject(text, scanner, options) : readValue(text, scanner.span()),
  )
}

/** Parses a list: each large object in `items` is lazy. */
export function parseList(text: string, options: LazyOptions = {}): unknown {
  return parseMembers(text, (scanner, key) =>
    key === 'items' && scanner.isAtArray ? readItems(text, scanner, options) : readValue(text, scanner.span()),
  )
}

/** `read` parses one member; it returns undefined for a syntax error. */
function parseMembers(text: string, read: (scanner: JsonScanner, key: string) => unknown): unknown {
  const scanner = new JsonScanner(text)
  if (!scanner.isAtObject) return parseJsonText(text)
  const members: LazyMembers = {}
  const isComplete = scanner.eachMember((key) => {
    const value = read(scanner, key)
    setOwn(members, key, value)
    return value !== undefined
  })
  if (!isComplete || !scanner.isAtEnd) throw notJson(text)
  return members
}

function readItems(text: string, scanner: JsonScanner, options: LazyOptions): unknown[] | undefined {
  const items: unknown[] = []
  const isComplete = scanner.eachItem(() => {
    const item = readObject(text, scanner, options)
    items.push(item)
    return item !== undefined
  })
  return isComplete ? items : undefined
}

function readValue(text: string, span: Span | undefined): unknown {
  return span && parseJsonText(text.slice(span.start, span.end))
}

/** The value at the position of the scanner; undefined for a syntax error. */
function readObject(text: string, scanner: JsonScanner, { omit = [] }: LazyOptions): unknown {
  if (!scanner.isAtObject) return readValue(text, scanner.span())
  const { position: start, cost: before } = scanner
  const spans = readSpans(scanner)
  if (spans === undefined) return undefined
  const source = text.slice(start, scanner.position)
  if (source.length < minLazyLength) return parseJsonText(source)
  const isCut = spans.size > maxMembers
  const members = toMembers(text, spans, (key, span) => {
    if (key !== 'metadata' || text[span.start] !== '{') return undefined
    const inner = readSpans(new JsonScanner(text, span.start))!
    for (const name of omit) inner.delete(name)
    for (const [name, { start: at }] of inner) if (text.startsWith('null', at)) inner.delete(name)
    return Object.freeze(toMembers(text, inner))
  })
  weights.set(members, { bytes: Buffer.byteLength(source), cost: scanner.cost - before, isCut })
  return Object.freeze(members)
}

/** The values of an object by key. The last of repeated keys counts. */
function readSpans(scanner: JsonScanner): Map<string, Span> | undefined {
  const spans = new Map<string, Span>()
  const isComplete = scanner.eachMember((key) => {
    const span = scanner.span()
    if (span !== undefined && (spans.size <= maxMembers || isRequired(key))) spans.set(key, span)
    return span !== undefined
  })
  return isComplete ? spans : undefined
}

/** Members that identify the object, and `status`, where problems are reported. They are kept even beyond `maxMembers`. */
function isRequired(key: string): boolean {
  return key === 'apiVersion' || key === 'kind' || key === 'metadata' || key === 'status'
}

function toMembers(text: string, spans: ReadonlyMap<string, Span>, special?: (key: string, span: Span) => unknown) {
  const members: LazyMembers = {}
  for (const [key, span] of spans) {
    const value = special?.(key, span)
    if (value !== undefined) members[key] = value
    else if (isKeptAsText(text, span)) defineLazy(members, key, text.slice(span.start, span.end))
    else setOwn(members, key, deepFreeze(readValue(text, span)))
  }
  return members
}

/** Only containers are kept as text: a parsed string takes about as much memory as its text. */
function isKeptAsText(text: string, { start, end }: Span): boolean {
  return end - start >= minMemberLength && text[start] !== '"'
}

function defineLazy(members: LazyMembers, key: string, text: string): void {
  const member = new LazyMember(text)
  const get = () => member.read()
  lazyMembers.set(get, member)
  Object.defineProperty(members, key, { get, enumerable: true, configurable: true })
}

/** The error does not contain the text, which may be of a Secret. */
function notJson(text: string): SyntaxError {
  return new SyntaxError(`A text of ${text.length} characters is not JSON`)
}
