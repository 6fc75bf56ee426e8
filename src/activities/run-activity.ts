/** Calls activity handlers one after the other, each until it has succeeded or failed permanently. */

import { KopfError } from '../errors.ts'
import type { Handler } from '../handlers/handler.ts'
import { type CallWatch, callHandler } from '../handlers/invoke.ts'
import type { Outcome } from '../handlers/outcomes.ts'
import type { Observer } from '../observer.ts'
import type { Clock } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import type { Tracing } from '../util/tracing/spans.ts'

export interface RunActivityOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly watch: CallWatch
  readonly observer: Observer | undefined
  readonly tracing: Tracing | undefined
  readonly defaultBackoffMs: number
  readonly signal: AbortSignal
  /** The arguments of all handlers. */
  readonly args: object
  /** Converts a result. If it throws, the attempt has failed. */
  readonly finish?: (result: unknown) => unknown
}

/** The outcomes of activity handlers, by handler id. */
export interface ActivityOutcomes {
  /** The results, without handlers that returned nothing and without ignored errors. */
  readonly results: ReadonlyMap<string, unknown>
  /** The errors of handlers that have failed permanently. */
  readonly failures: ReadonlyMap<string, unknown>
}

export type SettledActivity = Exclude<Outcome, { readonly type: 'retry' }>

/** Calls all handlers, even if one of them fails. Rejects only with the reason of the signal. */
export async function runActivities(
  handlers: readonly Handler[],
  options: RunActivityOptions,
): Promise<ActivityOutcomes> {
  const results = new Map<string, unknown>()
  const failures = new Map<string, unknown>()
  for (const handler of handlers) {
    const outcome = await runActivity(handler, options)
    if (outcome.type === 'failed') failures.set(handler.id, outcome.error)
    else if (outcome.result !== undefined && outcome.result !== null) results.set(handler.id, outcome.result)
  }
  return { results, failures }
}

/** Calls all handlers; then rejects with the first permanent failure. */
export async function requireActivities(handlers: readonly Handler[], options: RunActivityOptions): Promise<void> {
  const { failures } = await runActivities(handlers, options)
  for (const [id, cause] of failures) {
    const type = handlers.find((handler) => handler.id === id)?.type
    const message = `Cannot continue: the ${type} handler "${id}" has failed: ${describeError(cause)}`
    throw new KopfError('KOPF_ACTIVITY', message, { cause })
  }
}

export async function runActivity(handler: Handler, options: RunActivityOptions): Promise<SettledActivity> {
  const { signal, args, finish, ...invoking } = options
  const startedMs = options.clock.now()
  for (let retries = 0; ; retries += 1) {
    const { outcome } = await callHandler({ ...invoking, object: undefined }, handler, {
      start: { startedMs, retries },
      args: (own) => ({ ...args, ...own, signal }),
      ...(finish === undefined ? {} : { finish }),
    })
    if (outcome.type !== 'retry') return outcome
    await options.clock.sleep(outcome.delayMs, signal)
  }
}
