/**
 * The labels of handlers and namespaces in the series of the operator. Their number is bounded: only registered handlers have a label of their own, since the
 * ids of sub-handlers may come from objects, and only so many namespaces.
 */
import type { ObservedHandler } from '../../observer.ts'
import { overflowValue } from '../metric.ts'

/** The number of namespaces that have series of their own with `settings.metrics.namespaces`. */
export const maxNamespaces = 200

export class HandlerLabels {
  readonly #ids: ReadonlySet<string>
  readonly #maxLength: number
  /** The number of ids of sub-handlers that are remembered, so that most calls need no search. */
  readonly #known = new Map<string, string>()

  constructor(handlers: readonly Pick<ObservedHandler, 'id'>[]) {
    this.#ids = new Set(handlers.map(({ id }) => id))
    this.#maxLength = Math.max(0, ...handlers.map(({ id }) => id.length))
  }

  /** The id of a registered handler. For a sub-handler, that of its registered parent. */
  of({ id, type }: ObservedHandler): string {
    if (type !== 'subhandler') return this.#ids.has(id) ? id : overflowValue
    return this.#known.get(id) ?? this.#remember(id, this.#parentOf(id))
  }

  /** The longest registered id that the id begins with, up to a slash. */
  #parentOf(id: string): string {
    let parent = overflowValue
    for (let at = id.indexOf('/'); at !== -1 && at <= this.#maxLength; at = id.indexOf('/', at + 1)) {
      const candidate = id.slice(0, at)
      if (this.#ids.has(candidate)) parent = candidate
    }
    return parent
  }

  #remember(id: string, parent: string): string {
    if (this.#known.size < maxRemembered && id.length <= maxRememberedLength) this.#known.set(id, parent)
    return parent
  }
}

const maxRemembered = 1000
const maxRememberedLength = 200

export class NamespaceLabels {
  readonly #known = new Set<string>()

  /** The namespace, or `other` beyond the limit. Empty for cluster-scoped objects. */
  of(namespace: string | undefined): string {
    if (namespace === undefined) return ''
    if (this.#known.has(namespace)) return namespace
    if (this.#known.size >= maxNamespaces) return overflowValue
    this.#known.add(namespace)
    return namespace
  }
}
