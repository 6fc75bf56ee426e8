/** The settings of posting, as far as this room reads them: always at the moment of use, since users may change them. */
import { type Duration, toMs } from '../../util/duration.ts'
import type { LogLevel } from '../../util/log.ts'

/** One wait for a single retry, or the waits between the attempts. */
export type Backoffs = Duration | Iterable<Duration>

export interface PostingSettings {
  readonly enabled: boolean
  /** Whether the log lines about an object become events of it. */
  readonly loggers: boolean
  readonly level: LogLevel
  readonly reportingComponent: string
  readonly reportingInstance: string
  readonly eventNamePrefix: string
  readonly defaultBackoffs: Backoffs
  readonly loggingBackoffs: Backoffs
  /** How many objects are posted about at once; null for our own bound. */
  readonly workerLimit: number | null
}

export function toBackoffsMs(backoffs: Backoffs): number[] {
  const list = typeof backoffs === 'object' ? [...backoffs] : [backoffs]
  return list.map((one) => toMs(one, 'a back-off of posting'))
}
