/**
 * What happened to each object since the dashboard was started: its state, its last change, its errors. Observer listener; bounded by the number of objects that
 * the operator watches. Read by the views.
 */

import { maskTextOf } from '../journal/mask.ts'
import type { KubeObject } from '../kube/objects.ts'
import { formatResource } from '../kube/resources/selectors.ts'
import type { ObservedObject, Observer } from '../observer.ts'
import type { Clock } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { ObjectState } from './protocol.ts'

export interface ObjectFailure {
  readonly handler: string | undefined
  readonly message: string
  readonly atMs: number
}

export interface ObjectFacts {
  readonly object: ObservedObject
  readonly changedAtMs: number | undefined
  /** Failed attempts. */
  readonly errors: number
  readonly lastFailure: ObjectFailure | undefined
  /** Handlers that have failed permanently since the object was last handled from the start. */
  readonly failed: ReadonlySet<string>
  /** Handlers that will be called again, with the time of the next attempt. */
  readonly retrying: ReadonlyMap<string, number>
  /** An unexpected error of the framework: the object is processed again later. */
  readonly isThrottled: boolean
  readonly isTooLarge: boolean
  readonly isDeleting: boolean
  /** When another field manager was last found to write the same fields of a child. */
  readonly contendedAtMs: number | undefined
}

interface FactsRecord extends ObjectFacts {
  object: ObservedObject
  changedAtMs: number | undefined
  errors: number
  lastFailure: ObjectFailure | undefined
  failed: Set<string>
  retrying: Map<string, number>
  isThrottled: boolean
  isTooLarge: boolean
  isDeleting: boolean
  contendedAtMs: number | undefined
  isQueued: boolean
  isProcessed: boolean
  isDeleted: boolean
}

const noIds: Set<string> = new Set()
const noTimes: Map<string, number> = new Map()

const maxMessageLength = 1000
/** The author of an object may cause any number of sub-handlers. */
const maxHandlersPerObject = 50

export interface ObjectFactsOptions {
  readonly clock: Clock
  readonly bodyOf: (object: ObservedObject) => KubeObject | undefined
}

export class AllObjectFacts {
  readonly #options: ObjectFactsOptions
  readonly #facts = new Map<string, FactsRecord>()
  /** Objects in other states than `handled`: the others need not be searched for problems. */
  readonly #urgent = new Set<FactsRecord>()

  constructor(options: ObjectFactsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#facts.size
  }

  /** Undefined for an object without events since the start. */
  of(object: Pick<ObservedObject, 'resource' | 'name' | 'namespace' | 'uid'>): ObjectFacts | undefined {
    return this.#facts.get(keyOf(object))
  }

  /** Objects that are not `handled`, or have a problem. */
  get urgent(): Iterable<ObjectFacts> {
    return this.#urgent
  }

