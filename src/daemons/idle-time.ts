/** How long the essence of an object has not changed: for timers with `idle`. Sees every state before it is queued. */
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

  /** When the essence changed last, or was first seen. */
  changedMs(object: WatchedObject): number {
    return lastChangeOf.get(object)?.changedMs ?? monotonicNow(this.#context.clock)
  }

  /** Whether the essence has changed. Neither the status nor stored progress counts; in Kopf every event does as long as nothing is stored. */
  recordState(object: WatchedObject, body: KubeObject): boolean {
    const { clock, largeObjects, settings } = this.#context
    if (largeObjects.isTooLarge(body)) return false
    const before = lastChangeOf.get(object)
    const version = body.metadata.resourceVersion
    // The response to a write may come after the watch event of a later change.
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
