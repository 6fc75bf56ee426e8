/**
 * What has happened in a run so far, in numbers: what is watched, how many objects were there, how far they are worked off. Told by
 * the operator, asked by display.ts. Knows nothing of terminals.
 */
import type { Resource } from '../../kube/resources.ts'
import { formatResource } from '../../kube/selectors.ts'
import type { ObjectOutcome, RunObserver } from '../../operator.ts'

export interface Watched {
  readonly name: string
  /** One word for each handler. */
  readonly kinds: readonly string[]
  /** Undefined as long as they are not listed. */
  readonly objects: number | undefined
}

/** Objects that were there together, and what came of them. */
export interface Burst {
  readonly found: number
  readonly settled: number
  readonly outcomes: ReadonlyMap<ObjectOutcome, number>
  /** From the first one found to the last one settled; or until now, if some are left. */
  readonly tookMs: number
  /** Since the last of them was settled, or else since the first was found. */
  readonly stillMs: number
}

export class Account implements RunObserver {
  server: string | undefined
  readonly #now: () => number
  readonly #watched = new Map<string, Watched>()
  readonly #sinceMs: number
  #newsMs: number
  #outcomes = new Map<ObjectOutcome, number>()
  #found = 0
  #settled = 0
  #firstMs = 0
  #lastMs = 0

  constructor(now: () => number) {
    this.#now = now
    this.#sinceMs = now()
    this.#newsMs = now()
  }

  connected(server: string | undefined): void {
    this.server = server
  }

  served(resource: Resource, kinds: readonly string[]): void {
    const name = formatResource(resource)
    this.#watched.set(name, { name, kinds, objects: undefined })
    this.#newsMs = this.#now()
  }

  listed(resource: Resource, objects: number): void {
    const name = formatResource(resource)
    this.#watched.set(name, { name, kinds: this.#watched.get(name)?.kinds ?? [], objects })
    this.#newsMs = this.#now()
  }

  found(_resource: Resource): void {
    if (this.#found === 0) this.#firstMs = this.#now()
    this.#found += 1
    this.#newsMs = this.#lastMs = this.#now()
  }

  settled(_resource: Resource, outcome: ObjectOutcome): void {
    this.#settled += 1
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1)
    this.#lastMs = this.#now()
  }

  get watched(): readonly Watched[] {
    return [...this.#watched.values()]
  }

  get ageMs(): number {
    return this.#now() - this.#sinceMs
  }

  /** Since anything was listed last. */
  get quietMs(): number {
    return this.#now() - this.#newsMs
  }

  /** All that was found has been settled. */
  get isIdle(): boolean {
    return this.#settled === this.#found
  }

  get burst(): Burst {
    const endMs = this.isIdle ? this.#lastMs : this.#now()
    return {
      found: this.#found,
      settled: this.#settled,
      outcomes: this.#outcomes,
      tookMs: endMs - this.#firstMs,
      stillMs: this.#now() - this.#lastMs,
    }
  }

  /** What is found from now on belongs together. */
  closeBurst(): void {
    this.#outcomes = new Map()
    this.#found -= this.#settled
    this.#settled = 0
    this.#firstMs = this.#lastMs = this.#now()
  }
}
