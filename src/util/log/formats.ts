/**
 * Formats log records: exactly as Kopf's three formats, so that parsers of Kopf's logs work, and in a short format for people at a
 * terminal. Pure; log.ts filters and writes the lines.
 */
import { getOwn } from '../json/json.ts'
import type { SpanIds } from '../tracing/open-telemetry.ts'
import {
  cutText,
  isError,
  isExpected,
  toErrorText,
  toJsonLine,
  toSafeLine,
  toText,
  toUserErrorText,
} from './error-text.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal'

/**
 * The format of log lines. `short`: the time of day, the level, the object and the message, for a terminal. `full`: with the date, the logger
 * and the level as in Kopf. `plain`: the message only. `json`: one JSON object per line.
 */
export type LogFormat = 'short' | 'full' | 'plain' | 'json'

/** The origin of a line: the operator's handlers or the framework. Not shown in any format. */
export type LogSource = 'framework' | 'handler'

export type LogFields = Readonly<Record<string, unknown>>

/** The object that a line is about. The JSON format shows all its keys. */
export interface LoggedObject {
  /** The group and version of the object. */
  readonly apiVersion?: string | null | undefined
  /** The kind of the object. */
  readonly kind?: string | null | undefined
  /** The uid of the object. */
  readonly uid?: string | null | undefined
  /** The name of the object. */
  readonly name?: string | null | undefined
  /** The namespace of the object. */
  readonly namespace?: string | null | undefined
}

/** One log line before it is formatted, as `LogSink.log` gets it. */
export interface LogRecord {
  /** The level of the line. */
  readonly level: LogLevel
  /** The name of the logger: `kopf.objects` for everything about objects. */
  readonly name: string
  /** The message, without fields. */
  readonly message: string
  /** Additional fields. The field `error` is an error. */
  readonly fields?: LogFields | undefined
  /** The object that the line is about. */
  readonly object?: LoggedObject | undefined
  /** `handler`: logged through the `logger` of a handler. `framework`: logged by Kopf itself, as "Handler … succeeded." */
  readonly source: LogSource
  /** Never posted as a Kubernetes event of the object, regardless of the settings. */
  readonly isLocal?: boolean | undefined
}

export interface FormatOptions {
  readonly format: LogFormat
  readonly prefix: boolean
  readonly refkey: string
  /** The active span, whose ids the JSON format shows. */
  readonly span?: SpanIds | undefined
}

const pythonLevels: Readonly<Record<LogLevel, string>> = {
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARNING',
  error: 'ERROR',
  fatal: 'CRITICAL',
}

const shortLevels: Readonly<Record<LogLevel, string>> = {
  debug: 'DEBUG',
  info: 'INFO ',
  warn: 'WARN ',
  error: 'ERROR',
  fatal: 'FATAL',
}

/** The line with its line break. */
export function formatRecord(record: LogRecord, timeMs: number, options: FormatOptions): string {
  if (options.format === 'short') return `${formatShort(record, timeMs, options.prefix)}\n`
  const prefix = options.prefix && record.object ? toPrefix(record.object) : ''
  if (options.format === 'json') return `${formatJson(record, timeMs, prefix, options)}\n`
  const text = `${toSafeLine(prefix)}${formatMessage(record)}`
  if (options.format === 'plain') return `${text}\n`
  const name = toSafeLine(record.name).slice(0, 20).padEnd(20)
  return `[${toLocalTime(timeMs)}] ${name} [${pythonLevels[record.level].padEnd(8)}] ${text}\n`
}

/** `12:03:04 INFO  default/web  Handler 'create' succeeded.` */
function formatShort(record: LogRecord, timeMs: number, hasObject: boolean): string {
  const object = hasObject && record.object ? `${toSafeLine(toObjectName(record.object))}  ` : ''
  return `${toTimeOfDay(new Date(timeMs))} ${shortLevels[record.level]} ${object}${formatMessage(record, toUserErrorText)}`
}

/** The message with its fields, and the stack of an unexpected error on further lines. */
export function formatMessage({ message, fields = {} }: LogRecord, toStack: typeof toErrorText = toErrorText): string {
  const error = getOwn(fields, 'error')
  const hasStack = isUnexpected(error)
  const parts = [toSafeLine(cutText(message))]
  for (const [key, value] of toEntries(fields)) {
    if (key === 'error' && (hasStack || isInMessage(message, error))) continue
    parts.push(`${toSafeLine(cutText(key, 100))}=${toJsonLine(toShown(key, value), maxFieldLength)}`)
  }
  const text = parts.join(' ')
  return hasStack ? `${text}\n${toStack(error)}` : text
}

/** Whether the message contains the text of the error, as the messages about failed handlers do. */
function isInMessage(message: string, error: unknown): boolean {
  return isError(error) && error.message !== '' && message.includes(toText(error.message))
}

/** Limits of fields, so that lines stay within the limits of log collectors. */
const maxFieldLength = 16 * 1024
const maxFields = 100

function toEntries(fields: LogFields): Array<readonly [string, unknown]> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return entries.slice(0, maxFields)
}

function isUnexpected(error: unknown): error is Error {
  return isError(error) && !isExpected(error)
}

/** An expected error is shown by its message. */
function toShown(key: string, value: unknown): unknown {
  return key === 'error' && isError(value) ? toText(value.message) : value
}

function toPrefix(object: LoggedObject): string {
  return `[${toObjectName(object)}] `
}

function toObjectName({ namespace, name }: LoggedObject): string {
  return namespace ? `${namespace}/${name ?? ''}` : (name ?? '')
}

/** As python-json-logger writes for Kopf: without the name of the logger, and with the stack as `exc_info`. */
function formatJson(record: LogRecord, timeMs: number, prefix: string, { refkey, span }: FormatOptions): string {
  const { fields = {}, object, level } = record
  const error = getOwn(fields, 'error')
  const reserved = new Set(['message', 'timestamp', ...(object ? [refkey] : [])])
  const entries: Array<readonly [string, unknown]> = [['message', cutText(`${prefix}${record.message}`)]]
  if (isUnexpected(error)) {
    reserved.add('error').add('exc_info')
    entries.push(['exc_info', toErrorText(error)])
  }
  for (const [key, value] of toEntries(fields)) {
    if (!reserved.has(key)) entries.push([key, toShown(key, value)])
  }
  if (span !== undefined && getOwn(fields, 'trace_id') === undefined && getOwn(fields, 'span_id') === undefined) {
    entries.push(['trace_id', span.traceId], ['span_id', span.spanId])
  }
  entries.push(['timestamp', `${new Date(timeMs).toISOString().slice(0, -1)}000+00:00`])
  if (object) entries.push([refkey, object])
  if (getOwn(fields, 'severity') === undefined) entries.push(['severity', level])
  return `{${entries.map(([key, value]) => `${toJsonLine(key)}: ${toJsonLine(value, key === 'message' || key === 'exc_info' ? undefined : maxFieldLength)}`).join(', ')}}`
}

/** Python's `asctime`: local time, with a comma before the milliseconds. */
function toLocalTime(timeMs: number): string {
  const time = new Date(timeMs)
  const date = `${time.getFullYear()}-${toTwoDigits(time.getMonth() + 1)}-${toTwoDigits(time.getDate())}`
  return `${date} ${toTimeOfDay(time)},${String(time.getMilliseconds()).padStart(3, '0')}`
}

function toTimeOfDay(time: Date): string {
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map(toTwoDigits).join(':')
}

function toTwoDigits(part: number): string {
  return String(part).padStart(2, '0')
}
