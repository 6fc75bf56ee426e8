/** Sends the requests for an event: creates it at its first occurrence, and patches its count later. Called by poster.ts. */
import { isForbidden, isNotFound } from '../client/api-error.ts'
import { collectionPath, type Located, objectPath } from '../client/paths.ts'
import type { Session } from '../client/session.ts'
import type { Observer } from '../observer.ts'
import type { Clock } from '../util/async/clock.ts'
import { isPlainObject } from '../util/json/json.ts'
import type { Logger } from '../util/log/log.ts'
import type { AggregatedEvent } from './event-aggregation.ts'
import { type Occurrences, toEventBody, toMicroTime } from './event-body.ts'
import type { PosterSettings } from './poster.ts'

const events: Located = { group: '', version: 'v1', plural: 'events', namespaced: true }

/** While posting fails, one warning is logged per interval; other failures are logged at the debug level. */
const warningIntervalMs = 60_000

interface EventWriterOptions {
  readonly session: Session
  readonly clock: Clock
  readonly settings: PosterSettings
  readonly defaultNamespace?: () => string | undefined
  readonly logger: Logger
  readonly observer?: Observer | undefined
}

export class EventWriter {
  readonly #options: EventWriterOptions
  /** Namespaces in which events may be created but not patched, as with the RBAC rules in Kopf's manual: events are not counted there. */
  readonly #unpatchable = new Set<string>()
  #warnedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: EventWriterOptions) {
    this.#options = options
  }

  /** Posts the pending occurrences. Never rejects: after a failure they stay pending until the event happens again. */
  async write(event: AggregatedEvent, signal: AbortSignal): Promise<void> {
    const pending: Occurrences = { count: event.pendingCount, firstMs: event.pendingSinceMs, lastMs: event.lastMs }
    event.pendingCount = 0
    try {
      const isPatched = await this.#patch(event, pending, signal)
      if (!isPatched) await this.#create(event, pending, signal)
      this.#report(event, pending.count)
    } catch (error) {
      if (event.pendingCount === 0) event.pendingSinceMs = pending.firstMs
      event.pendingCount += pending.count
      if (!signal.aborted) this.#reportFailure(event, error)
    }
  }

  #report({ reference, content }: AggregatedEvent, count: number): void {
    const { apiVersion, kind, name, namespace, uid } = reference
    const { type, reason, message } = content
    const about = {
      apiVersion: apiVersion ?? '',
      kind: kind ?? '',
      name: name ?? '',
      namespace: namespace ?? undefined,
      uid: uid ?? undefined,
    }
    this.#options.observer?.eventPosted?.({ reference: about, type, reason, message, count })
  }

  /** Returns false if the event must be created: it does not exist yet, has expired, or may not be patched. */
  async #patch(event: AggregatedEvent, pending: Occurrences, signal: AbortSignal): Promise<boolean> {
    const { name, backoffsMs } = event
    const namespace = this.#namespaceOf(event)
    if (name === undefined || this.#unpatchable.has(namespace)) return false
    try {
      const path = objectPath(events, { namespace, name })
      const body = { count: event.postedCount + pending.count, lastTimestamp: toMicroTime(pending.lastMs) }
      const contentType = 'application/merge-patch+json'
      const call = { method: 'PATCH', path, body, contentType, backoffsMs, purpose: 'event', resource: events } as const
      await this.#options.session.request(call, signal)
      event.postedCount += pending.count
      return true
    } catch (error) {
      if (!isNotFound(error) && !isForbidden(error)) throw error
      if (isForbidden(error)) this.#stopPatching(namespace)
      return false
    }
  }

  async #create(event: AggregatedEvent, pending: Occurrences, signal: AbortSignal): Promise<void> {
    const { reference, content, backoffsMs } = event
    const { session, settings } = this.#options
    const namespace = this.#namespaceOf(event)
    const body = toEventBody(reference, namespace, content, pending, settings)
    const path = collectionPath(events, namespace)
    const call = { method: 'POST', path, body, backoffsMs, purpose: 'event', resource: events } as const
    const { metadata } = await session.request(call, signal)
    const name = isPlainObject(metadata) ? metadata['name'] : undefined
    event.name = typeof name === 'string' ? name : undefined
    event.postedCount = pending.count
  }

  #namespaceOf({ reference }: AggregatedEvent): string {
    return reference.namespace ?? (this.#options.defaultNamespace?.() || 'default')
  }

  #stopPatching(namespace: string): void {
    this.#unpatchable.add(namespace)
    this.#options.logger.info(
      `Repeated events in "${namespace}" are posted one by one: to count them instead, allow "patch" on events`,
    )
  }

  #reportFailure({ reference, content }: AggregatedEvent, error: unknown): void {
    const { clock, logger } = this.#options
    const nowMs = clock.now()
    const isDue = nowMs - this.#warnedAtMs >= warningIntervalMs
    if (isDue) this.#warnedAtMs = nowMs
    const { kind, namespace, name } = reference
    const fields = { error, type: content.type, reason: content.reason, kind, namespace, name }
    logger[isDue ? 'warn' : 'debug']('Failed to post an event. Ignoring and continuing.', fields)
  }
}
