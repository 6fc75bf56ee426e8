/**
 * CEL values: booleans, strings and null are JavaScript's, `int` is a bigint, `double` a number, `bytes` a Uint8Array; all
 * other types are classes in this file. Values of objects with a schema are in schema-values.ts.
 */
import { fail } from './failures.ts'

export class Uint {
  readonly value: bigint
  constructor(value: bigint) {
    this.value = value
  }
}

/** Nanoseconds since 1970 in UTC, and the offset of the original zone in seconds. */
export class Timestamp {
  readonly nanos: bigint
  readonly offset: number
  constructor(nanos: bigint, offset = 0) {
    this.nanos = nanos
    this.offset = offset
  }
}

export class CelDuration {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

export class TypeValue {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

export class Optional {
  static readonly none: Optional = new Optional(undefined)
  readonly value: CelValue | undefined
  constructor(value: CelValue | undefined) {
    this.value = value
  }
}

/** Types of libraries: addresses, quantities, versions. */
export abstract class Opaque {
  abstract readonly typeName: string
  abstract equals(other: Opaque): boolean
  /** Size for the cost calculation. */
  get size(): number {
    return 1
  }
}

export abstract class CelList {
  abstract readonly size: number
  abstract at(index: number): CelValue
  abstract toArray(): readonly CelValue[]
  /** The `+` operator; some lists of schemas implement it as a merge. */
  add(other: CelList): CelList {
    if (other.size === 0) return this
    return this.size === 0 ? other : new JoinedList(this, other)
  }
}

/** Comprehensions append to their accumulator with `push`; no other code holds that list yet. */
export class ArrayList extends CelList {
  readonly #items: CelValue[]

  constructor(items: CelValue[]) {
    super()
    this.#items = items
  }

  get size(): number {
    return this.#items.length
  }

  at(index: number): CelValue {
    return this.#items[index]!
  }

  toArray(): readonly CelValue[] {
    return this.#items
  }

  push(items: readonly CelValue[]): void {
    for (const item of items) this.#items.push(item)
  }
}

/** Concatenation costs nothing in cel-go, so elements are copied only on access. */
class JoinedList extends CelList {
  readonly size: number
  #parts: readonly [CelList, CelList] | undefined
  #items: CelValue[] | undefined

  constructor(left: CelList, right: CelList) {
    super()
    this.#parts = [left, right]
    this.size = left.size + right.size
  }

  at(index: number): CelValue {
    return this.toArray()[index]!
  }

  toArray(): readonly CelValue[] {
    this.#items ??= this.#flatten()
    return this.#items
  }

  /** Iterative, since a list may be concatenated ten thousand times. */
  #flatten(): CelValue[] {
    const items: CelValue[] = []
    const stack: CelList[] = [...this.#parts!].reverse()
    while (stack.length > 0) {
      const list = stack.pop()!
      if (list instanceof JoinedList && !list.#items) stack.push(list.#parts![1], list.#parts![0])
      else for (const item of list.toArray()) items.push(item)
    }
    this.#parts = undefined
    return items
  }
}

export abstract class CelMap {
  abstract readonly size: number
  /** Undefined if the key does not exist. */
  abstract find(key: CelValue): CelValue | undefined
  abstract keys(): readonly CelValue[]
}

/** Numbers of all types are the same key: 1, 1u, 1.0. */
function keyOf(key: CelValue): string | bigint | number | boolean | undefined {
  if (typeof key === 'string') return key
  if (typeof key === 'bigint' || typeof key === 'boolean') return key
  if (key instanceof Uint) return key.value
  if (typeof key === 'number') return Number.isInteger(key) ? BigInt(key) : key
  return undefined
}

export class HashMap extends CelMap {
  readonly #entries = new Map<string | bigint | number | boolean, readonly [CelValue, CelValue]>()

  get size(): number {
    return this.#entries.size
  }

  /** False if the key already exists. */
  set(key: CelValue, value: CelValue): boolean {
    const own = keyOf(key)
    if (own === undefined || typeof own === 'number') return fail(`unsupported key type: ${typeNameOf(key)}`)
    const isNew = !this.#entries.has(own)
    this.#entries.set(own, [key, value])
    return isNew
  }

  delete(key: CelValue): void {
    this.#entries.delete(keyOf(key)!)
  }

  find(key: CelValue): CelValue | undefined {
    const own = keyOf(key)
    return own === undefined ? undefined : this.#entries.get(own)?.[1]
  }

  keys(): readonly CelValue[] {
    return [...this.#entries.values()].map(([key]) => key)
  }
}

export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | CelDuration
  | TypeValue
  | Optional
  | Opaque
  | CelList
  | CelMap

/** The type name that `type()` returns. */
export function typeNameOf(value: CelValue): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return 'double'
    case 'string':
      return 'string'
  }
  if (value === null) return 'null_type'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof Uint) return 'uint'
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp'
  if (value instanceof CelDuration) return 'google.protobuf.Duration'
  if (value instanceof TypeValue) return 'type'
  if (value instanceof Optional) return 'optional_type'
  if (value instanceof CelList) return 'list'
  return value instanceof CelMap ? 'map' : value.typeName
}
