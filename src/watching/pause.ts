/**
 * Whether the operator stands back, everywhere or in some namespaces: it does while there is a reason. Streams come here to be ended
 * and begun again; what else follows for the objects is in peering/peerings.ts. Knows nothing of who has the reasons.
 */
import { setMaxListeners } from 'node:events'
import { noLongerNeeded } from '../util/async/clock.ts'
import { Latch } from '../util/async/latch.ts'

/** A part of the operator that is paused as a whole: one namespace, or everything. */
class PausedNamespace {
  /** In words, for the log. */
  readonly reasons = new Set<string>()
  /** Aborted while the place is paused; a new one each time it goes on. */
  activity = createActivity()
  /** Closed while the place is paused; a new one each time it is. */
  resumed = new Latch()

  get isPaused(): boolean {
    return this.reasons.size > 0
  }
}

export class Pause {
  readonly #everything = new PausedNamespace()
  /** Those in which there is a reason, or work that asks for it. */
  readonly #namespaces = new Map<string, PausedNamespace>()
  readonly #listeners: Array<(namespace: string | undefined) => void> = []
  #pausedNamespaces = 0

  /** Whether all of it is paused. */
  get isPaused(): boolean {
    return this.#everything.isPaused
  }

  /** How many namespaces are paused, each for its own reasons. */
  get pausedNamespaces(): number {
    return this.#pausedNamespaces
  }

  /** For all of it. */
  get reasons(): readonly string[] {
    return [...this.#everything.reasons]
  }

  /** Whether objects of this namespace are left alone; undefined for objects that have none. */
  isPausedIn(namespace: string | undefined): boolean {
    return this.isPaused || (namespace !== undefined && this.#namespaces.get(namespace)?.isPaused === true)
  }

  /** Takes effect before it returns: nothing comes from any stream of the namespace any more; without one, from any stream. */
  hold(reason: string, namespace?: string): void {
    const place = this.#placeOf(namespace)
    const wasPaused = place.isPaused
    place.reasons.add(reason)
    if (wasPaused) return
    if (namespace !== undefined) this.#pausedNamespaces += 1
    place.resumed = new Latch()
    place.activity.abort(noLongerNeeded)
    this.#tell(namespace)
  }

  release(reason: string, namespace?: string): void {
    const place = this.#placeOf(namespace)
    if (!place.reasons.delete(reason) || place.isPaused) return
    if (namespace !== undefined) this.#pausedNamespaces -= 1
    place.activity = createActivity()
    this.#tell(namespace)
    place.resumed.open()
  }

  /** The namespace is gone, and nothing there asks any more. */
  forget(namespace: string): void {
    if (this.#namespaces.get(namespace)?.isPaused === false) this.#namespaces.delete(namespace)
  }

  /** Called with the namespace when it is paused and when it goes on; without one for everything. */
  onChange(listener: (namespace: string | undefined) => void): void {
    this.#listeners.push(listener)
  }

  /** Begins the work whenever it is not paused there, and ends it when it is; until the signal is aborted. */
  async whileActive(
    work: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
    namespace?: string,
  ): Promise<void> {
    const places = namespace === undefined ? [this.#everything] : [this.#everything, this.#placeOf(namespace)]
    while (!signal.aborted) {
      const paused = places.find(({ isPaused }) => isPaused)
      if (paused !== undefined) await paused.resumed.wait(signal).catch(() => {})
      else await work(AbortSignal.any([signal, ...places.map(({ activity }) => activity.signal)]))
    }
  }

  #placeOf(namespace: string | undefined): PausedNamespace {
    if (namespace === undefined) return this.#everything
    const place = this.#namespaces.get(namespace) ?? new PausedNamespace()
    this.#namespaces.set(namespace, place)
    return place
  }

  #tell(namespace: string | undefined): void {
    for (const listener of this.#listeners) listener(namespace)
  }
}

/** As many listen as there are streams: that is no leak. */
function createActivity(): AbortController {
  const activity = new AbortController()
  setMaxListeners(0, activity.signal)
  return activity
}
