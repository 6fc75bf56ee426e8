/** Records since when the essence of an object has not changed, for timers with `idle`. Called by object-daemons.ts for every state before it is queued. */
import { digestEssence } from '../causation/essence.ts'
import type { KubeObject } from '../kube/objects.ts'
import { essenceOf } from '../objects/compare-essences.ts'
import type { Context } from '../objects/context.ts'
import { FeatureState } from '../objects/state/feature-state.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'
import { monotonicNow } from '../util/async/clock.ts'
import { isOlder } from '../watching/resource-version.ts'

/** The digest of the newest essence, its version, and since when it has not changed, by the monotonic clock. */
interface LastChange {
  readonly digest: string
  readonly version: string | undefined
  readonly changedMs: number
}

const lastChangeOf = new FeatureState<LastChange>()

export class IdleTime {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  /** When the essence changed last, or was first seen; by the monotonic clock. */
  changedMs(object: WatchedObject): number {
    return lastChangeOf.get(object)?.changedMs ?? monotonicNow(this.#context.clock)
  }

  /** Returns whether the essence has changed. The status and stored progress do not count. (In Kopf, every event counts while no diffbase is stored.) */
  recordState(object: WatchedObject, body: KubeObject): boolean {
    const { clock, largeObjects, settings } = this.#context
    if (largeObjects.isTooLarge(body)) return false
    const before = lastChangeOf.get(object)
    const version = body.metadata.resourceVersion
    // The response to a write may arrive after the watch event of a later change.
    if (before !== undefined && isOlder(version, before.version)) return false
    const digest = digestEssence(essenceOf(settings, { body, extraFields: object.served.handlers.extraFields }))
    const isChanged = before !== undefined && before.digest !== digest
    const changedMs = before === undefined || isChanged ? monotonicNow(clock) : before.changedMs
    lastChangeOf.set(object, { digest, version, changedMs })
    return isChanged
  }

  forgetVersion(object: WatchedObject): void {
    const last = lastChangeOf.get(object)
    if (last !== undefined) lastChangeOf.set(object, { ...last, version: undefined })
  }
}
