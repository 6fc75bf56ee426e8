/** What daemons and timers need of the house they run in; `O` stands for the object. Given by running/background.ts. */
import type { Handler } from '../../core/handling/handler.ts'
import type { CallWatch } from '../../core/handling/invoke.ts'
import type { Wishes } from '../../core/handling/results.ts'
import type { BackgroundSettings } from '../../core/settings-groups.ts'
import type { Clock } from '../../util/clock.ts'
import type { Logger } from '../../util/log.ts'

export interface Host<O> {
  readonly clock: Clock
  readonly settings: BackgroundSettings
  readonly defaultBackoffMs: () => number
  /** Aborted when the operator begins to stop: nothing is called any more then. */
  readonly stopping: AbortSignal
  /** Whether the operator stands back from the object: nothing is started for it then. */
  isPaused(owner: O): boolean
  /** Who names calls that block, or do not come back. */
  watchOf(handler: Handler): CallWatch
  loggerOf(owner: O): Logger
  /** What its functions are given: as the object is now, or live. A new one each time. */
  argsOf(owner: O, handler: Handler, logger: Logger): object
  /** For a timer of a large object: resolves when it may be parsed, with the function to be called afterwards. */
  reserve(owner: O, handler: Handler): Promise<() => void> | undefined
  /** Whether the handler is for the object as it is now: not for one that is on its way out. */
  isFor(owner: O, handler: Handler): boolean
  /** When the object has changed, or was first seen; by the clock that nobody sets. */
  changedMs(owner: O): number
  /** Resolves when it is written, or somebody else sees to it. Never rejects. */
  write(owner: O, handler: Handler, wishes: Wishes): Promise<void>
  /** Something has come to an end: what follows for the object is not decided here. */
  lookAgain(owner: O): void
}
