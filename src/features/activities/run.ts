/** Handlers of the operator itself: called one after the other, again where they ask for it, until all are through. */
import type { Handler } from '../../core/handling/handler.ts'
import { attempt, type CallWatch } from '../../core/handling/invoke.ts'
import { describeError } from '../../core/handling/outcomes.ts'
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
}

/** Rejects with the first failure that is final, after all have been tried. */
export async function runActivities(handlers: readonly Handler[], options: ActivityOptions): Promise<void> {
  const failures: Array<readonly [Handler, unknown]> = []
  for (const handler of handlers) {
    const failure = await runActivity(handler, options)
    if (failure !== undefined) failures.push([handler, failure.error])
  }
  const [first] = failures
  if (first === undefined) return
  const [handler, cause] = first
  const message = `Cannot go on: the ${handler.kind} handler "${handler.id}" has failed: ${describeError(cause)}`
  throw new KopfError('KOPF_ACTIVITY', message, { cause })
}

async function runActivity(
  handler: Handler,
  { signal, args, ...options }: ActivityOptions,
): Promise<{ readonly error: unknown } | undefined> {
  const startedMs = options.clock.now()
  for (let retries = 0; ; retries += 1) {
    const outcome = await attempt(
      { ...options, what: 'Activity' },
      handler,
      { startedMs, retries },
      {
        args: (retryArgs) => ({ ...args, ...retryArgs, param: handler.param, signal }),
        finish: (result) => result,
      },
    )
    if (outcome.type === 'done') return undefined
    if (outcome.type === 'failed') return { error: outcome.error }
    await options.clock.sleep(outcome.delayMs, signal)
  }
}
