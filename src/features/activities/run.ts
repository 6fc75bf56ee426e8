/** Handlers of the operator itself: called one after the other, again where they ask for it, until all are through. */
import type { Handler } from '../../core/handling/handler.ts'
import { attempt, type CallWatch } from '../../core/handling/invoke.ts'
import { describeError, type Outcome } from '../../core/handling/outcomes.ts'
import { KopfError } from '../../errors.ts'
import type { Clock } from '../../util/clock.ts'
import type { Logger } from '../../util/log.ts'

export interface ActivityOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly watch: CallWatch
  readonly defaultBackoffMs: number
  readonly signal: AbortSignal
  /** What all of them get. */
  readonly args: object
  /** Gives a result its final form; where it throws, the attempt has failed. */
  readonly finish?: (result: unknown) => unknown
}

/** What has become of them, by id. */
export interface ActivityOutcomes {
  /** Without those that had nothing to say, and those whose errors are ignored. */
  readonly results: ReadonlyMap<string, unknown>
  /** Why they have failed for good. */
  readonly failures: ReadonlyMap<string, unknown>
}

export type Settled = Exclude<Outcome, { readonly type: 'retry' }>

/** All are tried, whatever becomes of the others. Rejects only with the reason of the signal. */
export async function runActivities(handlers: readonly Handler[], options: ActivityOptions): Promise<ActivityOutcomes> {
  const results = new Map<string, unknown>()
  const failures = new Map<string, unknown>()
  for (const handler of handlers) {
    const outcome = await runActivity(handler, options)
    if (outcome.type === 'failed') failures.set(handler.id, outcome.error)
    else if (outcome.result !== undefined && outcome.result !== null) results.set(handler.id, outcome.result)
  }
  return { results, failures }
}

/** For those that all have to succeed: rejects with the first failure that is final, after all have been tried. */
export async function requireActivities(handlers: readonly Handler[], options: ActivityOptions): Promise<void> {
  const { failures } = await runActivities(handlers, options)
  for (const [id, cause] of failures) {
    const kind = handlers.find((handler) => handler.id === id)?.kind
    const message = `Cannot go on: the ${kind} handler "${id}" has failed: ${describeError(cause)}`
    throw new KopfError('KOPF_ACTIVITY', message, { cause })
  }
}

export async function runActivity(handler: Handler, options: ActivityOptions): Promise<Settled> {
  const { signal, args, finish = (result) => result, ...invoking } = options
  const startedMs = options.clock.now()
  for (let retries = 0; ; retries += 1) {
    const outcome = await attempt(
      invoking,
      handler,
      { startedMs, retries },
      { args: (retryArgs) => ({ ...args, ...retryArgs, param: handler.param, signal }), finish },
    )
    if (outcome.type !== 'retry') return outcome
    await options.clock.sleep(outcome.delayMs, signal)
  }
}
