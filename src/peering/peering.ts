/**
 * One peering object, of which we are a part: our sign of life is kept in it, and what others write there decides whether we have
 * to stand back. Started by peering/peerings.ts, one for each place where there is a peering; ends with a goodbye.
 */
import { isConflict, isForbidden, isNotFound } from '../client/api-error.ts'
import { objectPath } from '../client/paths.ts'
import type { Session } from '../client/session.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { toKeepAlivePatch, toRemovalPatch } from '../kube/peerings.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { PeeringSettings } from '../settings/groups.ts'
import { type Clock, monotonicNow } from '../util/async/clock.ts'
import { TimerQueue } from '../util/async/timer-queue.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { toMs } from '../util/text/duration.ts'
import { type ReflectOptions, reflect } from '../watching/reflector.ts'
import { isOlder } from '../watching/resource-version.ts'
import type { ReflectedEvent } from '../watching/watch-events.ts'
import type { WatchState } from '../watching/watch-observer.ts'
import { PeeringLog } from './peering-log.ts'
import { decidePause, type Peer, type PeeringDecision, type Peers, readPeers } from './peers.ts'

export interface PeeringOptions {
  readonly session: Session
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly watching: ReflectOptions['watching']
  /** Read whenever it is needed. */
  readonly settings: PeeringSettings
  readonly resource: Resource
  /** Undefined for one of the whole cluster. */
  readonly namespace: string | undefined
  /** Whether the operator takes part in peerings of several namespaces. */
  readonly isOneOfSeveral: () => boolean
  readonly identity: string
  /** Whether those of the same priority share the objects among them. */
  readonly isSharded: () => boolean
  /** Told whether we have to stand back, each time that is known anew. */
  readonly onDecision: (hasToStandBack: boolean) => void
}

/** So much before the last sign runs out the next one is given: by chance, so that not all do at once. In seconds, as in Kopf. */
const earlier = { least: 5, most: 10 }

/** Within one sign; then it is tried again, with the time of then. */
const backoffsMs = [1000, 1000, 2000]
const failedAgainMs = 5000

const mergePatch = 'application/merge-patch+json'

export class Peering {
  readonly #options: PeeringOptions
  readonly #announcer: PeeringLog
  /** The newest state we know; null where there is none. Undefined until we have looked, and where we may not look. */
  #seen: KubeObject | null | undefined
  /** Whether the list that is being read has had it. */
  #isListed = false
  /** We may not look: others can see us nevertheless. */
  #isBlind = false
  /** A sign of ours may be there. */
  #hasSigned = false
  /** As they were read last. */
  #peers: Peers = new Map()
  /** Those whose records are to be taken out; and those of which that was done: some server may not let them go. */
  #dead: PeeringDecision['dead'] = []
  #buried: ReadonlySet<Peer> = new Set()
  /** When the next sign is due, and when one in our way runs out. */
  readonly #alarms: TimerQueue<'life' | 'deadline'>
  #wake: () => void = () => {}
  #isAwake = false
  #isDue = false

  constructor(options: PeeringOptions) {
    this.#options = options
    this.#announcer = new PeeringLog(options)
    this.#alarms = new TimerQueue(options.clock, () => this.#stir(true))
  }

