/** Failures of the framework itself, per object: longer and longer pauses, and then another try, by itself. */
import { describeError } from '../core/handling/outcomes.ts'
import { KopfError } from '../errors.ts'
import { monotonicOf } from '../util/clock.ts'
import { toMs } from '../util/duration.ts'
import type { Logger } from '../util/log.ts'
import type { Memory } from './memories.ts'
import type { Runtime } from './runtime.ts'

/** With no delays configured there is no throttling, but a failure must not become a busy loop either. */
const shortestMs = 1000

export function throttle(runtime: Runtime, memory: Memory, logger: Logger, error: unknown): void {
  // What is interrupted because we stop has not failed.
  if (runtime.stopping.aborted) return
  const delays = [...runtime.settings.queueing.errorDelays]
  const delay = delays[Math.min(memory.failures, delays.length - 1)]
  const delayMs = delay === undefined ? shortestMs : toMs(delay)
  memory.failures += 1
  memory.throttledUntilMs = monotonicOf(runtime.clock) + delayMs
  runtime.alarms.setAfter(memory, delayMs)
  const message = `Throttling for ${delayMs / 1000} seconds due to an unexpected error: ${describeError(error)}`
  // Those of this package say what is the case; anything else is a bug, and shows where it is.
  logger.error(message, error instanceof KopfError ? {} : { error })
}

export function easeThrottle(memory: Memory, logger: Logger): void {
  if (memory.failures === 0) return
  memory.failures = 0
  memory.throttledUntilMs = -Infinity
  logger.info('Throttling is over. Switching back to normal operations.')
}
