/**
 * A part of one object of the cluster, kept as it should be: put there, compared before it is written, put right when somebody
 * else has changed it. For webhook configurations and for the conversion of definitions. Started and ended by running/.
 */
import { ApiError, isAlreadyExists, isForbidden, isNotFound } from '../../client/api-error.ts'
import { describeError } from '../../core/handling/outcomes.ts'
import type { ReflectedEvent } from '../../core/watching/events.ts'
import type { WatchState } from '../../core/watching/observer.ts'
import { type ReflectOptions, reflect } from '../../core/watching/reflect.ts'
import { isOlder } from '../../core/watching/versions.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Clock } from '../../util/clock.ts'
import { isDeepEqual } from '../../util/equality.ts'
import { Gate } from '../../util/gate.ts'
import type { Json } from '../../util/json.ts'
import type { Logger } from '../../util/log.ts'
import { createObject, type KeptObject, patchObject, refuseHopeless } from './kept-object.ts'
import { Pace } from './pace.ts'

export interface KeeperOptions extends KeptObject {
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

export class Keeper {
  readonly #options: KeeperOptions
  readonly #pace: Pace
  /** Open when it is for the first time as it should be. */
  readonly #settled = new Gate()
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

  constructor(options: KeeperOptions) {
    this.#options = options
    this.#pace = new Pace(options.clock)
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
    if (this.#options.isVital && !this.#isSettled) refuseHopeless(this.#options, error, what)
    logger.warn(`${what}; it is tried again`)
    this.#stir()
  }

  #stir(): void {
    this.#isAwake = true
    this.#wake()
  }
}
