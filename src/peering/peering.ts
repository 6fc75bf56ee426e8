/**
 * The membership in one peering object: keeps our own record in the object alive, removes the records of dead peers, and reports whether the records
 * of other operators pause this one. Created by peerings.ts for each peering object; removes our record when it ends.
 */
import { isConflict, isForbidden, isNotFound } from '../client/api-error.ts'
import { objectPath } from '../client/paths.ts'
import type { Session } from '../client/session.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { toKeepAlivePatch, toRemovalPatch } from '../kube/peerings.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { PeeringSettings } from '../settings/groups.ts'
import { type Clock, monotonicNow } from '../util/async/clock.ts'
import { Notifier } from '../util/async/latch.ts'
import { TimerQueue } from '../util/async/timer-queue.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { toMs } from '../util/text/duration.ts'
import { ObjectInformer } from '../watching/object-informer.ts'
import type { ReflectOptions } from '../watching/reflector.ts'
import { PeeringLog } from './peering-log.ts'
import { decidePause, type Peer, type PeeringDecision, type Peers, readPeers } from './peers.ts'

export interface PeeringOptions {
  readonly session: Session
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly watching: ReflectOptions['watching']
  /** Read at each use: users may change the settings at any time. */
  readonly settings: PeeringSettings
  readonly resource: Resource
  /** Undefined for a cluster-scoped peering. */
  readonly namespace: string | undefined
  /** Whether the operator takes part in peerings of several namespaces. */
  readonly isOneOfSeveral: () => boolean
  readonly identity: string
  /** Whether operators of the same priority each process their own share of the objects: then they do not pause each other. */
  readonly isSharded: () => boolean
  /** Called after every decision, also if it is the same as before. */
  readonly onDecision: (isPaused: boolean) => void
}

/** The keep-alive is sent this many seconds before our record expires; random in this range, as in Kopf, so that not all operators write at once. */
const keepAliveMarginSeconds = { min: 5, max: 10 }

/** Delays between the attempts of one request. */
const backoffsMs = [1000, 1000, 2000]
/** Delay before the next keep-alive after one that has failed. */
const failedKeepAliveMs = 5000

const mergePatch = 'application/merge-patch+json'

export class Peering {
  readonly #options: PeeringOptions
  readonly #log: PeeringLog
  readonly #informer: ObjectInformer
  /** The operator may not list or watch the peering object. It still sends keep-alives, so that other operators see it. */
  #isWatchForbidden = false
  /** The object may contain our record. */
  #mayHaveRecord = false
  /** The peers of the last state. */
  #peers: Peers = new Map()
  /** Dead peers whose records are still to be removed. */
  #dead: PeeringDecision['dead'] = []
  /** Dead peers whose records were removed by the last request. They are not removed again, even if the server keeps them. */
  #removed: ReadonlySet<Peer> = new Set()
  /** `keepAlive`: the next keep-alive is due. `deadline`: the first peer that pauses this operator expires. */
  readonly #timers: TimerQueue<'keepAlive' | 'deadline'>
  readonly #wakeUps = new Notifier()
  #isKeepAliveDue = false

