/**
 * A part of one object of the cluster, kept as it should be: put there, compared before it is written, put right when somebody
 * else has changed it. For webhook configurations and for the conversion of definitions. Started and ended by running/.
 */
import { ApiError, isAlreadyExists, isForbidden, isNotFound, isUnprocessable } from '../client/api-error.ts'
import { collectionPath, objectPath } from '../client/paths.ts'
import type { Session } from '../client/session.ts'
import { KopfError } from '../errors.ts'
import { formatGroupVersion, type JsonObject, type KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { Clock } from '../util/async/clock.ts'
import { Latch } from '../util/async/latch.ts'
import { isDeepEqual } from '../util/json/deep-equal.ts'
import type { Json } from '../util/json/json.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { type ReflectOptions, reflect } from '../watching/reflector.ts'
import { isOlder } from '../watching/resource-version.ts'
import type { ReflectedEvent } from '../watching/watch-events.ts'
import type { WatchState } from '../watching/watch-observer.ts'
import { RepairBackoff } from './pace.ts'

export interface ManagedObjectOptions extends ManagedObjectSpec {
  readonly clock: Clock
  readonly random: () => number
  readonly watching: ReflectOptions['watching']
  readonly logger: Logger
  /** Whether the operator is not to run without it: then what nobody but a person can put right ends it. */
  readonly isVital: boolean
}

/** What comes in quick succession is written once. */
const settleMs = 100
/** So many writes of the same in a row are somebody else's doing. */
const suspicious = 4

export class ManagedObject {
  readonly #options: ManagedObjectOptions
  readonly #pace: RepairBackoff
  /** Open when it is for the first time as it should be. */
  readonly #settled = new Latch()
  #isSettled = false
  #wanted: Json | undefined
  /** The newest state we know; null where it is not there. Undefined until we have looked, and where we may not look. */
  #seen: KubeObject | null | undefined
  /** Of what was told last, be it the end. */
  #version: string | undefined
  /** Whether it was found to be gone since the last write was begun: then the answer may be about what is no more. */
  #hasVanished = false
  /** Whether the list that is being read has had it. */
  #isListed = false
  /** We may not look: what was written last is all that is known. */
  #isBlind = false
  #written: Json | undefined
  /** What has become of the last write is not known: it may be done, or about to be. */
  #isUnsure = false
  #wake: () => void = () => {}
  #isAwake = false

  constructor(options: ManagedObjectOptions) {
    this.#options = options
    this.#pace = new RepairBackoff(options.clock)
  }

  /** Resolves when it is for the first time as it should be. */
  get ready(): Promise<void> {
    return this.#settled.opened
  }

  /** From now on it should be so. */
  want(part: Json): void {
    if (isDeepEqual(part, this.#wanted)) return
    this.#wanted = part
    this.#pace.reset()
    this.#stir()
  }

  /** Until the signal is aborted; rejects only where it is vital, was never right, and cannot become so by itself. */
  async run(signal: AbortSignal): Promise<void> {
    const { resource, name, session, clock, random, watching } = this.#options
    const selectors = { fieldSelector: `metadata.name=${name}` }
    const observer = { watchStateChanged: (state: WatchState) => this.#follow(state), watchWarned: () => {} }
    const scope = { resource, namespace: undefined, selectors, observer }
    const watch = reflect({ session, clock, random, watching, ...scope }, (event) => this.#see(event), signal)
    await Promise.all([watch, this.#keep(signal)])
  }

  /**
   * The last word, after it has ended: nobody puts it right any more. What is not there, or was never looked at, is left so.
   * Whether there was anything to write.
   */
  async finish(part: Json, signal: AbortSignal): Promise<boolean> {
    this.#wanted = part
    if (!this.#isUnsure && (!this.#isKnown || this.#seen === null || this.#isAsWanted())) return false
    this.#options.logger.info(`Cleaning up the admission webhook ${this.#options.name}.`)
    await this.#write(part, signal)
    return true
  }

  #follow(state: WatchState): void {
    if (state.type !== 'broken') return
    if (isForbidden(state.error)) this.#goBlind()
    else if (this.#seen === undefined) {
      const { logger, title } = this.#options
      logger.warn(`Cannot look at the ${title}: ${describeError(state.error)}; it is tried again`)
    }
  }

  /** A list tells the truth whatever was seen before: the cluster may be one that was restored from a backup. */
  #see(event: ReflectedEvent): void {
    if (event.type === 'listed') {
      if (!this.#isListed) this.#vanish()
      this.#isListed = false
    } else if (event.type === 'deleted' && event.missed) {
      this.#vanish()
    } else {
      const isListed = event.type === 'applied' && event.event === null
      const { resourceVersion } = event.object.metadata
      if (!isListed && isOlder(resourceVersion, this.#version)) return
      this.#isListed ||= isListed
      this.#version = resourceVersion
      this.#seen = event.type === 'applied' ? event.object : null
    }
    this.#isBlind = false
    this.#stir()
  }

  /** It is not there, and nobody has said since when. */
  #vanish(): void {
    this.#seen = null
    this.#version = undefined
    this.#hasVanished = true
  }

  #goBlind(): void {
    if (this.#isKnown) return
    const { logger, title, resource } = this.#options
    logger.info(
      `Changes of the ${title} by others will not be put right: the operator may not list and watch ${resource.plural}.`,
    )
    this.#isBlind = true
    this.#stir()
  }

  get #isKnown(): boolean {
    return this.#isBlind || this.#seen !== undefined
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    signal.addEventListener('abort', () => this.#stir(), { once: true })
    while (!signal.aborted) {
      if (!this.#isAwake) await new Promise<void>((resolve) => (this.#wake = resolve))
      this.#isAwake = false
      try {
        await clock.sleep(settleMs, signal)
        await this.#putRight(signal)
      } catch (error) {
        if (signal.aborted) return
        this.#judge(error)
      }
    }
  }

  async #putRight(signal: AbortSignal): Promise<void> {
    if (this.#wanted === undefined || !this.#isKnown) return
    if (!this.#isAsWanted()) {
      await this.#pace.wait(signal)
      if (!this.#isAsWanted()) await this.#rewrite(this.#wanted, signal)
    }
    this.#settle()
  }

  #settle(): void {
    this.#isSettled = true
    this.#settled.open()
  }

  #isAsWanted(): boolean {
    const { isOurs, read } = this.#options
    if (!isOurs && this.#seen === null) return true
    const there = this.#isBlind ? this.#written : read(this.#seen ?? undefined)
    return isDeepEqual(there, this.#wanted)
  }

  async #rewrite(part: Json, signal: AbortSignal): Promise<void> {
    const { logger, title } = this.#options
    if (this.#pace.inRow === suspicious && isDeepEqual(part, this.#written)) {
      logger.warn(
        `Somebody else keeps changing the ${title}: is it managed twice? It is put right less and less often.`,
      )
    }
    logger.info(`Reconfiguring the ${title}.`)
    await this.#write(part, signal)
  }

  async #write(part: Json, signal: AbortSignal): Promise<void> {
    const { isOurs } = this.#options
    this.#isUnsure = true
    this.#hasVanished = false
    try {
      const isNew = isOurs && this.#seen == null && !this.#isNothing(part)
      await (isNew ? this.#create(part, signal) : this.#patch(part, signal))
    } catch (error) {
      if (isAlreadyExists(error)) await this.#patch(part, signal)
      else if (!isNotFound(error) || !isOurs) throw this.#noteRefusal(error)
      else if (!this.#isNothing(part)) await this.#create(part, signal)
    }
    this.#isUnsure = false
    this.#written = part
  }

  /** Whether it is the same as no object at all. */
  #isNothing(part: Json | undefined): boolean {
    return isDeepEqual(part, this.#options.read(undefined))
  }

  #noteRefusal(error: unknown): unknown {
    if (error instanceof ApiError && error.status < 500) this.#isUnsure = false
    return error
  }

  async #create(part: Json, signal: AbortSignal): Promise<void> {
    this.#note(await createObject(this.#options, part, signal))
  }

  async #patch(part: Json, signal: AbortSignal): Promise<void> {
    this.#note(await patchObject(this.#options, part, signal))
  }

  #note(object: KubeObject): void {
    const { resourceVersion } = object.metadata
    if (this.#hasVanished || isOlder(resourceVersion, this.#version)) return
    this.#version = resourceVersion
    this.#seen = object
  }

  /** What may pass by itself is tried again, at the pace of writes. What was right before may be so again. */
  #judge(error: unknown): void {
    const { title, logger } = this.#options
    const what = `Cannot configure the ${title}: ${describeError(error)}`
    if (isForbidden(error) && this.#isNothing(this.#wanted)) {
      // Who has nothing to say there needs no right to say it.
      logger.debug(what)
      this.#settle()
      return
    }
    if (this.#options.isVital && !this.#isSettled) throwIfHopeless(this.#options, error, what)
    logger.warn(`${what}; it is tried again`)
    this.#stir()
  }

  #stir(): void {
    this.#isAwake = true
    this.#wake()
  }
}

/** One object of the cluster of which a part is ours to say: how that part is read and written, and what to say of refusals. */

export interface ManagedObjectSpec {
  readonly session: Session
  readonly resource: Resource
  readonly name: string
  /** For messages: `validating webhook auto.kopf.dev`. */
  readonly title: string
  /** What there is of the part, in an object or where there is none. */
  readonly read: (object: KubeObject | undefined) => Json | undefined
  /** The part as a merge patch. */
  readonly toPatch: (part: Json) => JsonObject
  /** Whether the object is made where it is missing. */
  readonly isOurs: boolean
}

async function createObject(kept: ManagedObjectSpec, part: Json, signal: AbortSignal): Promise<KubeObject> {
  const { session, resource, name, toPatch } = kept
  const { kind, group, version } = resource
  const body = { apiVersion: formatGroupVersion(group, version), kind, metadata: { name }, ...toPatch(part) }
  const answer = await session.request({ method: 'POST', path: collectionPath(resource), body }, signal)
  return answer as unknown as KubeObject
}

async function patchObject(kept: ManagedObjectSpec, part: Json, signal: AbortSignal): Promise<KubeObject> {
  const { session, resource, name, toPatch } = kept
  const path = objectPath(resource, { name })
  const contentType = 'application/merge-patch+json'
  const answer = await session.request({ method: 'PATCH', path, contentType, body: toPatch(part) }, signal)
  return answer as unknown as KubeObject
}

/** Throws where nobody but a person can put it right; `what` says what was refused. */
function throwIfHopeless({ resource, isOurs }: ManagedObjectSpec, error: unknown, what: string): void {
  if (isForbidden(error)) {
    const verbs = isOurs ? '"create", "patch", "list", "watch"' : '"patch", "list", "watch"'
    throw new KopfError(
      'KOPF_FORBIDDEN',
      `${what}\nGrant the operator a cluster role with the rule: ` +
        `apiGroups: ["${resource.group}"], resources: ["${resource.plural}"], verbs: [${verbs}]`,
      { cause: error },
    )
  }
  if (isUnprocessable(error)) throw new KopfError('KOPF_WEBHOOK_CONFIGURATION', what, { cause: error })
}