  /** Until the signal is aborted and others were told that we are gone. */
  async run(signal: AbortSignal): Promise<void> {
    const { resource, namespace, session, clock, random, watching, settings } = this.#options
    const { name } = settings
    const selectors = { fieldSelector: `metadata.name=${name}` }
    const observer = { watchStateChanged: (state: WatchState) => this.#follow(state), watchWarned: () => {} }
    const scope = { resource, namespace, selectors, observer }
    signal.addEventListener('abort', () => this.#stir(false), { once: true })
    const watch = reflect({ session, clock, random, watching, ...scope }, (event) => this.#see(event), signal)
    await Promise.all([watch, this.#keepAlive(signal)])
    this.#rest()
    await this.#leave()
  }

  #follow(state: WatchState): void {
    // What we know already is the best we have, until the stream is back.
    if (state.type !== 'broken' || this.#seen !== undefined) return
    this.#announcer.cannotLook(state.error)
    if (isForbidden(state.error) && !this.#isBlind) {
      this.#isBlind = true
      this.#stir(true)
    }
    this.#decideWithoutPeers()
  }

  #see(event: ReflectedEvent): void {
    this.#isBlind = false
    if (event.type === 'listed') {
      if (!this.#isListed) this.#vanish()
      this.#isListed = false
    } else if (event.type === 'deleted') {
      this.#vanish()
    } else {
      const isListed = event.event === null
      this.#isListed ||= isListed
      this.#take(event.object, isListed)
    }
  }

  #vanish(): void {
    this.#seen = null
    this.#peers = new Map()
    this.#hasSigned = false
    this.#rest()
    this.#announcer.isMissing()
    this.#decideWithoutPeers()
  }

  /** A list tells the truth whatever was seen before: the cluster may be one that was restored from a backup. */
  #take(object: KubeObject, isListed: boolean): void {
    const { uid, resourceVersion } = object.metadata
    const isNew = this.#seen?.metadata.uid !== uid
    if (!isNew && !isListed && isOlder(resourceVersion, this.#seen?.metadata.resourceVersion)) return
    this.#seen = object
    this.#judge()
    if (isNew) this.#stir(true)
  }

  /** It may be about an object that is no more; and who sees nothing else is not to go by what it sees once a minute. */
  #takeAnswer(object: KubeObject): void {
    if (this.#seen?.metadata.uid === object.metadata.uid) this.#take(object, false)
  }

  #judge(): void {
    const { clock, identity, settings, isSharded, onDecision } = this.#options
    const monotonicMs = monotonicNow(clock)
    const maxLifetimeMs = toMs(settings.maxLifetime, 'peering.maxLifetime')
    this.#peers = readPeers(this.#seen!, this.#peers, { nowMs: clock.now(), monotonicMs, maxLifetimeMs })
    const self = { identity, priority: settings.priority, isSharded: isSharded() }
    const judgement = decidePause(this.#peers, self, monotonicMs)
    this.#alarms.cancel('deadline')
    if (judgement.untilMs !== undefined) this.#alarms.setAfter('deadline', judgement.untilMs - monotonicMs)
    this.#announcer.judged(judgement, this.#peers)
    onDecision(judgement.untilMs !== undefined)
    this.#dead = judgement.dead.filter((peer) => !this.#buried.has(peer))
    if (this.#dead.length > 0) this.#stir(false)
  }

  /** There is nobody to be seen, or nothing to see: that is enough to go on, unless the peering is mandatory. */
  #decideWithoutPeers(): void {
    const { settings, onDecision } = this.#options
    this.#announcer.unpeered(settings.mandatory)
    onDecision(settings.mandatory)
  }

  async #keepAlive(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!this.#isAwake) await new Promise<void>((resolve) => (this.#wake = resolve))
      this.#isAwake = false
      if (signal.aborted) return
      // Not given the signal: what is on its way must be there before the goodbye.
      if (this.#isDue) await this.#sign()
      if (this.#dead.length > 0) await this.#clean(this.#dead)
    }
  }

  /**
   * The answer is the object as it is now. That is why one is also given when somebody in our way runs out: a watch that has
   * silently died must not make us believe that they have.
   */
  async #sign(): Promise<void> {
    this.#isDue = false
    if (this.#seen === null) return
    const { clock, identity, settings } = this.#options
    const lifetime = Math.max(1, Math.round(toMs(settings.lifetime, 'peering.lifetime') / 1000))
    let nextMs = this.#pauseMsOf(lifetime)
    this.#hasSigned = true
    try {
      const patch = toKeepAlivePatch({ identity, priority: settings.priority, lifetime }, clock.now())
      const answer = await this.#patch(patch)
      this.#announcer.signed('ok')
      this.#takeAnswer(answer)
    } catch (error) {
      if (isNotFound(error)) this.#announcer.signed('not found')
      else this.#announcer.cannotSign(error)
      if (isForbidden(error) && this.#seen != null) this.#judge()
      if (!isNotFound(error) && !isForbidden(error)) nextMs = Math.min(nextMs, failedAgainMs)
    }
    this.#alarms.cancel('life')
    if (this.#seen !== null) this.#alarms.setAfter('life', nextMs)
  }

  #pauseMsOf(lifetime: number): number {
    const { least, most } = earlier
    const margin = least + Math.floor(this.#options.random() * (most - least + 1))
    return Math.max(1, lifetime - margin) * 1000
  }

  /** Only if nothing has happened since we looked: one of them may have come back to life. */
  async #clean(dead: PeeringDecision['dead']): Promise<void> {
    this.#dead = []
    const { resourceVersion } = this.#seen?.metadata ?? {}
    if (resourceVersion === undefined) return
    const patch = { metadata: { resourceVersion }, ...toRemovalPatch(dead.map(({ identity }) => identity)) }
    try {
      const answer = await this.#patch(patch)
      this.#buried = new Set(dead)
      this.#takeAnswer(answer)
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) this.#announcer.cannotSign(error)
    }
  }

  async #leave(): Promise<void> {
    if (!this.#hasSigned) return
    try {
      await this.#patch(toRemovalPatch([this.#options.identity]))
    } catch (error) {
      if (!isNotFound(error))
        this.#options.logger.error(`Couldn't remove self from the peering. Ignoring. ${describeError(error)}`)
    }
  }

  async #patch(body: JsonObject): Promise<KubeObject> {
    const { session, resource, namespace, settings } = this.#options
    const path = objectPath(resource, { name: settings.name, namespace })
    const answer = await session.request({ method: 'PATCH', path, contentType: mergePatch, body, backoffsMs })
    return answer as unknown as KubeObject
  }

  #rest(): void {
    this.#alarms.cancel('life')
    this.#alarms.cancel('deadline')
  }

  /** `isDue`: to give a sign of life, and not only to clean up or to end. */
  #stir(isDue: boolean): void {
    this.#isDue ||= isDue
    this.#isAwake = true
    this.#wake()
  }
}
