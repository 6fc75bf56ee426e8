/**
 * Lifecycles: functions that select which due handlers are called next, and in which order. changes/cycle.ts calls the lifecycle repeatedly
 * in one handling cycle until no handler is due, so the lifecycle does not change the number of writes. Users may write their own.
 */

/** A handler that is due, as a lifecycle gets it. */
export interface DueHandler {
  /** The handler type: `create`, `update`, `field` and so on; `subhandler` for sub-handlers. */
  readonly type: string
  /** The id of the handler, with its field if it has one. */
  readonly id: string
  /** The option `param` of the handler. */
  readonly param: unknown
}

/** The second argument of a lifecycle. */
export interface LifecycleContext {
  /** Returns the number of attempts of a handler for the current cause. */
  readonly retriesOf: (handler: DueHandler) => number
  /** Returns a random number from 0 to below 1, like `Math.random`. Tests can replace it. */
  readonly random: () => number
}

/**
 * Selects the change handlers that are called next, among the due ones. The lifecycle is called again with the remaining handlers until all
 * were called. For the option `lifecycle` of an operator or a run.
 *
 * @example
 * ```ts
 * const byId: Lifecycle = (handlers) => [...handlers].sort((a, b) => a.id.localeCompare(b.id))
 * const kopf = new Operator({ lifecycle: byId })
 * ```
 */
export type Lifecycle = <H extends DueHandler>(handlers: readonly H[], context: LifecycleContext) => readonly H[]

const allAtOnce: Lifecycle = (handlers) => handlers

const oneByOne: Lifecycle = (handlers) => handlers.slice(0, 1)

const randomized: Lifecycle = (handlers, { random }) => {
  const index = Math.floor(random() * handlers.length)
  return handlers.slice(index, index + 1)
}

/** Fisher-Yates. */
const shuffled: Lifecycle = (handlers, { random }) => {
  const order = [...handlers]
  for (let last = order.length - 1; last > 0; last -= 1) {
    const index = Math.floor(random() * (last + 1))
    ;[order[last], order[index]] = [order[index]!, order[last]!]
  }
  return order
}

const asap: Lifecycle = (handlers, { retriesOf }) => {
  // Sorting is stable: among equal numbers of attempts, the order of registration decides.
  return [...handlers].sort((a, b) => retriesOf(a) - retriesOf(b)).slice(0, 1)
}

/** The type of `lifecycles`. */
export interface Lifecycles {
  /** All due handlers, in the order of registration. The default. */
  readonly allAtOnce: Lifecycle
  /** The first due handler in the order of registration. */
  readonly oneByOne: Lifecycle
  /** One due handler, chosen at random. */
  readonly randomized: Lifecycle
  /** All due handlers, in random order. */
  readonly shuffled: Lifecycle
  /** The due handler with the fewest attempts; among several, the first registered. Kopf's default. */
  readonly asap: Lifecycle
}

/**
 * The predefined lifecycles, for the option `lifecycle` of an operator or a run.
 *
 * @example
 * ```ts
 * const kopf = new Operator({ lifecycle: lifecycles.oneByOne })
 * ```
 */
export const lifecycles: Lifecycles = { allAtOnce, oneByOne, randomized, shuffled, asap }

/** Differs from Kopf, whose default is `asap` with one handler and one write per cycle. */
export const defaultLifecycle: Lifecycle = allAtOnce
