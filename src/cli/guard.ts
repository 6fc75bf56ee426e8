/** The guard thread of a command that runs an operator: there before its files are loaded, which may block as well. */
import type { Operator } from '../operator.ts'
import { toMs } from '../util/duration.ts'
import { type LoopGuard, startLoopGuard } from '../util/loop-guard.ts'
import type { CommandLogging } from './logging-options.ts'

/** As the setting is by default: until the operator is known. */
const loadingLimitMs = 5000

export class CommandGuard {
  readonly #guard: LoopGuard
  #operator: Operator | undefined

  constructor(logging: CommandLogging, { endsWithParent = false }: { readonly endsWithParent?: boolean } = {}) {
    const { sink, lines } = logging
    this.#guard = startLoopGuard({ sink, lines, endsWithParent, limitMs: () => this.#limitMs() })
    logging.onChange = () => this.#guard.setLines(logging.lines)
  }

  /** From now on, the settings of this operator say how long a blocked loop is waited for, and whether it is watched at all. */
  follow(operator: Operator): void {
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
