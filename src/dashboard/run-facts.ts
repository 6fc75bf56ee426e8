/** What the dashboard knows of a run: the parts that its views read and its actions use. Given by run/run.ts. */
import type { Session } from '../client/session.ts'
import type { Registry } from '../handlers/registry.ts'
import type { Watchdog } from '../handlers/watchdog.ts'
import type { Health } from '../health/health.ts'
import type { ObjectJournal } from '../journal/journal.ts'
import type { ReconcilingContext } from '../reconciling/context.ts'
import type { Settings } from '../settings/settings.ts'
import type { Clock } from '../util/async/clock.ts'
import type { Logger } from '../util/log/log.ts'
import type { Pause } from '../watching/pause.ts'

export interface RunFacts {
  /** The name of the operator. */
  readonly name: string | undefined
  readonly registry: Registry
  readonly settings: Settings
  readonly clock: Clock
  readonly logger: Logger
  readonly health: Health
  readonly watchdog: Pick<Watchdog, 'lagMs'>
  readonly pause: Pick<Pause, 'isPaused' | 'isPausedIn'>
  readonly journal: ObjectJournal | undefined
  /** Creates the memo for filters that use it, when an object is explained. */
  readonly createMemo: () => object
  /** A session for requests that a candidate may send too. */
  readonly session: () => Session
  /** Undefined until the operator is connected. */
  readonly context: () => ReconcilingContext | undefined
  /** Aborted when the operator has ended. */
  readonly signal: AbortSignal
}
