/**
 * The journal: what happened to each object in this run, as an Observer listener. Bounded in entries and bytes, without secrets, and only in memory. Created by
 * run/bootstrap.ts if `settings.journal` is on; read by the dashboard.
 */
import { describeDecision } from '../causation/describe-decision.ts'
import type { KubeObject } from '../kube/objects.ts'
import { formatGroupVersion } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource } from '../kube/resources/selectors.ts'
import type { ObservedHandler, ObservedObject, Observer } from '../observer.ts'
import type { Clock } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { ActionName, JournalContent, JournalEntry, ObjectRef } from './entries.ts'
import { compareStates, noChanges } from './field-changes.ts'
import { maskTextOf } from './mask.ts'
import { type ObjectEntries, ObjectRings, type RingLimits } from './object-rings.ts'
import { compareWrites, isFinalizerOnly } from './written-changes.ts'

export interface JournalOptions extends RingLimits {
  readonly clock: Clock
  /** The known state of an object, whose secrets its errors and events may repeat. */
  readonly bodyOf: (object: ObservedObject) => KubeObject | undefined
}

const maxErrorLength = 1000
const maxMessageLength = 1000
/** Among so many of the last entries of an object, an event is not repeated. */
const recentEntries = 10

type HandlerContent = Extract<JournalContent, { type: 'handler' }>

export class ObjectJournal {
  readonly #options: JournalOptions
  readonly #rings: ObjectRings<JournalEntry>
  /** The entries of calls that have not ended. A handler is the same object in both events of a call. */
  readonly #running = new WeakMap<ObservedHandler, { readonly key: string; readonly entry: JournalEntry }>()
  /** By apiVersion and kind: Events name their object by its kind. */
  readonly #resources = new Map<string, Resource>()
  #lastId = 0

  constructor(options: JournalOptions) {
    this.#options = options
    this.#rings = new ObjectRings(options)
  }

  get lastId(): number {
    return this.#lastId
  }

  /** The estimated bytes of all entries. */
  get bytes(): number {
    return this.#rings.bytes
  }

  /** The entries of an object, oldest first; also of one that was deleted. */
  read(object: ObjectRef): ObjectEntries<JournalEntry> {
    return this.#rings.read(keyOf(object))
  }

  /** An action of a user of the dashboard. */
  recordAction(object: ObjectRef, action: ActionName, user: string): void {
    this.#append(keyOf(object), { type: 'action', action, user })
  }

  readonly listener: Observer = {
    resourceServed: ({ resource }) => this.#know(resource),
    eventReceived: ({ object, type }) => {
      if (type === 'DELETED') this.#recordDeletion(object)
    },
    stateObserved: (event) => this.#recordState(event),
    decisionMade: ({ object, decision }) => {
      const { type, reason } = decision
      const content = { type: 'decision', decision: type, reason, why: describeDecision(decision) } as const
      const key = keyOfObserved(object)
      const last = this.#rings.findLast(key, 1, () => true)
      // A timer or a watch event that changes nothing repeats the decision.
      if (last?.type === 'decision' && last.decision === type && last.reason === reason) return
      this.#append(key, content)
    },
    processingFinished: ({ object, error }) => {
      if (error !== undefined) this.#add(object, { type: 'error', error: this.#describe(object, error) })
    },
    objectTooLarge: ({ object, bytes }) => {
      this.#add(object, { type: 'error', error: `The object is not handled: its JSON takes ${bytes} bytes` })
    },
    handlerStarted: ({ handler, object, retry }) => {
      if (object === undefined) return
      const content = {
        type: 'handler',
        handler: handler.id,
        handlerType: handler.type,
        retry,
        outcome: 'running',
      } as const
      const entry = this.#add(object, content)
      this.#running.set(handler, { key: keyOfObserved(object), entry })
    },
    handlerFinished: ({ handler, object, retry, outcome, durationMs, delayMs, error }) => {
      if (object === undefined) return
      this.#finish(object, handler, {
        type: 'handler',
        handler: handler.id,
        handlerType: handler.type,
        retry,
        outcome,
        durationMs,
        ...(delayMs !== undefined && { delayMs }),
        ...(error !== undefined && { error: this.#describe(object, error) }),
      })
    },
    patchWritten: ({ object, purpose, requests, writes, authors }) => {
      const compared = compareWrites(writes, authors)
      const only = isFinalizerOnly(compared) && ({ only: 'finalizer' } as const)
      this.#add(object, { type: 'write', purpose, requests, ...only, ...compared })
    },
    eventPosted: ({ reference, type, reason, message }) => {
      const resource = this.#resources.get(`${reference.apiVersion}/${reference.kind}`)
      if (resource === undefined) return
      const { name, namespace, uid } = reference
      this.#recordEvent({ resource, name, namespace, uid }, { eventType: type, reason, message })
    },
    daemonStarted: ({ object, handler }) =>
      this.#add(object, { type: 'daemon', action: 'started', handler: handler.id }),
    daemonStopped: ({ object, handler }) =>
      this.#add(object, { type: 'daemon', action: 'stopped', handler: handler.id }),
    timerFired: ({ object, handler, latenessMs }) =>
      this.#add(object, { type: 'daemon', action: 'fired', handler: handler.id, latenessMs }),
    childApplied: ({ owner, child }) => this.#add(owner, { type: 'child', action: 'applied', child: toRef(child) }),
    childDeleted: ({ owner, child }) => this.#add(owner, { type: 'child', action: 'deleted', child: toRef(child) }),
    contentionFound: ({ owner, child }) =>
      this.#add(owner, { type: 'child', action: 'contention', child: toRef(child) }),
  }