  constructor(options: PeeringOptions) {
    const { session, clock, random, watching, resource, namespace, settings } = options
    this.#options = options
    this.#log = new PeeringLog(options)
    this.#timers = new TimerQueue(clock, () => this.#requestKeepAlive())
    this.#informer = new ObjectInformer({
      session,
      clock,
      random,
      watching,
      resource,
      namespace,
      name: settings.name,
      onChange: (object, previous) => this.#handleChange(object, previous),
      onWatchError: (error) => this.#handleWatchError(error),
    })
  }

  /** Resolves when the signal is aborted and our record is removed from the object. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wakeUps.notify(), { once: true })
    await Promise.all([this.#informer.run(signal), this.#writeUntilAborted(signal)])
    this.#cancelTimers()
    await this.#removeOwnRecord()
  }

  #handleWatchError(error: unknown): void {
    // The last known state stays valid while the watch is interrupted.
    if (this.#informer.object !== undefined) return
    this.#log.watchFailed(error)
    if (isForbidden(error) && !this.#isWatchForbidden) {
      this.#isWatchForbidden = true
      this.#requestKeepAlive()
    }
    this.#decideWithoutPeers()
  }

  #handleChange(object: KubeObject | null, previous: KubeObject | null | undefined): void {
    this.#isWatchForbidden = false
    if (object === null) {
      this.#peers = new Map()
      this.#mayHaveRecord = false
      this.#cancelTimers()
      this.#log.objectMissing()
      this.#decideWithoutPeers()
    } else {
      this.#decide(object)
      if (object.metadata.uid !== previous?.metadata.uid) this.#requestKeepAlive()
    }
  }

  /** Uses the response to a write as the new state, unless it is about a deleted object, or the object was never listed. */
  #acceptResponse(object: KubeObject): void {
    const isSame = this.#informer.object?.metadata.uid === object.metadata.uid
    if (isSame && this.#informer.accept(object)) this.#decide(object)
  }

  #decide(object: KubeObject): void {
    const { clock, identity, settings, isSharded, onDecision } = this.#options
    const monotonicMs = monotonicNow(clock)
    const maxLifetimeMs = toMs(settings.maxLifetime, 'peering.maxLifetime')
    this.#peers = readPeers(object, this.#peers, { nowMs: clock.now(), monotonicMs, maxLifetimeMs })
    const self = { identity, priority: settings.priority, isSharded: isSharded() }
    const decision = decidePause(this.#peers, self, monotonicMs)
    this.#timers.cancel('deadline')
    if (decision.untilMs !== undefined) this.#timers.setAfter('deadline', decision.untilMs - monotonicMs)
    this.#log.decided(decision, this.#peers)
    onDecision(decision.untilMs !== undefined)
    this.#dead = decision.dead.filter((peer) => !this.#removed.has(peer))
    if (this.#dead.length > 0) this.#wakeUps.notify()
  }

  /** The object does not exist, or cannot be read: only a mandatory peering pauses the operator then. */
  #decideWithoutPeers(): void {
    const { settings, onDecision } = this.#options
    this.#log.decidedWithoutPeers(settings.mandatory)
    onDecision(settings.mandatory)
  }

  async #writeUntilAborted(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#wakeUps.wait(this.#options.clock, Infinity)
      if (signal.aborted) return
      // The requests do not get the signal: a keep-alive in flight must end before our record is removed.
      if (this.#isKeepAliveDue) await this.#sendKeepAlive()
      if (this.#dead.length > 0) await this.#removeDead(this.#dead)
    }
  }

  /**
   * Renews our record. A keep-alive is also sent when a peer that pauses this operator expires: the response shows the current object, so that a watch
   * which has silently died does not make the peer look dead.
   */
  async #sendKeepAlive(): Promise<void> {
    this.#isKeepAliveDue = false
    if (this.#informer.object === null) return
    const { clock, identity, settings } = this.#options
    const lifetime = Math.max(1, Math.round(toMs(settings.lifetime, 'peering.lifetime') / 1000))
    let nextMs = this.#keepAliveDelayMs(lifetime)
    this.#mayHaveRecord = true
    try {
      const patch = toKeepAlivePatch({ identity, priority: settings.priority, lifetime }, clock.now())
      const response = await this.#patch(patch)
      this.#log.keepAliveSent('ok')
      this.#acceptResponse(response)
    } catch (error) {
      const { object } = this.#informer
      if (isNotFound(error)) this.#log.keepAliveSent('not found')
      else this.#log.writeFailed(error)
      if (isForbidden(error) && object) this.#decide(object)
      if (!isNotFound(error) && !isForbidden(error)) nextMs = Math.min(nextMs, failedKeepAliveMs)
    }
    this.#timers.cancel('keepAlive')
    if (this.#informer.object !== null) this.#timers.setAfter('keepAlive', nextMs)
  }

  #keepAliveDelayMs(lifetime: number): number {
    const { min, max } = keepAliveMarginSeconds
    const margin = min + Math.floor(this.#options.random() * (max - min + 1))
    return Math.max(1, lifetime - margin) * 1000
  }

  /** Removes the records of dead peers. The patch names the resource version, so that it fails if a peer has renewed its record since. */
  async #removeDead(dead: PeeringDecision['dead']): Promise<void> {
    this.#dead = []
    const { resourceVersion } = this.#informer.object?.metadata ?? {}
    if (resourceVersion === undefined) return
    const patch = { metadata: { resourceVersion }, ...toRemovalPatch(dead.map(({ identity }) => identity)) }
    try {
      const response = await this.#patch(patch)
      this.#removed = new Set(dead)
      this.#acceptResponse(response)
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) this.#log.writeFailed(error)
    }
  }

  async #removeOwnRecord(): Promise<void> {
    if (!this.#mayHaveRecord) return
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
    const response = await session.request({
      method: 'PATCH',
      path,
      contentType: mergePatch,
      body,
      backoffsMs,
      purpose: 'peering',
      resource,
    })
    return response as unknown as KubeObject
  }

  #cancelTimers(): void {
    this.#timers.cancel('keepAlive')
    this.#timers.cancel('deadline')
  }

  #requestKeepAlive(): void {
    this.#isKeepAliveDue = true
    this.#wakeUps.notify()
  }
}
