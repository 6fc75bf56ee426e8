/** Values by resource, where the key is any notation of a selector: `settings.watching.labelSelectors` and its siblings. */
import { KopfError } from '../errors.ts'
import type { Resource, ResourceLike } from '../kube/resources.ts'
import { type ResourceSelector, toSelector } from '../kube/selectors.ts'

/** What a map of selectors can be made of: pairs, or an object where all keys are plain names. */
export type SelectorMapSource = Iterable<readonly [ResourceLike, string]> | Readonly<Record<string, string>>

interface Entry {
  readonly key: ResourceLike
  readonly selector: ResourceSelector
  readonly value: string
}

/** `map.set('pods', 'app=web')`, `map.set(['kopf.dev', EVERYTHING], 'team=a')`: the order of setting is kept. */
export class SelectorMap implements Iterable<readonly [ResourceLike, string]> {
  readonly #entries: Entry[] = []

  constructor(source: SelectorMapSource = []) {
    const pairs = isIterable(source) ? source : Object.entries(source)
    for (const [key, value] of pairs) this.set(key, value)
  }

  /** Replaces the value where the same selector was set before. */
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

  /** Whether there was anything to delete. */
  delete(key: ResourceLike): boolean {
    const index = this.#indexOf(key)
    if (index >= 0) this.#entries.splice(index, 1)
    return index >= 0
  }

  clear(): void {
    this.#entries.length = 0
  }

  get size(): number {
    return this.#entries.length
  }

  /** All values that apply to a resource, in the order they were set. */
  match(resource: Resource): string[] {
    return this.#entries.filter(({ selector }) => selector.matches(resource)).map(({ value }) => value)
  }

  *[Symbol.iterator](): Iterator<readonly [ResourceLike, string]> {
    for (const { key, value } of this.#entries) yield [key, value]
  }

  #indexOf(key: ResourceLike): number {
    const wanted = toSelector(key)
    return this.#entries.findIndex(({ selector }) => isSame(selector, wanted))
  }
}

/** Field by field: as texts, a kind and a plural of one name would be the same. */
function isSame(a: ResourceSelector, b: ResourceSelector): boolean {
  return (Object.keys(a) as (keyof ResourceSelector)[]).every((criterion) => a[criterion] === b[criterion])
}

function isIterable(source: SelectorMapSource): source is Iterable<readonly [ResourceLike, string]> {
  return Symbol.iterator in source
}
