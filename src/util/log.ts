/**
 * Where log lines go. A sink takes records and drops what is below its level; a logger gives a sink records under one
 * name, about one object. Logging never throws: what cannot be written is lost, since there is nobody to tell.
 * The only file of the library that writes to standard error.
 */
import { type Clock, systemClock } from './clock.ts'
import {
  formatRecord,
  type LogFields,
  type LogFormat,
  type LoggedObject,
  type LogLevel,
  type LogRecord,
} from './log-formats.ts'
import { toText } from './log-text.ts'

export type { LogFields, LogFormat, LogLevel, LogRecord }

/** What handlers get. An error under `error` is shown with its stack, unless it is one of this package's. */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

/** A logger whose lines are about one object, and begin with its name. */
export type ObjectLogger = Logger

/** Where records of the log go. */
export interface LogSink {
  /** Loggers do not make records below it; it may change at any time. */
  readonly minimumLevel: LogLevel
  /** Takes one record; must not throw. */
  log(record: LogRecord): void
}

/** A logger of pino's shape: the fields first, then the message. */
export interface PinoLike {
  readonly level?: string
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  fatal?(fields: object, message: string): void
}

/** What is logged, and how it looks. */
export interface LoggingOptions {
  /** `full` unless told: the time, the logger, the level and the message; `plain`: only the message. */
  readonly format?: LogFormat
  /** Debug messages too. */
  readonly verbose?: boolean
  /** Debug messages, also those of the framework's inner workings. */
  readonly debug?: boolean
  /** Only warnings and errors. */
  readonly quiet?: boolean
  /** Messages about objects begin with `[namespace/name]`; so they do unless told, except in JSON. */
  readonly prefix?: boolean
  /** The key of the object's reference in JSON; `object` unless told. */
  readonly refkey?: string
}

export interface LogSinkOptions extends LoggingOptions {
  /** Gets whole lines with their ends, and how serious each is; standard error unless told. */
  readonly write?: (line: string, level: LogLevel) => void
  readonly clock?: Clock
}

const ranks: Readonly<Record<LogLevel, number>> = { debug: 10, info: 20, warn: 30, error: 40, fatal: 50 }

/** Loggers of this name, or below it, speak only with `debug`. */
const internalsLogger = 'kopf.internals'

export function isAtLeast(level: LogLevel, minimum: LogLevel): boolean {
  return ranks[level] >= ranks[minimum]
}

export function createLogSink(options: LogSinkOptions = {}): LogSink {
  const { format = 'full', refkey = 'object', debug = false, verbose = false, quiet = false } = options
  const { write = writeToStandardError, clock = systemClock, prefix = format !== 'json' } = options
  const minimumLevel = debug || verbose ? 'debug' : quiet ? 'warn' : 'info'
  return {
    minimumLevel,
    log(record) {
      if (!isAtLeast(record.level, minimumLevel) || (!debug && isInternal(record))) return
      try {
        write(formatRecord(record, clock.now(), { format, prefix, refkey }), record.level)
      } catch {}
    },
  }
}

function isInternal({ name, level }: LogRecord): boolean {
  return level === 'debug' && (name === internalsLogger || name.startsWith(`${internalsLogger}.`))
}

function writeToStandardError(line: string): void {
  process.stderr.write(line)
}

export interface CreateLoggerOptions {
  readonly object?: LoggedObject
  /** Its lines are never posted as events of the object. */
  readonly isLocal?: boolean
}

export function createLogger(target: LogSink | PinoLike, name: string, options: CreateLoggerOptions = {}): Logger {
  const sink = toLogSink(target)
  const { object, isLocal } = options
  const log = (level: LogLevel, message: string, fields?: LogFields): void => {
    if (!isAtLeast(level, sink.minimumLevel)) return
    sink.log({ level, name, message: toText(message), fields: fields ?? undefined, object, isLocal })
  }
  return {
    debug: (message, fields) => log('debug', message, fields),
    info: (message, fields) => log('info', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    error: (message, fields) => log('error', message, fields),
  }
}

/** A sink as it is, or one in front of a logger of pino's shape. */
export function toLogSink(target: LogSink | PinoLike): LogSink {
  return isLogSink(target) ? target : fromPino(target)
}

function isLogSink(value: unknown): value is LogSink {
  const { log, minimumLevel } = (value ?? {}) as Partial<LogSink>
  return typeof log === 'function' && typeof minimumLevel === 'string' && Object.hasOwn(ranks, minimumLevel)
}

/** Errors go under `err`, which pino's own serializer knows; the object under `object`, the name under `logger`. */
export function fromPino(logger: PinoLike): LogSink {
  return {
    get minimumLevel() {
      const { level = 'debug' } = logger
      return level === 'silent' ? 'fatal' : Object.hasOwn(ranks, level) ? (level as LogLevel) : 'debug'
    },
    log({ level, name, message, fields = {}, object }) {
      const { error, ...others } = fields
      const merged = { ...others, logger: name, ...(object && { object }), ...(error !== undefined && { err: error }) }
      try {
        if (level === 'fatal' && logger.fatal) logger.fatal(merged, message)
        else logger[level === 'fatal' ? 'error' : level](merged, message)
      } catch {}
    },
  }
}

/** The command and the user's project may load a copy of this package each: both must find what either has set. */
const shared: unique symbol = Symbol.for('kopf.logging') as never

/** Sets how operators of this process log unless they are told otherwise, and returns it. */
export function configureLogging(options: LogSinkOptions = {}): LogSink {
  const sink = createLogSink(options)
  ;(globalThis as { [shared]?: unknown })[shared] = sink
  return sink
}

/** What `configureLogging` has set; else the full format on standard error. */
export function defaultLogSink(): LogSink {
  const sink = (globalThis as { [shared]?: unknown })[shared]
  return isLogSink(sink) ? sink : createLogSink()
}
