/**
 * Watches one object by name and keeps its newest state. Used by the parts of the operator that manage a single object: the Lease of the
 * leader election, a peering, a webhook configuration. The informer only reads; its owner writes the object.
 */
import type { KubeObject } from '../kube/objects.ts'
import { type ReflectOptions, reflect } from './reflector.ts'
import { isOlder } from './resource-version.ts'
import type { ReflectedEvent } from './watch-events.ts'
import type { WatchState } from './watch-observer.ts'

export interface ObjectInformerOptions
  extends Pick<ReflectOptions, 'session' | 'clock' | 'random' | 'watching' | 'resource' | 'namespace'> {
  readonly name: string
  /** Called after every state from the watch; null if the object does not exist. `previous` is the state before it. */
  readonly onChange: (object: KubeObject | null, previous: KubeObject | null | undefined) => void
  /** Called after every failed attempt to list or watch. The informer retries by itself. */
  readonly onWatchError: (error: unknown, attempt: number) => void
}

export class ObjectInformer {
  readonly #options: ObjectInformerOptions
  #object: KubeObject | null | undefined
  /** The resource version of the last state, or of the deletion. Undefined if the version of the deletion is not known. */
  #version: string | undefined
  /** Whether the list that is being read contains the object. */
  #isListed = false
  #absences = 0

  constructor(options: ObjectInformerOptions) {
    this.#options = options
  }

  /** The newest known state; null if the object does not exist. Undefined until the first list, or while listing is forbidden. */
  get object(): KubeObject | null | undefined {
    return this.#object
  }

  /**
   * How often a list has shown that the object does not exist. If the number grows during a request, the response may describe an object that
   * was deleted since.
   */
  get absences(): number {
    return this.#absences
  }

  /** Resolves when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { name, onChange: _, onWatchError, ...options } = this.#options
    const observer = {
      watchStateChanged: (state: WatchState) => {
        if (state.type === 'broken') onWatchError(state.error, state.attempt)
      },
      watchWarned: () => {},
    }
    const selectors = { fieldSelector: `metadata.name=${name}` }
    await reflect({ ...options, selectors, observer }, (event) => this.#receive(event), signal)
  }

  /** Takes the state from the response to a write, without calling `onChange`. Returns false if a newer state is known. */
  accept(object: KubeObject): boolean {
    const { resourceVersion } = object.metadata
    if (isOlder(resourceVersion, this.#version)) return false
    this.#object = object
    this.#version = resourceVersion
    return true
  }

  /** Takes the state that a GET request has read from etcd, and calls `onChange`. Null if the response was 404. */
  replace(object: KubeObject | null): void {
    this.#change(object, object?.metadata.resourceVersion)
  }

  #receive(event: ReflectedEvent): void {
    if (event.type === 'listed') {
      const isAbsent = !this.#isListed
      this.#isListed = false
      if (isAbsent) this.#markAbsent()
    } else if (event.type === 'deleted' && event.missed) {
      this.#markAbsent()
    } else {
      const isListed = event.type === 'applied' && event.event === null
      const { resourceVersion } = event.object.metadata
      this.#isListed ||= isListed
      // A listed state counts even if it is older than the known one: the cluster may have been restored from a backup.
      if (!isListed && isOlder(resourceVersion, this.#version)) return
      this.#change(event.type === 'applied' ? event.object : null, resourceVersion)
    }
  }

  #markAbsent(): void {
    this.#absences += 1
    this.#change(null, undefined)
  }

  #change(object: KubeObject | null, version: string | undefined): void {
    const previous = this.#object
    this.#object = object
    this.#version = version
    this.#options.onChange(object, previous)
  }
}
