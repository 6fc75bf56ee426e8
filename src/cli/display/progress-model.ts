/**
 * The progress of a run in numbers: the watched resources, the found objects and the processed ones. An observer of the run, polled by
 * display.ts. Independent of terminals.
 */
import type { Resource } from '../../kube/resources/resources.ts'
import { formatResource } from '../../kube/resources/selectors.ts'
import type { ObjectOutcome, Observer } from '../../observer.ts'

export interface WatchedProgress {
  readonly name: string
  /** The handler types, one for each handler. */
  readonly handlerTypes: readonly string[]
  /** Undefined until the objects are listed. */
  readonly objects: number | undefined
}

/** A group of objects that were found together, and their outcomes. */
export interface ChangeBurst {
  readonly found: number
  readonly settled: number
  readonly outcomes: ReadonlyMap<ObjectOutcome, number>
  /** The time from the first object found to the last one settled, or until now if some are not settled. */
  readonly tookMs: number
  /** The time since the last object was found or settled. */
  readonly sinceLastMs: number
}

export class ProgressModel implements Observer {
  server: string | undefined
  readonly #now: () => number
  readonly #watched = new Map<string, WatchedProgress>()
  readonly #sinceMs: number
  #listedMs: number
  #outcomes = new Map<ObjectOutcome, number>()
  #found = 0
  #settled = 0
  #firstMs = 0
  #lastMs = 0

  constructor(now: () => number) {
    this.#now = now
    this.#sinceMs = now()
    this.#listedMs = now()
  }

  connected({ server }: { readonly server: string | undefined }): void {
    this.server = server
  }

  resourceServed({
    resource,
    handlerTypes,
  }: {
    readonly resource: Resource
    readonly handlerTypes: readonly string[]
  }): void {
    const name = formatResource(resource)
    this.#watched.set(name, { name, handlerTypes, objects: undefined })
    this.#listedMs = this.#now()
  }

  listed({ resource, objects }: { readonly resource: Resource; readonly objects: number }): void {
    const name = formatResource(resource)
    this.#watched.set(name, { name, handlerTypes: this.#watched.get(name)?.handlerTypes ?? [], objects })
    this.#listedMs = this.#now()
  }

  objectFound(): void {
    if (this.#found === 0) this.#firstMs = this.#now()
    this.#found += 1
    this.#listedMs = this.#lastMs = this.#now()
  }

  objectHandled({ outcome }: { readonly outcome: ObjectOutcome }): void {
    this.#settled += 1
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1)
    this.#lastMs = this.#now()
  }

  get watched(): readonly WatchedProgress[] {
    return [...this.#watched.values()]
  }

  get ageMs(): number {
    return this.#now() - this.#sinceMs
  }

  /** The time since a resource was last listed or an object was found. */
  get quietMs(): number {
    return this.#now() - this.#listedMs
  }

  /** Whether all found objects are settled. */
  get isIdle(): boolean {
    return this.#settled === this.#found
  }

  get burst(): ChangeBurst {
    const endMs = this.isIdle ? this.#lastMs : this.#now()
    return {
      found: this.#found,
      settled: this.#settled,
      outcomes: this.#outcomes,
      tookMs: endMs - this.#firstMs,
      sinceLastMs: this.#now() - this.#lastMs,
    }
  }

  /** Starts a new group with the objects that are not settled. */
  startBurst(): void {
    this.#outcomes = new Map()
    this.#found -= this.#settled
    this.#settled = 0
    this.#firstMs = this.#lastMs = this.#now()
  }
}
