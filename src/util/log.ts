/**
 * Where log lines go. A sink takes records and drops what is below its level; a logger gives a sink records under one
 * name, about one object. Logging never throws: what cannot be written is lost, since there is nobody to tell.
 * The only file of the library that writes to standard error.
 */
import { KopfError } from '../errors.ts'
import { type Clock, systemClock } from './clock.ts'
import {
  formatRecord,
  type LogFields,
  type LogFormat,
  type LoggedObject,
  type LogLevel,
  type LogRecord,
  type LogSource,
} from './log-formats.ts'
import { toJsonLine, toText } from './log-text.ts'

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
  /** Loggers do not make records of the framework below it, either. Default: `minimumLevel`. */
  readonly frameworkLevel?: LogLevel | undefined
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

/** The levels of the framework's lines. */
export type FrameworkLevel = Exclude<LogLevel, 'fatal'>

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
  /**
   * Only from this level up, lines of the framework are logged, as "Handler … succeeded."; lines of handlers are not
   * concerned. `settings.logging.frameworkLevel` of an operator wins over it. Default: as the lines of handlers.
   */
  readonly frameworkLevel?: FrameworkLevel
}

export interface LogSinkOptions extends LoggingOptions {
  /** Gets whole lines with their ends, and how serious each is; standard error unless told. */
  readonly write?: (line: string, level: LogLevel) => void
  readonly clock?: Clock
}

const ranks: Readonly<Record<LogLevel, number>> = { debug: 10, info: 20, warn: 30, error: 40, fatal: 50 }

export const frameworkLevels: readonly FrameworkLevel[] = ['debug', 'info', 'warn', 'error']

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
    // Left to the loggers: the settings of an operator may lower it.
    frameworkLevel: checkFrameworkLevel(options.frameworkLevel, 'frameworkLevel'),
    log(record) {
      if (!isAtLeast(record.level, minimumLevel) || (!debug && isInternal(record))) return
      try {
        write(formatRecord(record, clock.now(), { format, prefix, refkey }), record.level)
      } catch {}
    },
  }
}

/** An unknown level, such as Python's `warning`, would leave out errors, too. */
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

/** Whether the framework's own lines of this level are logged: asked before a line is made that takes long to make. */
export function takesFrameworkLines(
  { minimumLevel, frameworkLevel = minimumLevel }: LogSink,
  level: LogLevel,
): boolean {
  return isAtLeast(level, minimumLevel) && isAtLeast(level, frameworkLevel)
}

/** The same sink without the framework's lines below a level. The level is read for each line: settings change. */
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

export interface CreateLoggerOptions {
  readonly object?: LoggedObject
  /** Its lines are never posted as events of the object. */
  readonly isLocal?: boolean
}

/** On a logger of `createLogger`: the same logger for lines of the other source. */
const sourced: unique symbol = Symbol.for('kopf.logging.sourced') as never

interface SourcedLogger extends Logger {
  readonly [sourced]?: (source: LogSource) => Logger
}

/** Its lines are lines of the framework; `toHandlerLogger` makes the logger for handlers from it. */
export function createLogger(target: LogSink | PinoLike, name: string, options: CreateLoggerOptions = {}): Logger {
  return createSourcedLogger(toLogSink(target), { name, ...options, source: 'framework' })
}

type RecordHead = Pick<LogRecord, 'name' | 'object' | 'isLocal' | 'source'>

function createSourcedLogger(sink: LogSink, head: RecordHead): SourcedLogger {
  const { name, object, source, isLocal } = head
  const log = (level: LogLevel, message: string, fields?: LogFields): void => {
    if (source === 'framework' ? !takesFrameworkLines(sink, level) : !isAtLeast(level, sink.minimumLevel)) return
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

/** The logger that a handler gets: about the same object, for lines of the operator's author. */
export function toHandlerLogger(logger: Logger): Logger {
  return (logger as SourcedLogger)[sourced]?.('handler') ?? logger
}

/** The opposite: for lines that the framework writes where only the logger of a handler is at hand. */
export function toFrameworkLogger(logger: Logger): Logger {
  return (logger as SourcedLogger)[sourced]?.('framework') ?? logger
}

/** A sink as it is, or one in front of a logger of pino's shape. */
export function toLogSink(target: LogSink | PinoLike): LogSink {
  return isLogSink(target) ? target : fromPino(target)
}

function isLogSink(value: unknown): value is LogSink {
  const { log, minimumLevel } = (value ?? {}) as Partial<LogSink>
  return typeof log === 'function' && typeof minimumLevel === 'string' && Object.hasOwn(ranks, minimumLevel)
}

/**
 * Errors go under `err`, which pino's own serializer knows; the object under `object`, the name under `logger`. Lines of the
 * framework have `source: "framework"`; those of handlers have no `source` but their own.
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

/** The command and the user's project may load a copy of this package each: both must find what either has set. */
const shared: unique symbol = Symbol.for('kopf.logging') as never

/** Makes the sink of `configureLogging`, where a command has options of its own. */
type SinkMaker = (options: LogSinkOptions) => LogSink

/** Set by commands such as `kopf run`, for every copy of this package: options of the command line win over those of a file. */
const command: unique symbol = Symbol.for('kopf.logging.command') as never

interface LoggingGlobals {
  [shared]?: unknown
  [command]?: SinkMaker
}

/**
 * Sets how operators of this process log unless they are given a `logging` of their own, and returns it.
 *
 * Call it before the operator starts. In a file of `kopf run` or `kopf dev`, options of the command line and their
 * environment variables win over it, one by one; it wins over the defaults of the command.
 *
 * @example
 * configureLogging({ format: 'json', quiet: true })
 */
export function configureLogging(options: LogSinkOptions = {}): LogSink {
  const globals = globalThis as LoggingGlobals
  const sink = (globals[command] ?? createLogSink)(options)
  globals[shared] = sink
  return sink
}

/** From now on this function makes the sink for `configureLogging`, first of all one without options of any file. */
export function takeOverLogging(create: SinkMaker): LogSink {
  ;(globalThis as LoggingGlobals)[command] = create
  return configureLogging()
}

/** What `configureLogging` has set; else the full format on standard error. */
export function defaultLogSink(): LogSink {
  const sink = (globalThis as LoggingGlobals)[shared]
  return isLogSink(sink) ? sink : createLogSink()
}

/** Always what `configureLogging` has set last: for those that log before and after a file calls it. */
export const currentLogSink: LogSink = {
  get minimumLevel() {
    return defaultLogSink().minimumLevel
  },
  get frameworkLevel() {
    return defaultLogSink().frameworkLevel
  },
  log: (record) => defaultLogSink().log(record),
}
