/**
 * Pauses the operator, as a whole or in single namespaces, while there is at least one reason (for example peering). Streams are
 * closed during a pause and opened again after it; the consequences for objects are in peering/peerings.ts. The callers own the
 * reasons.
 */
import { setMaxListeners } from 'node:events'
import { noLongerNeeded } from '../util/async/clock.ts'
import { Latch } from '../util/async/latch.ts'

/** The pause state of one namespace, or of the whole operator. */
class PauseScope {
  /** Texts for the log. */
  readonly reasons = new Set<string>()
  /** Aborted during the pause; replaced when the pause ends. */
  activity = createActivity()
  /** Closed during the pause; replaced when the next pause begins. */
  resumed = new Latch()

  get isPaused(): boolean {
    return this.reasons.size > 0
  }
}

export class Pause {
  readonly #operator = new PauseScope()
  /** Namespaces that have a reason, or streams that depend on the pause. */
  readonly #namespaces = new Map<string, PauseScope>()
  readonly #listeners: Array<(namespace: string | undefined) => void> = []
  #pausedNamespaces = 0

  /** Whether the whole operator is paused. */
  get isPaused(): boolean {
    return this.#operator.isPaused
  }

  /** The number of namespaces that are paused for their own reasons. */
  get pausedNamespaces(): number {
    return this.#pausedNamespaces
  }

  /** The reasons that pause the whole operator. */
  get reasons(): readonly string[] {
    return [...this.#operator.reasons]
  }

  /** Whether objects of this namespace are not handled; undefined for cluster-scoped objects. */
  isPausedIn(namespace: string | undefined): boolean {
    return this.isPaused || (namespace !== undefined && this.#namespaces.get(namespace)?.isPaused === true)
  }

  /**
   * Adds a reason, for a namespace or (undefined) for the whole operator. When it returns, the streams of that scope deliver no
   * more events.
   */
  hold(reason: string, namespace?: string): void {
    const scope = this.#scopeOf(namespace)
    const wasPaused = scope.isPaused
    scope.reasons.add(reason)
    if (wasPaused) return
    if (namespace !== undefined) this.#pausedNamespaces += 1
    scope.resumed = new Latch()
    scope.activity.abort(noLongerNeeded)
    this.#notify(namespace)
  }

  release(reason: string, namespace?: string): void {
    const scope = this.#scopeOf(namespace)
    if (!scope.reasons.delete(reason) || scope.isPaused) return
    if (namespace !== undefined) this.#pausedNamespaces -= 1
    scope.activity = createActivity()
    this.#notify(namespace)
    scope.resumed.open()
  }

  /** Called when the namespace is deleted and its streams are closed. */
  forget(namespace: string): void {
    if (this.#namespaces.get(namespace)?.isPaused === false) this.#namespaces.delete(namespace)
  }

  /** The listener is called when a pause begins or ends, with the namespace; with undefined for the whole operator. */
  onChange(listener: (namespace: string | undefined) => void): void {
    this.#listeners.push(listener)
  }

  /**
   * Runs the work while the namespace is not paused: aborts it when a pause begins, and starts it again when the pause ends.
   * Resolves when the signal is aborted.
   */
  async whileActive(
    work: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
    namespace?: string,
  ): Promise<void> {
    const scopes = namespace === undefined ? [this.#operator] : [this.#operator, this.#scopeOf(namespace)]
    while (!signal.aborted) {
      const paused = scopes.find(({ isPaused }) => isPaused)
      if (paused !== undefined) await paused.resumed.wait(signal).catch(() => {})
      else await work(AbortSignal.any([signal, ...scopes.map(({ activity }) => activity.signal)]))
    }
  }

  #scopeOf(namespace: string | undefined): PauseScope {
    if (namespace === undefined) return this.#operator
    const scope = this.#namespaces.get(namespace) ?? new PauseScope()
    this.#namespaces.set(namespace, scope)
    return scope
  }

  #notify(namespace: string | undefined): void {
    for (const listener of this.#listeners) listener(namespace)
  }
}

/** Every stream listens to this signal. The many listeners are no leak, so Node's warning is switched off. */
function createActivity(): AbortController {
  const activity = new AbortController()
  setMaxListeners(0, activity.signal)
  return activity
}
