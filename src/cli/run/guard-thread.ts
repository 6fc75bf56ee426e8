/** The guard thread of a command that runs an operator. Started before the files are loaded, since loading may block the event loop, too. */
import type { Operator } from '../../operator.ts'
import { type LoopGuard, type LoopGuardOptions, startLoopGuard } from '../../util/process/loop-guard.ts'
import { toMs } from '../../util/text/duration.ts'
import type { CommandLogging } from '../options/logging.ts'

/** The limit until the operator is loaded: the default of `settings.process.blockedExitTimeout`. */
const loadingLimitMs = 5000

export class CommandGuard {
  readonly #guard: LoopGuard
  #operator: Operator | undefined

  constructor(logging: CommandLogging, options: Pick<LoopGuardOptions, 'endsWithParent' | 'onBlocked'> = {}) {
    const { sink, lines } = logging
    this.#guard = startLoopGuard({ ...options, sink, logging: lines, limitMs: () => this.#limitMs() })
    logging.onChange = () => this.#guard.setLogging(logging.lines)
  }

  /** Uses the settings of this operator from now on: the time limit, and whether the event loop is watched at all. */
  useSettingsOf(operator: Operator): void {
    this.#operator = operator
    if (!operator.settings.process.guard) this.#guard[Symbol.dispose]()
  }

  stopping(): void {
    this.#guard.stopping()
  }

  #limitMs(): number | undefined {
    const limit = this.#operator?.settings.process.blockedExitTimeout
    if (limit === undefined) return loadingLimitMs
    return limit === null ? undefined : toMs(limit, 'process.blockedExitTimeout')
  }
}
