/**
 * Loggers and log sinks. A sink writes records at or above its level; a logger creates records under one name, about one object.
 * Logging never throws: a line that cannot be written is lost. The only file of the library that writes to standard error.
 */
import { KopfError } from '../../errors.ts'
import { type Clock, systemClock } from '../async/clock.ts'
import { currentSpan } from '../tracing/open-telemetry.ts'
import { toJsonLine, toText } from './error-text.ts'
import {
  formatRecord,
  type LogFields,
  type LogFormat,
  type LoggedObject,
  type LogLevel,
  type LogRecord,
  type LogSource,
} from './formats.ts'

export type { LogFields, LogFormat, LogLevel, LogRecord }

/** A logger with optional fields. An error in the field `error` is logged with its stack, unless it is a `KopfError`. */
export interface Logger {
  /** Logs a detail for developers. Shown with `--verbose`. */
  debug(message: string, fields?: LogFields): void
  /** Logs a normal event. */
  info(message: string, fields?: LogFields): void
  /** Logs a problem that the operator can handle. */
  warn(message: string, fields?: LogFields): void
  /** Logs a failure. Pass an error as the field `error` to log its stack. */
  error(message: string, fields?: LogFields): void
}

/** The `logger` argument of handlers: its lines are about the handled object and begin with `[namespace/name]`. */
export type ObjectLogger = Logger

/** Receives log records. Give one as `logging` of an operator to write the log elsewhere; `configureLogging` returns the default sink. */
export interface LogSink {
  /** Records below this level are not created. May change at any time. */
  readonly minimumLevel: LogLevel
  /** Records of the framework below this level are not created either. Default: `minimumLevel`. */
  readonly frameworkLevel?: LogLevel | undefined
  /** Writes one record; must not throw. */
  log(record: LogRecord): void
}

/** A logger with the interface of pino: the fields come first, then the message. */
export interface PinoLike {
  /** The lowest level that is logged, such as `info` or `silent`. Default: `debug`. */
  readonly level?: string
  /** Logs a debug message. */
  debug(fields: object, message: string): void
  /** Logs an info message. */
  info(fields: object, message: string): void
  /** Logs a warning. */
  warn(fields: object, message: string): void
  /** Logs an error. */
  error(fields: object, message: string): void
  /** Logs a fatal error. Default: `error` is called. */
  fatal?(fields: object, message: string): void
}

/** The levels for `frameworkLevel`. */
export type FrameworkLevel = Exclude<LogLevel, 'fatal'>

/** Options of `configureLogging`. */
export interface LoggingOptions {
  /** The format of log lines. Default: `full`; in a file of a command that logs to a terminal: `short`. */
  readonly format?: LogFormat
  /** Whether debug messages are logged too. Default: false. */
  readonly verbose?: boolean
  /** Whether debug messages are logged too, including those of the framework's internals. Default: false. */
  readonly debug?: boolean
  /** Whether only warnings and errors are logged. Default: false. */
  readonly quiet?: boolean
  /** Whether messages about objects begin with the object: `[namespace/name]`. Default: true, except for JSON. */
  readonly prefix?: boolean
  /** The key of the object reference in JSON. Default: `object`. */
  readonly refkey?: string
  /**
   * The minimum level for lines of the framework, such as "Handler … succeeded."; lines of handlers are not affected.
   * `settings.logging.frameworkLevel` of an operator has precedence. Default: the level of the handlers' lines.
   */
  readonly frameworkLevel?: FrameworkLevel
}

/** Options of `configureLogging`, with the destination of the lines. */
export interface LogSinkOptions extends LoggingOptions {
  /** Called with each line, including its line break, and its level. Default: writes to standard error. */
  readonly write?: (line: string, level: LogLevel) => void
  /** The clock for the time in log lines. Default: the system clock. */
  readonly clock?: Clock
}

const ranks: Readonly<Record<LogLevel, number>> = { debug: 10, info: 20, warn: 30, error: 40, fatal: 50 }

export const frameworkLevels: readonly FrameworkLevel[] = ['debug', 'info', 'warn', 'error']

