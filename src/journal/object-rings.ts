/**
 * A bounded number of entries per object, and a bounded number of bytes for all objects together. The journal and the log lines of the dashboard are kept in
 * it. Beyond the limit of bytes, the oldest entries of the objects that were touched least recently are dropped; the numbers of dropped entries are kept.
 */

export interface RingLimits {
  readonly entriesPerObject: number
  readonly maxBytes: number
}

/** The entries of one object, oldest first, and the number of its entries that were dropped. */
export interface ObjectEntries<E> {
  readonly entries: readonly E[]
  readonly dropped: number
}

interface SizedEntry<E> {
  value: E
  bytes: number
}

interface Ring<E> {
  readonly entries: SizedEntry<E>[]
  /** The position of the oldest entry: the places before it are free, and are removed when they are half of the list. */
  head: number
  dropped: number
}

/** The estimated size of a ring without entries: its key, its list and its place in the map. */
const ringBytes = 300

/** Objects whose entries were all dropped, and whose numbers of dropped entries are still known. */
const maxEmptied = 1000

/** Deleted objects whose entries are kept. */
const maxDeleted = 1000

const nothing: ObjectEntries<never> = { entries: [], dropped: 0 }

export class ObjectRings<E extends object> {
  readonly #limits: RingLimits
  /** In the order of the last touch, least recent first. */
  readonly #rings = new Map<string, Ring<E>>()
  readonly #emptied = new Map<string, number>()
  readonly #deleted = new Set<string>()
  #bytes = 0

  constructor(limits: RingLimits) {
    this.#limits = limits
  }

  /** The estimated bytes of all entries. */
  get bytes(): number {
    return this.#bytes
  }

  /** The number of objects with entries. */
  get size(): number {
    return this.#rings.size
  }

  add(key: string, value: E): void {
    const ring = this.#touch(key)
    const bytes = estimateBytes(value)
    ring.entries.push({ value, bytes })
    this.#bytes += bytes
    if (ring.entries.length - ring.head > this.#limits.entriesPerObject) this.#dropOldest(ring)
    this.#shrink()
  }

  /** Replaces an entry, for example when a handler that was running has finished. Adds the new one if the old one was dropped. */
  replace(key: string, old: E, value: E): void {
    const ring = this.#rings.get(key)
    // The entry is among the last ones: only what happened since was added after it.
    const index = ring?.entries.findLastIndex((entry) => entry?.value === old) ?? -1
    if (ring === undefined || index < ring.head) {
      this.add(key, value)
      return
    }
    const entry = ring.entries[index]!
    this.#bytes -= entry.bytes
    entry.value = value
    entry.bytes = estimateBytes(value)
    this.#bytes += entry.bytes
    this.#shrink()
  }

  read(key: string): ObjectEntries<E> {
    const ring = this.#rings.get(key)
    if (ring === undefined) {
      const dropped = this.#emptied.get(key)
      return dropped === undefined ? nothing : { entries: [], dropped }
    }
    return { entries: ring.entries.slice(ring.head).map(({ value }) => value), dropped: ring.dropped }
  }

  /** The newest entry for which the function returns true, among the last `count`. */
  findLast(key: string, count: number, isFound: (value: E) => boolean): E | undefined {
    const ring = this.#rings.get(key)
    if (ring === undefined) return undefined
    const end = Math.max(ring.head, ring.entries.length - count)
    for (let index = ring.entries.length - 1; index >= end; index -= 1) {
      const { value } = ring.entries[index]!
      if (isFound(value)) return value
    }
    return undefined
  }

  /** The object was deleted: its entries stay until as many others were deleted after it. */
  markDeleted(key: string): void {
    this.#deleted.delete(key)
    this.#deleted.add(key)
    if (this.#deleted.size <= maxDeleted) return
    const [oldest] = this.#deleted
    this.#deleted.delete(oldest!)
    this.#forget(oldest!)
  }

  #touch(key: string): Ring<E> {
    this.#deleted.delete(key)
    const known = this.#rings.get(key)
    if (known !== undefined) {
      this.#rings.delete(key)
      this.#rings.set(key, known)
      return known
    }
    const ring: Ring<E> = { entries: [], head: 0, dropped: this.#emptied.get(key) ?? 0 }
    this.#emptied.delete(key)
    this.#rings.set(key, ring)
    this.#bytes += ringBytes + 2 * key.length
    return ring
  }

  #shrink(): void {
    while (this.#bytes > this.#limits.maxBytes && this.#rings.size > 0) {
      const [key, ring] = this.#rings.entries().next().value!
      if (ring.head < ring.entries.length) this.#dropOldest(ring)
      if (ring.head >= ring.entries.length) this.#empty(key, ring)
    }
  }

  #dropOldest(ring: Ring<E>): void {
    this.#bytes -= ring.entries[ring.head]!.bytes
    // The place is freed at once, so that the entry can be collected.
    ring.entries[ring.head] = undefined as never
    ring.head += 1
    ring.dropped += 1
    if (ring.head * 2 > ring.entries.length) {
      ring.entries.splice(0, ring.head)
      ring.head = 0
    }
  }

  #empty(key: string, ring: Ring<E>): void {
    this.#rings.delete(key)
    this.#bytes -= ringBytes + 2 * key.length
    this.#emptied.set(key, ring.dropped)
    if (this.#emptied.size <= maxEmptied) return
    const [oldest] = this.#emptied.keys()
    this.#emptied.delete(oldest!)
  }

  #forget(key: string): void {
    this.#emptied.delete(key)
    const ring = this.#rings.get(key)
    if (ring === undefined) return
    for (let index = ring.head; index < ring.entries.length; index += 1) this.#bytes -= ring.entries[index]!.bytes
    this.#rings.delete(key)
    this.#bytes -= ringBytes + 2 * key.length
  }
}

/** The memory of plain data: two bytes per character, and a fixed size per value. */
function estimateBytes(value: unknown): number {
  let bytes = 0
  const pending: unknown[] = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    bytes += 16
    if (typeof next === 'string') bytes += 2 * next.length + 16
    else if (typeof next === 'object' && next !== null) {
      bytes += 32
      for (const inner of Object.values(next)) pending.push(inner)
    }
  }
  return bytes
}