  readonly listener: Observer = {
    eventReceived: ({ object, type }) => {
      const record = this.#recordOf(object)
      if (type !== null) record.changedAtMs = this.#nowMs
      record.isDeleted = type === 'DELETED'
      if (!record.isDeleted) record.object = object
    },
    stateObserved: ({ object, after }) => {
      this.#update(object, (record) => {
        record.isDeleting = after.metadata.deletionTimestamp !== undefined
      })
    },
    objectQueued: ({ object }) =>
      this.#update(object, (record) => {
        record.isQueued = true
      }),
    processingStarted: ({ object }) =>
      this.#update(object, (record) => {
        record.isQueued = false
        record.isProcessed = true
        record.isTooLarge = false
      }),
    decisionMade: ({ object, decision }) => {
      // The handlers begin with another change: what failed before does not count any more.
      if (decision.type === 'handle' && decision.reason === 'noop') return
      this.#update(object, (record) => {
        if (decision.type === 'ignore') record.retrying = noTimes
        if (decision.type === 'handle' && record.retrying.size === 0) record.failed = noIds
      })
    },
    processingFinished: ({ object, error }) => {
      this.#update(object, (record) => {
        record.isProcessed = false
        record.isThrottled = error !== undefined
        if (error !== undefined) this.#fail(record, undefined, error)
      })
      const record = this.#facts.get(keyOf(object))
      if (record?.isDeleted && !record.isQueued) this.#forget(record)
    },
    objectTooLarge: ({ object }) =>
      this.#update(object, (record) => {
        record.isTooLarge = true
      }),
    handlerStarted: ({ object, handler }) => {
      if (object === undefined) return
      const record = this.#facts.get(keyOf(object))
      if (record?.retrying.has(handler.id)) record.retrying.delete(handler.id)
    },
    handlerFinished: ({ object, handler, outcome, delayMs, error }) => {
      if (object === undefined) return
      this.#update(object, (record) => {
        if (error !== undefined && outcome !== 'succeeded' && outcome !== 'cancelled')
          this.#fail(record, handler.id, error)
        setMember(record, handler.id, outcome, this.#nowMs + (delayMs ?? 0))
      })
    },
    patchWritten: ({ object }) => {
      const record = this.#recordOf(object)
      record.changedAtMs = this.#nowMs
    },
    contentionFound: ({ owner }) =>
      this.#update(owner, (record) => {
        record.contendedAtMs = this.#nowMs
      }),
  }

  get #nowMs(): number {
    return this.#options.clock.now()
  }

  #recordOf(object: ObservedObject): FactsRecord {
    const key = keyOf(object)
    const known = this.#facts.get(key)
    if (known !== undefined) return known
    const record: FactsRecord = {
      object,
      changedAtMs: undefined,
      errors: 0,
      lastFailure: undefined,
      failed: noIds,
      retrying: noTimes,
      isThrottled: false,
      isTooLarge: false,
      isDeleting: false,
      contendedAtMs: undefined,
      isQueued: false,
      isProcessed: false,
      isDeleted: false,
    }
    this.#facts.set(key, record)
    return record
  }

  #update(object: ObservedObject, change: (record: FactsRecord) => void): void {
    const record = this.#recordOf(object)
    change(record)
    if (isUrgent(record)) this.#urgent.add(record)
    else this.#urgent.delete(record)
  }

  #fail(record: FactsRecord, handler: string | undefined, error: unknown): void {
    record.errors += 1
    const body = this.#options.bodyOf(record.object)
    record.lastFailure = {
      handler,
      message: maskTextOf(body, describeError(error), maxMessageLength),
      atMs: this.#nowMs,
    }
  }

  #forget(record: FactsRecord): void {
    this.#facts.delete(keyOf(record.object))
    this.#urgent.delete(record)
  }
}

function setMember(record: FactsRecord, id: string, outcome: string, dueMs: number): void {
  if (outcome === 'failed') {
    if (record.failed === noIds) record.failed = new Set()
    if (record.failed.size < maxHandlersPerObject) record.failed.add(id)
  } else if (record.failed.has(id)) record.failed.delete(id)
  if (outcome === 'retrying') {
    if (record.retrying === noTimes) record.retrying = new Map()
    if (record.retrying.size < maxHandlersPerObject) record.retrying.set(id, dueMs)
  } else if (record.retrying.has(id)) record.retrying.delete(id)
}

function isUrgent(record: FactsRecord): boolean {
  return stateOf(record) !== 'handled' || record.contendedAtMs !== undefined || record.isTooLarge
}

/** The state of an object, in the order of urgency. */
export function stateOf(facts: ObjectFacts | undefined): ObjectState {
  if (facts === undefined) return 'handled'
  const { failed, retrying, isThrottled, isTooLarge, isDeleting, isProcessed, isQueued } = facts as FactsRecord
  if (failed.size > 0 || isTooLarge) return 'failed'
  if (retrying.size > 0 || isThrottled) return 'retrying'
  if (isProcessed) return 'handling'
  if (isQueued) return 'waiting'
  return isDeleting ? 'deleting' : 'handled'
}

function keyOf({
  resource,
  namespace,
  name,
  uid,
}: Pick<ObservedObject, 'resource' | 'name' | 'namespace' | 'uid'>): string {
  return uid ?? `${formatResource(resource)} ${namespace ?? ''}/${name}`
}
