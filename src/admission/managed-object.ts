/**
 * Keeps a part of one cluster-scoped object in the desired state: writes the part if it differs, and corrects it after changes by other clients.
 * Used by webhook-configurations.ts for the webhooks of a configuration and for the conversion of a CRD.
 */
import { ApiError, isAlreadyExists, isForbidden, isNotFound, isUnprocessable } from '../client/api-error.ts'
import { collectionPath, objectPath } from '../client/paths.ts'
import type { Session } from '../client/session.ts'
import { KopfError } from '../errors.ts'
import { formatGroupVersion, type JsonObject, type KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { Backoff, steps } from '../util/async/backoff.ts'
import { type Clock, monotonicNow } from '../util/async/clock.ts'
import { Latch, Notifier } from '../util/async/latch.ts'
import { isDeepEqual } from '../util/json/deep-equal.ts'
import type { Json } from '../util/json/json.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { ObjectInformer } from '../watching/object-informer.ts'
import type { ReflectOptions } from '../watching/reflector.ts'

/** One object, and how its managed part is read and written. */
export interface ManagedObjectSpec {
  readonly session: Session
  readonly resource: Resource
  readonly name: string
  /** The object in log messages: `validating webhook auto.kopf.dev`. */
  readonly title: string
  /** Returns the managed part of the object. Undefined: the object does not exist. */
  readonly read: (object: KubeObject | undefined) => Json | undefined
  /** Converts the managed part to a merge patch of the object. */
  readonly toPatch: (part: Json) => JsonObject
  /** Whether the operator creates the object if it is missing. Otherwise a missing object needs no write. */
  readonly isCreatedByOperator: boolean
}

export interface ManagedObjectOptions extends ManagedObjectSpec {
  readonly clock: Clock
  readonly random: () => number
  readonly watching: ReflectOptions['watching']
  readonly logger: Logger
  /** Whether the operator must not run without this object: an error that only an administrator can fix then ends the run. */
  readonly isRequired: boolean
}

/** Several changes within this time are written once. */
const debounceMs = 100
/** After this number of repeated writes of the same part, a warning says that another client changes it, too. */
const maxUnreportedRepeats = 4

export class ManagedObject {
  readonly #options: ManagedObjectOptions
  readonly #informer: ObjectInformer
  readonly #backoff: RepairBackoff
  readonly #changes = new Notifier()
  readonly #applied = new Latch()
  #desired: Json | undefined
  /** The operator may not list or watch the object: only the last write is known. */
  #isWatchForbidden = false
  /** The part of the last successful write. */
  #written: Json | undefined
  /** The last write got no response, or a 5xx: the API server may or may not have stored it. */
  #isWriteUncertain = false

  constructor(options: ManagedObjectOptions) {
    const { session, clock, random, watching, resource, name } = options
    this.#options = options
    this.#backoff = new RepairBackoff(clock)
    this.#informer = new ObjectInformer({
      session,
      clock,
      random,
      watching,
      resource,
      namespace: undefined,
      name,
      onChange: () => {
        this.#isWatchForbidden = false
        this.#changes.notify()
      },
      onWatchError: (error) => this.#handleWatchError(error),
    })
  }

  /** Resolves when the object has the desired part for the first time. */
  get ready(): Promise<void> {
    return this.#applied.opened
  }

  /** Sets the desired part. `run` writes it. */
  setDesired(part: Json): void {
    if (isDeepEqual(part, this.#desired)) return
    this.#desired = part
    this.#backoff.reset()
    this.#changes.notify()
  }

  /** Resolves when the signal is aborted. Rejects if the first write of a required object fails with an error that only an administrator can fix. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#informer.run(signal), this.#reconcileUntilAborted(signal)])
  }

  /**
   * Writes the part once, after `run` has ended. Does nothing if the object does not exist, was never read, or has the part already. Returns
   * whether something was written.
   */
  async finish(part: Json, signal: AbortSignal): Promise<boolean> {
    this.#desired = part
    const isDone = !this.#isKnown || this.#informer.object === null || !this.#hasDrifted()
    if (isDone && !this.#isWriteUncertain) return false
    this.#options.logger.info(`Cleaning up the admission webhook ${this.#options.name}.`)
    await this.#write(part, signal)
    return true
  }

  #handleWatchError(error: unknown): void {
    const { logger, title, resource } = this.#options
    if (!isForbidden(error)) {
      if (this.#informer.object === undefined)
        logger.warn(`Cannot watch the ${title}: ${describeError(error)}; it is tried again`)
      return
    }
    if (this.#isKnown) return
    logger.info(
      `Changes of the ${title} by other clients will not be reverted: the operator may not list and watch ${resource.plural}.`,
    )
    this.#isWatchForbidden = true
    this.#changes.notify()
  }

  get #isKnown(): boolean {
    return this.#isWatchForbidden || this.#informer.object !== undefined
  }

  async #reconcileUntilAborted(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    signal.addEventListener('abort', () => this.#changes.notify(), { once: true })
    while (!signal.aborted) {
      await this.#changes.wait(clock, Infinity)
      try {
        await clock.sleep(debounceMs, signal)
        await this.#reconcile(signal)
      } catch (error) {
        if (signal.aborted) return
        this.#handleWriteError(error)
      }
    }
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    if (this.#desired === undefined || !this.#isKnown) return
    if (this.#hasDrifted()) {
      await this.#backoff.wait(signal)
      if (this.#hasDrifted()) await this.#repair(this.#desired, signal)
    }
    this.#applied.open()
  }

  #hasDrifted(): boolean {
    const { isCreatedByOperator, read } = this.#options
    const { object } = this.#informer
    if (!isCreatedByOperator && object === null) return false
    const current = this.#isWatchForbidden ? this.#written : read(object ?? undefined)
    return !isDeepEqual(current, this.#desired)
  }

  async #repair(part: Json, signal: AbortSignal): Promise<void> {
    const { logger, title } = this.#options
    if (this.#backoff.repeats === maxUnreportedRepeats && isDeepEqual(part, this.#written)) {
      logger.warn(
        `Another client keeps changing the ${title}: is it managed twice? The operator reverts the changes less and less often.`,
      )
    }
    logger.info(`Reconfiguring the ${title}.`)
    await this.#write(part, signal)
  }

  async #write(part: Json, signal: AbortSignal): Promise<void> {
    const { absences } = this.#informer
    this.#isWriteUncertain = true
    const written = await this.#createOrPatch(part, signal)
    if (written !== undefined && this.#informer.absences === absences) this.#informer.accept(written)
    this.#isWriteUncertain = false
    this.#written = part
  }

  /** Resolves to undefined if the object does not exist and the part is empty: then no object is needed. */
  async #createOrPatch(part: Json, signal: AbortSignal): Promise<KubeObject | undefined> {
    const options = this.#options
    const isMissing = options.isCreatedByOperator && this.#informer.object == null
    try {
      return await (isMissing && !this.#isEmpty(part)
        ? createObject(options, part, signal)
        : patchObject(options, part, signal))
    } catch (error) {
      if (isAlreadyExists(error)) return patchObject(options, part, signal)
      if (isNotFound(error) && options.isCreatedByOperator) {
        return this.#isEmpty(part) ? undefined : createObject(options, part, signal)
      }
      if (error instanceof ApiError && error.status < 500) this.#isWriteUncertain = false
      throw error
    }
  }

  /** Whether the part is the same as that of an object that does not exist. */
  #isEmpty(part: Json | undefined): boolean {
    return isDeepEqual(part, this.#options.read(undefined))
  }

  /** Schedules a retry with the delays of `RepairBackoff`, unless the run has to end. After the first success, no error ends the run. */
  #handleWriteError(error: unknown): void {
    const { title, logger } = this.#options
    const message = `Cannot configure the ${title}: ${describeError(error)}`
    if (isForbidden(error) && this.#isEmpty(this.#desired)) {
      // An operator without webhooks needs no permission for webhook configurations.
      logger.debug(message)
      this.#applied.open()
      return
    }
    if (this.#options.isRequired && !this.#applied.isOpen) throwIfPermanent(this.#options, error, message)
    logger.warn(`${message}; it is tried again`)
    this.#changes.notify()
  }
}

/** Pauses before the first write of the same part, the second, and so on: another client may want other values, and neither may flood the API server. */
const repairDelays = steps([0, 0, 1000, 2000, 5000, 10_000, 30_000, 60_000])
/**
 * Quiet time after which the write count restarts; longer than one round of two operators that alternate at the maximum pause (60 s each).
 */
const quietMs = 600_000

/** Pauses before repeated writes of the same part. */
export class RepairBackoff {
  readonly #clock: Clock
  readonly #backoff = new Backoff(repairDelays)
  #lastMs = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The number of earlier writes of the same part, without a quiet time in between. */
  get repeats(): number {
    return this.#backoff.attempts - 1
  }

  /** Called when the desired part changes: the next write is not a repetition. */
  reset(): void {
    this.#backoff.reset()
  }

  /** Waits before the next write. */
  async wait(signal: AbortSignal): Promise<void> {
    if (monotonicNow(this.#clock) - this.#lastMs > quietMs) this.#backoff.reset()
    const delayMs = this.#backoff.next()
    if (delayMs > 0) await this.#clock.sleep(delayMs, signal)
    this.#lastMs = monotonicNow(this.#clock)
  }
}

async function createObject(spec: ManagedObjectSpec, part: Json, signal: AbortSignal): Promise<KubeObject> {
  const { session, resource, name, toPatch } = spec
  const { kind, group, version } = resource
  const body = { apiVersion: formatGroupVersion(group, version), kind, metadata: { name }, ...toPatch(part) }
  const response = await session.request(
    { method: 'POST', path: collectionPath(resource), body, purpose: 'webhooks', resource },
    signal,
  )
  return response as unknown as KubeObject
}

async function patchObject(spec: ManagedObjectSpec, part: Json, signal: AbortSignal): Promise<KubeObject> {
  const { session, resource, name, toPatch } = spec
  const path = objectPath(resource, { name })
  const contentType = 'application/merge-patch+json'
  const response = await session.request(
    { method: 'PATCH', path, contentType, body: toPatch(part), purpose: 'webhooks', resource },
    signal,
  )
  return response as unknown as KubeObject
}

/** Throws if a retry cannot succeed without an administrator: the write is forbidden, or its content is invalid. */
function throwIfPermanent({ resource, isCreatedByOperator }: ManagedObjectSpec, error: unknown, message: string): void {
  if (isForbidden(error)) {
    const verbs = isCreatedByOperator ? '"create", "patch", "list", "watch"' : '"patch", "list", "watch"'
    throw new KopfError(
      'KOPF_FORBIDDEN',
      `${message}\nGrant the operator a cluster role with the rule: ` +
        `apiGroups: ["${resource.group}"], resources: ["${resource.plural}"], verbs: [${verbs}]`,
      { cause: error },
    )
  }
  if (isUnprocessable(error)) throw new KopfError('KOPF_WEBHOOK_CONFIGURATION', message, { cause: error })
}
