/**
 * What the views say about an object beside its state (metrics/object-states.ts): its last change, its errors, the handlers that fail. Observer listener; bounded
 * by the number of objects that the operator watches.
 */

import { maskTextOf } from '../journal/mask.ts'
import type { KubeObject } from '../kube/objects.ts'
import { formatResource } from '../kube/resources/selectors.ts'
import type { ObservedObject, Observer } from '../observer.ts'
import type { Clock } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'

interface ObjectFailure {
  readonly handler: string | undefined
  readonly message: string
  readonly atMs: number
}

interface FailingHandler {
  /** When it is called again; undefined if it has failed permanently. */
  readonly nextAtMs: number | undefined
}

export interface ObjectRecord {
  readonly object: ObservedObject
  readonly changedAtMs: number | undefined
  /** Failed attempts. */
  readonly errors: number
  readonly lastFailure: ObjectFailure | undefined
  /** Handlers whose last attempt has failed since the object was handled, by id. */
  readonly failing: ReadonlyMap<string, FailingHandler>
  /** An unexpected error of the framework: the object is processed again later. */
  readonly isThrottled: boolean
  readonly isTooLarge: boolean
  /** When another field manager was last found to write the same fields of a child. */
  readonly contendedAtMs: number | undefined
}

type MutableRecord = { -readonly [K in keyof ObjectRecord]: ObjectRecord[K] }

const noHandlers: ReadonlyMap<string, FailingHandler> = new Map()

const maxMessageLength = 1000
/** The author of an object may cause any number of sub-handlers. */
const maxFailing = 50

export interface ObjectRecordsOptions {
  readonly clock: Clock
  readonly bodyOf: (object: ObservedObject) => KubeObject | undefined
}

export class ObjectRecords {
  readonly #options: ObjectRecordsOptions
  readonly #facts = new Map<string, MutableRecord>()
  /** Objects with a problem that does not show in their state. */
  readonly #contended = new Set<MutableRecord>()

  constructor(options: ObjectRecordsOptions) {
    this.#options = options
  }

  /** Undefined for an object without events since the start. */
  of(object: ObservedObject): ObjectRecord | undefined {
    return this.#facts.get(keyOf(object))
  }

  /** Objects whose children another field manager writes, too. */
  get contended(): Iterable<ObjectRecord> {
    return this.#contended
  }

  /** Called when nothing is left to do for the object. */
  settled(object: ObservedObject): void {
    const record = this.#facts.get(keyOf(object))
    if (record === undefined) return
    record.failing = noHandlers
    record.isThrottled = false
  }

  readonly listener: Observer = {
    eventReceived: ({ object, type }) => {
      const record = this.#recordOf(object)
      if (type !== null) record.changedAtMs = this.#nowMs
    },
    processingStarted: ({ object }) => {
      this.#recordOf(object).isTooLarge = false
    },
    processingFinished: ({ object, error }) => {
      const record = this.#recordOf(object)
      record.isThrottled = error !== undefined
      if (error !== undefined) this.#fail(record, undefined, error)
    },
    objectTooLarge: ({ object }) => {
      this.#recordOf(object).isTooLarge = true
    },
    handlerFinished: ({ object, handler, outcome, delayMs, error }) => {
      if (object === undefined || outcome === 'cancelled') return
      const record = this.#recordOf(object)
      const hasFailed = outcome === 'failed' || outcome === 'retrying'
      if (hasFailed) this.#fail(record, handler.id, error)
      if (!hasFailed && !record.failing.has(handler.id)) return
      const failing = new Map(record.failing)
      failing.delete(handler.id)
      const nextAtMs = delayMs === undefined ? undefined : this.#nowMs + delayMs
      if (hasFailed && failing.size < maxFailing) failing.set(handler.id, { nextAtMs })
      record.failing = failing.size === 0 ? noHandlers : failing
    },
    patchWritten: ({ object }) => {
      this.#recordOf(object).changedAtMs = this.#nowMs
    },
    contentionFound: ({ owner }) => {
      const record = this.#recordOf(owner)
      record.contendedAtMs = this.#nowMs
      this.#contended.add(record)
    },
    objectForgotten: ({ object }) => {
      const record = this.#facts.get(keyOf(object))
      if (record === undefined) return
      this.#facts.delete(keyOf(object))
      this.#contended.delete(record)
    },
  }

  get #nowMs(): number {
    return this.#options.clock.now()
  }

  #recordOf(object: ObservedObject): MutableRecord {
    const key = keyOf(object)
    const known = this.#facts.get(key)
    if (known !== undefined) return known
    const record: MutableRecord = {
      object,
      changedAtMs: undefined,
      errors: 0,
      lastFailure: undefined,
      failing: noHandlers,
      isThrottled: false,
      isTooLarge: false,
      contendedAtMs: undefined,
    }
    this.#facts.set(key, record)
    return record
  }

  #fail(record: MutableRecord, handler: string | undefined, error: unknown): void {
    record.errors += 1
    const body = this.#options.bodyOf(record.object)
    const message = maskTextOf(body, describeError(error), maxMessageLength)
    record.lastFailure = { handler, message, atMs: this.#nowMs }
  }
}

function keyOf({ resource, namespace, name, uid }: ObservedObject): string {
  return uid ?? `${formatResource(resource)} ${namespace ?? ''}/${name}`
}
