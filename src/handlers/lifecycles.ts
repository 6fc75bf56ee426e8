/**
 * Which of the handlers that are due go now, and in what order. Those left out are offered again when these have been
 * called, in the same cycle: whatever the lifecycle, all are written together. Users may write their own.
 */
import type { Handler } from './handler.ts'

/** What a lifecycle can go by. */
export interface LifecycleContext {
  /** How often a handler was tried before, for this cause. */
  readonly retriesOf: (handler: Handler) => number
  /** From 0 to below 1, as `Math.random`. */
  readonly random: () => number
}

/** Picks the handlers to be called now among those that are due; the others get their turn in later cycles. */
export type Lifecycle = (handlers: readonly Handler[], context: LifecycleContext) => readonly Handler[]

/** All of them, in the order of registration: one cycle and one write, whatever their number. */
const allAtOnce: Lifecycle = (handlers) => handlers

/** The first one only. */
const oneByOne: Lifecycle = (handlers) => handlers.slice(0, 1)

/** One of them, by chance. */
const randomized: Lifecycle = (handlers, { random }) => {
  const index = Math.floor(random() * handlers.length)
  return handlers.slice(index, index + 1)
}

/** All of them, in an order of chance. */
const shuffled: Lifecycle = (handlers, { random }) => {
  const order = [...handlers]
  for (let last = order.length - 1; last > 0; last -= 1) {
    const index = Math.floor(random() * (last + 1))
    ;[order[last], order[index]] = [order[index]!, order[last]!]
  }
  return order
}

/** The one that was tried least often; of several, the first registered. Kopf's own default. */
const asap: Lifecycle = (handlers, { retriesOf }) => {
  // Sorting is stable: the order of registration decides among equals.
  return [...handlers].sort((a, b) => retriesOf(a) - retriesOf(b)).slice(0, 1)
}

export interface Lifecycles {
  readonly allAtOnce: Lifecycle
  readonly oneByOne: Lifecycle
  readonly randomized: Lifecycle
  readonly shuffled: Lifecycle
  readonly asap: Lifecycle
}

/** The ready-made ones, for the option `lifecycle` of an operator. */
export const lifecycles: Lifecycles = { allAtOnce, oneByOne, randomized, shuffled, asap }

/** Kopf's is `asap`: one handler, and one write, per cycle. */
export const defaultLifecycle: Lifecycle = allAtOnce
