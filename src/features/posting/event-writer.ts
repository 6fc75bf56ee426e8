/** The requests behind an event: it is created once, and its count patched when it happens again. Called by poster.ts. */
import { isForbidden, isNotFound } from '../../client/api-error.ts'
import type { Session } from '../../client/calls.ts'
import { collectionPath, type Located, objectPath } from '../../client/requests.ts'
import type { Clock } from '../../util/clock.ts'
import { isPlainObject } from '../../util/json.ts'
import type { Logger } from '../../util/log.ts'
import { type Occurrences, toEventBody, toMicroTime } from './event-body.ts'
import type { PostingSettings } from './settings.ts'
import type { Tally } from './tally.ts'

const events: Located = { group: '', version: 'v1', plural: 'events', namespaced: true }

/** While posting fails, this often is it told as a warning. */
const complaintIntervalMs = 60_000

interface EventWriterOptions {
  readonly session: Session
  readonly clock: Clock
  readonly settings: PostingSettings
  readonly defaultNamespace?: () => string | undefined
  readonly logger: Logger
}

export class EventWriter {
  readonly #options: EventWriterOptions
  /** Where events may be created but not patched, as the RBAC rules in Kopf's manual have it: none is counted there. */
  readonly #uncounted = new Set<string>()
  #complainedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: EventWriterOptions) {
    this.#options = options
  }

  /** Tells the cluster what is untold. Never rejects: what fails stays untold, until the event happens again. */
  async write(tally: Tally, signal: AbortSignal): Promise<void> {
    const told: Occurrences = { count: tally.untold, firstMs: tally.untoldSinceMs, lastMs: tally.lastMs }
    tally.untold = 0
    try {
      const isPatched = await this.#patch(tally, told, signal)
      if (!isPatched) await this.#create(tally, told, signal)
    } catch (error) {
      if (tally.untold === 0) tally.untoldSinceMs = told.firstMs
      tally.untold += told.count
      if (!signal.aborted) this.#complain(tally, error)
    }
  }

  /** False where the event must be created: it was not yet, or it has expired, or may not be patched. */
  async #patch(tally: Tally, told: Occurrences, signal: AbortSignal): Promise<boolean> {
    const { name, backoffsMs } = tally
    const namespace = this.#namespaceOf(tally)
    if (name === undefined || this.#uncounted.has(namespace)) return false
    try {
      const path = objectPath(events, { namespace, name })
      const body = { count: tally.told + told.count, lastTimestamp: toMicroTime(told.lastMs) }
      const contentType = 'application/merge-patch+json'
      await this.#options.session.request({ method: 'PATCH', path, body, contentType, backoffsMs }, signal)
      tally.told += told.count
      return true
    } catch (error) {
      if (!isNotFound(error) && !isForbidden(error)) throw error
      if (isForbidden(error)) this.#stopCounting(namespace)
      return false
    }
  }

  async #create(tally: Tally, told: Occurrences, signal: AbortSignal): Promise<void> {
    const { reference, content, backoffsMs } = tally
    const { session, settings } = this.#options
    const namespace = this.#namespaceOf(tally)
    const body = toEventBody(reference, namespace, content, told, settings)
    const path = collectionPath(events, namespace)
    const { metadata } = await session.request({ method: 'POST', path, body, backoffsMs }, signal)
    const name = isPlainObject(metadata) ? metadata['name'] : undefined
    tally.name = typeof name === 'string' ? name : undefined
    tally.told = told.count
  }

  #namespaceOf({ reference }: Tally): string {
    return reference.namespace ?? (this.#options.defaultNamespace?.() || 'default')
  }

  #stopCounting(namespace: string): void {
    this.#uncounted.add(namespace)
    this.#options.logger.info(
      `Repeated events in "${namespace}" are posted one by one: to count them instead, allow "patch" on events`,
    )
  }

  #complain({ reference, content }: Tally, error: unknown): void {
    const { clock, logger } = this.#options
    const nowMs = clock.now()
    const isDue = nowMs - this.#complainedAtMs >= complaintIntervalMs
    if (isDue) this.#complainedAtMs = nowMs
    const { kind, namespace, name } = reference
    const fields = { error, type: content.type, reason: content.reason, kind, namespace, name }
    logger[isDue ? 'warn' : 'debug']('Failed to post an event. Ignoring and continuing.', fields)
  }
}