/** Debug messages of loggers with this name or prefix are logged only with `debug`. */
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
    // Loggers apply it, since the settings of an operator may lower it.
    frameworkLevel: checkFrameworkLevel(options.frameworkLevel, 'frameworkLevel'),
    log(record) {
      if (!isAtLeast(record.level, minimumLevel) || (!debug && isInternal(record))) return
      try {
        const span = format === 'json' ? currentSpan() : undefined
        write(formatRecord(record, clock.now(), { format, prefix, refkey, span }), record.level)
      } catch {}
    },
  }
}

/** Throws for an unknown level, such as Python's `warning`, with which even errors would not be logged. */
export function checkFrameworkLevel(level: FrameworkLevel | undefined, option: string): FrameworkLevel | undefined {
  if (level === undefined || frameworkLevels.includes(level)) return level
  throw new KopfError(
    'KOPF_SETTINGS',
    `Cannot use ${toJsonLine(level)} as "${option}": expected one of ${frameworkLevels.join(', ')}`,
  )
}

function isInternal({ name, level }: LogRecord): boolean {
  return level === 'debug' && (name === internalsLogger || name.startsWith(`${internalsLogger}.`))
}

function writeToStandardError(line: string): void {
  process.stderr.write(line)
}

/** Whether framework lines of this level are logged; to skip messages that are slow to build. */
export function logsFrameworkLines({ minimumLevel, frameworkLevel = minimumLevel }: LogSink, level: LogLevel): boolean {
  return isAtLeast(level, minimumLevel) && isAtLeast(level, frameworkLevel)
}

/** The sink without framework lines below a level. The level is read for each line, since settings may change. */
export function limitFrameworkLines(sink: LogSink, level: () => LogLevel | undefined): LogSink {
  return {
    get minimumLevel() {
      return sink.minimumLevel
    },
    get frameworkLevel() {
      return level() ?? sink.frameworkLevel
    },
    log: (record) => sink.log(record),
  }
}

/** Passes the records of a sink on, once someone listens. */
export interface LogTap {
  listener: ((record: LogRecord) => void) | undefined
}

/** The sink, whose records the tap also gets. An error of the listener is ignored. */
export function tapSink(sink: LogSink, tap: LogTap): LogSink {
  return forwardRecords(sink, (record) => {
    try {
      tap.listener?.(record)
    } catch {}
  })
}

/** The sink, whose records the function gets after it. Records below the level of the sink are not created. */
export function forwardRecords(sink: LogSink, forward: (record: LogRecord) => void): LogSink {
  return {
    get minimumLevel() {
      return sink.minimumLevel
    },
    get frameworkLevel() {
      return sink.frameworkLevel
    },
    log(record) {
      sink.log(record)
      forward(record)
    },
  }
}

export interface CreateLoggerOptions {
  readonly object?: LoggedObject
  /** The lines are never posted as Kubernetes events of the object. */
  readonly isLocal?: boolean
}

/** Key of a method of loggers that returns the same logger for another source. */
const sourced: unique symbol = Symbol.for('kopf.logging.sourced') as never

interface SourcedLogger extends Logger {
  readonly [sourced]?: (source: LogSource) => Logger
}

/** A logger for lines of the framework. `toHandlerLogger` derives the logger for handlers. */
export function createLogger(target: LogSink | PinoLike, name: string, options: CreateLoggerOptions = {}): Logger {
  return createSourcedLogger(toLogSink(target), { name, ...options, source: 'framework' })
}

type RecordHead = Pick<LogRecord, 'name' | 'object' | 'isLocal' | 'source'>