  #know(resource: Resource): void {
    this.#resources.set(`${formatGroupVersion(resource.group, resource.version)}/${resource.kind}`, resource)
  }

  #recordState({ object, event, isOwn, before, after }: Parameters<NonNullable<Observer['stateObserved']>>[0]): void {
    // The entry of the write has the changes.
    if (isOwn) return
    const { resourceVersion } = after.metadata
    this.#add(object, {
      type: 'state',
      event: event === undefined ? 'MODIFIED' : event,
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(before === undefined ? noChanges : compareStates(before, after)),
    })
  }

  #recordDeletion(object: ObservedObject): void {
    this.#add(object, { type: 'state', event: 'DELETED', ...noChanges })
    this.#rings.markDeleted(keyOfObserved(object))
  }

  #recordEvent(
    object: ObservedObject,
    event: { readonly eventType: string; readonly reason: string; readonly message: string },
  ): void {
    const body = this.#options.bodyOf(object)
    const content = {
      type: 'event',
      eventType: maskTextOf(body, event.eventType, 100),
      reason: maskTextOf(body, event.reason, 200),
      message: maskTextOf(body, event.message, maxMessageLength),
    } as const
    const isSame = (entry: JournalEntry) =>
      entry.type === 'event' && entry.reason === content.reason && entry.message === content.message
    if (this.#rings.findLast(keyOfObserved(object), recentEntries, isSame) === undefined) this.#add(object, content)
  }

  #finish(object: ObservedObject, handler: ObservedHandler, content: HandlerContent): void {
    const running = this.#running.get(handler)
    this.#running.delete(handler)
    if (running === undefined) {
      this.#add(object, content)
      return
    }
    const { id, atMs } = running.entry
    this.#rings.replace(running.key, running.entry, { id, atMs, ...content })
  }

  #describe(object: ObservedObject, error: unknown): string {
    return maskTextOf(this.#options.bodyOf(object), describeError(error), maxErrorLength)
  }

  #add(object: ObservedObject, content: JournalContent): JournalEntry {
    return this.#append(keyOfObserved(object), content)
  }

  #append(key: string, content: JournalContent): JournalEntry {
    this.#lastId += 1
    const entry: JournalEntry = { id: this.#lastId, atMs: this.#options.clock.now(), ...content }
    this.#rings.add(key, entry)
    return entry
  }
}

/** Objects are known by name, as permissions are: the journal of a name goes on if the object is deleted and created again. */
export function keyOf({ resource, namespace, name }: ObjectRef): string {
  return `${resource} ${namespace ?? ''}/${name}`
}

function keyOfObserved({ resource, namespace, name }: ObservedObject): string {
  return `${formatResource(resource)} ${namespace ?? ''}/${name}`
}

export function toRef({ resource, namespace, name, uid }: ObservedObject): ObjectRef {
  return {
    resource: formatResource(resource),
    ...(namespace !== undefined && { namespace }),
    name,
    ...(uid !== undefined && { uid }),
  }
}
