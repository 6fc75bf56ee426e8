/**
 * Formats the failure that ends a command: text for people, or a JSON line if the command logs JSON, so that log collectors can parse all of standard
 * error. Used by main.ts, by exit.ts, and for the usage errors of commander. One command runs per process, so that the format is global.
 */
import { systemClock } from '../util/async/clock.ts'
import { formatRecord, type LogFormat } from '../util/log/formats.ts'

let format: LogFormat = 'full'

/** Called as soon as the format of the log is known: by the option or the environment variable, then by `configureLogging`. */
export function setFailureFormat(given: LogFormat): void {
  format = given
}

export function isFailureJson(): boolean {
  return format === 'json'
}

/** The line for a failure, with its line break. The JSON line has the stack of `error`. */
export function formatFailure(message: string, error?: unknown): string {
  if (!isFailureJson()) return `kopf: ${message}\n`
  const fields = error === undefined ? undefined : { error }
  const record = { level: 'fatal', name: 'kopf.cli', message, fields, source: 'framework' } as const
  return formatRecord(record, systemClock.now(), { format: 'json', prefix: false, refkey: 'object' })
}

/** The text of a usage error of commander, which begins with "error: ". The JSON line has no prefix and no line breaks. */
export function formatUsageError(text: string): string {
  if (!isFailureJson()) return text
  return formatFailure(
    text
      .replace(/^error: /, '')
      .trim()
      .replaceAll(/\s*\n\s*/g, ' '),
  )
}
