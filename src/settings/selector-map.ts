/** A map from resource selectors, in any notation, to strings: the type of `settings.watching.labelSelectors` and the like. */
import { KopfError } from '../errors.ts'
import type { Resource, ResourceLike } from '../kube/resources/resources.ts'
import { type ResourceSelector, toSelector } from '../kube/resources/selectors.ts'

/** The accepted inputs of a `SelectorMap`: pairs, or an object whose keys are resource names. */
export type SelectorMapSource = Iterable<readonly [ResourceLike, string]> | Readonly<Record<string, string>>

interface SelectorEntry {
  readonly key: ResourceLike
  readonly selector: ResourceSelector
  readonly value: string
}

/**
 * Strings by resource selector, in the order in which they were set. The key is any notation of a resource.
 *
 * @example
 * ```ts
 * settings.watching.labelSelectors.set('pods', 'app=web')
 * settings.watching.labelSelectors.set(['kopf.dev', EVERYTHING], 'team=a')
 * ```
 */
export class SelectorMap implements Iterable<readonly [ResourceLike, string]> {
  readonly #entries: SelectorEntry[] = []

  constructor(source: SelectorMapSource = []) {
    const pairs = isIterable(source) ? source : Object.entries(source)
    for (const [key, value] of pairs) this.set(key, value)
  }

  /** Sets the value of a selector, and replaces an earlier value of the same selector. */
  set(key: ResourceLike, value: string): this {
    if (typeof value !== 'string') {
      throw new KopfError(
        'KOPF_SETTINGS',
        `Cannot set a selector for ${toSelector(key)}: expected a string such as "app=web", got ${typeof value}`,
      )
    }
    const selector = toSelector(key)
    const index = this.#indexOf(key)
    if (index < 0) this.#entries.push({ key, selector, value })
    else this.#entries[index] = { key, selector, value }
    return this
  }

  /** Removes a selector. Returns whether the map had it. */
  delete(key: ResourceLike): boolean {
    const index = this.#indexOf(key)
    if (index >= 0) this.#entries.splice(index, 1)
    return index >= 0
  }

  /** Removes all selectors. */
  clear(): void {
    this.#entries.length = 0
  }

  /** The number of selectors. */
  get size(): number {
    return this.#entries.length
  }

  /** The values of all selectors that match a resource, in the order in which they were set. */
  match(resource: Resource): string[] {
    return this.#entries.filter(({ selector }) => selector.matches(resource)).map(({ value }) => value)
  }

  *[Symbol.iterator](): Iterator<readonly [ResourceLike, string]> {
    for (const { key, value } of this.#entries) yield [key, value]
  }

  #indexOf(key: ResourceLike): number {
    const requested = toSelector(key)
    return this.#entries.findIndex(({ selector }) => isSame(selector, requested))
  }
}

/** Compares field by field: as strings, a kind and a plural with the same name would be equal. */
function isSame(a: ResourceSelector, b: ResourceSelector): boolean {
  return (Object.keys(a) as (keyof ResourceSelector)[]).every((criterion) => a[criterion] === b[criterion])
}

function isIterable(source: SelectorMapSource): source is Iterable<readonly [ResourceLike, string]> {
  return Symbol.iterator in source
}