function createSourcedLogger(sink: LogSink, head: RecordHead): SourcedLogger {
  const { name, object, source, isLocal } = head
  const log = (level: LogLevel, message: string, fields?: LogFields): void => {
    if (source === 'framework' ? !logsFrameworkLines(sink, level) : !isAtLeast(level, sink.minimumLevel)) return
    sink.log({ level, name, message: toText(message), fields: fields ?? undefined, object, source, isLocal })
  }
  return {
    debug: (message, fields) => log('debug', message, fields),
    info: (message, fields) => log('info', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    error: (message, fields) => log('error', message, fields),
    [sourced]: (other) => createSourcedLogger(sink, { ...head, source: other }),
  }
}

/** The same logger for lines of handlers. */
export function toHandlerLogger(logger: Logger): Logger {
  return (logger as SourcedLogger)[sourced]?.('handler') ?? logger
}

/** The same logger for lines of the framework, for code that has only the logger of a handler. */
export function toFrameworkLogger(logger: Logger): Logger {
  return (logger as SourcedLogger)[sourced]?.('framework') ?? logger
}

/** Wraps a logger of pino's shape; returns a sink unchanged. */
export function toLogSink(target: LogSink | PinoLike): LogSink {
  return isLogSink(target) ? target : fromPino(target)
}

function isLogSink(value: unknown): value is LogSink {
  const { log, minimumLevel } = (value ?? {}) as Partial<LogSink>
  return typeof log === 'function' && typeof minimumLevel === 'string' && Object.hasOwn(ranks, minimumLevel)
}

/**
 * A sink for a logger of pino's shape. The error becomes `err`, for which pino has a serializer; the object becomes `object`, the name
 * `logger`. Lines of the framework have `source: "framework"`.
 */
export function fromPino(logger: PinoLike): LogSink {
  return {
    get minimumLevel() {
      const { level = 'debug' } = logger
      return level === 'silent' ? 'fatal' : Object.hasOwn(ranks, level) ? (level as LogLevel) : 'debug'
    },
    log({ level, name, message, fields = {}, object, source }) {
      const { error, ...others } = fields
      const merged = {
        ...others,
        logger: name,
        ...(source === 'framework' && { source }),
        ...(object && { object }),
        ...(error !== undefined && { err: error }),
      }
      try {
        if (level === 'fatal' && logger.fatal) logger.fatal(merged, message)
        else logger[level === 'fatal' ? 'error' : level](merged, message)
      } catch {}
    },
  }
}

/** Global key of the sink of `configureLogging`: the command and the user's project may each load a copy of this package. */
const shared: unique symbol = Symbol.for('kopf.logging') as never

/** Creates the sink of `configureLogging` for a command with options of its own. */
type SinkMaker = (options: LogSinkOptions) => LogSink

/** Global key of the `SinkMaker` of commands such as `kopf run`: their command-line options have precedence over `configureLogging`. */
const command: unique symbol = Symbol.for('kopf.logging.command') as never

interface LoggingGlobals {
  [shared]?: unknown
  [command]?: SinkMaker
}

/**
 * Configures the log of all operators in this process that have no `logging` option, and returns the sink.
 *
 * Call it before the operator starts. In a file for `kopf run` or `kopf dev`, each command-line option and its environment
 * variable has precedence over the option here; the options here have precedence over the defaults of the command.
 *
 * @example
 * ```ts
 * configureLogging({ format: 'json', quiet: true })
 * ```
 */
export function configureLogging(options: LogSinkOptions = {}): LogSink {
  const globals = globalThis as LoggingGlobals
  const sink = (globals[command] ?? createLogSink)(options)
  globals[shared] = sink
  return sink
}

/** Sets the function that creates the sink of `configureLogging`, and creates a first one without options. For commands. */
export function setCommandLogging(create: SinkMaker): LogSink {
  ;(globalThis as LoggingGlobals)[command] = create
  return configureLogging()
}

/** The sink of `configureLogging`; without it, the full format on standard error. */
export function defaultLogSink(): LogSink {
  const sink = (globalThis as LoggingGlobals)[shared]
  return isLogSink(sink) ? sink : createLogSink()
}

/** Forwards to the sink that `configureLogging` set last, for code that logs before and after it is called. */
export const currentLogSink: LogSink = {
  get minimumLevel() {
    return defaultLogSink().minimumLevel
  },
  get frameworkLevel() {
    return defaultLogSink().frameworkLevel
  },
  log: (record) => defaultLogSink().log(record),
}
