/** One operator after another in the same process: the newest is started, the one before it has stopped or is left behind. */
import type { Operator, RunningOperator, RunOptions } from '../../operator.ts'
import { systemClock } from '../../util/clock.ts'
import { toMs } from '../../util/duration.ts'
import { within } from '../../util/within.ts'
import { toRunError } from '../failures.ts'
import type { Bundle } from './rebuild.ts'

/** Whoever saves a file does not wait for a handler of the old one: it is told to end, and called again by the new one. */
const handlersMs = 300
/** Then the next one is started beside it: a daemon that does not end must not keep one from working. */
const stoppingMs = 3000

export interface Generation {
  readonly operator: Operator
  readonly bundle: Bundle
  readonly running: RunningOperator
}

/** Rejects when the signal is aborted before it has started; afterwards the signal is of no effect. */
export async function startGeneration(
  operator: Operator,
  bundle: Bundle,
  { options, signal }: { readonly options: RunOptions; readonly signal: AbortSignal },
): Promise<Generation> {
  const starting = new AbortController()
  const interrupt = () => starting.abort(signal.reason)
  signal.addEventListener('abort', interrupt, { once: true })
  try {
    const running = await operator.start({ ...options, signal: starting.signal })
    starting.signal.throwIfAborted()
    return { operator, bundle, running }
  } catch (error) {
    await bundle[Symbol.asyncDispose]()
    throw toRunError(error)
  } finally {
    signal.removeEventListener('abort', interrupt)
  }
}

/** Answers whether all of it has ended; what has not goes on, and is not waited for. */
export async function stopGeneration({ operator, bundle, running }: Generation): Promise<boolean> {
  const { queueing } = operator.settings
  if (toMs(queueing.exitTimeout) > handlersMs) queueing.exitTimeout = handlersMs / 1000
  let hasEnded = false
  const stopped = running
    .stop()
    // What goes wrong on the way out is in the log; it must not keep the next one from its start.
    .catch(() => {})
    .then(async () => {
      hasEnded = true
      await bundle[Symbol.asyncDispose]()
    })
  await within(systemClock, stoppingMs, stopped)
  return hasEnded
}
