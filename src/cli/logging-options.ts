/** The options about logs, the same for every command that logs. */
import { type Command, Option } from 'commander'
import {
  createLogSink,
  currentLogSink,
  type FrameworkLevel,
  frameworkLevels,
  type LogFormat,
  type LoggingOptions,
  type LogLevel,
  type LogSink,
  type LogSinkOptions,
  takeOverLogging,
} from '../util/log.ts'
import { createPalette, paintLine } from './display/palette.ts'
import type { Variable } from './environment.ts'
import { choiceOption } from './help.ts'
import { terminalAbilities, writeLog } from './terminal.ts'

/** Only what was given: on the command line, or by an environment variable. */
export interface LoggingArguments {
  readonly verbose?: boolean
  readonly debug?: boolean
  readonly quiet?: boolean
  readonly logFormat?: LogFormat
  readonly logRefkey?: string
  readonly logPrefix?: boolean
  readonly logFrameworkLevel?: FrameworkLevel
}

const formats: readonly LogFormat[] = ['full', 'plain', 'json']

export const loggingVariables: readonly Variable[] = [
  { name: 'VERBOSE', type: 'flag', option: 'verbose' },
  { name: 'DEBUG', type: 'flag', option: 'debug' },
  { name: 'QUIET', type: 'flag', option: 'quiet' },
  { name: 'LOG_FORMAT', type: 'text', option: 'logFormat' },
  { name: 'LOG_REFKEY', type: 'text', option: 'logRefkey' },
  { name: 'LOG_PREFIX', type: 'flag', option: 'logPrefix' },
]

/** Of commands that run an operator. */
export const frameworkLevelVariable: Variable = {
  name: 'LOG_FRAMEWORK_LEVEL',
  type: 'text',
  option: 'logFrameworkLevel',
}

export function addLoggingOptions(command: Command): Command {
  return command
    .optionsGroup('Logs:')
    .option('-v, --verbose', 'log what the operator does in detail')
    .option('-d, --debug', "as --verbose, with the framework's inner workings")
    .option('-q, --quiet', 'log only warnings and errors')
    .addOption(choiceOption('--log-format <format>', 'how lines look (default: full)', formats))
    .option('--log-refkey <key>', 'the key of the object in JSON logs (default: object)')
    .addOption(new Option('--log-prefix', 'begin lines with [namespace/name] (default: on, except for json)'))
    .addOption(new Option('--no-log-prefix', 'leave that prefix out').default(undefined))
}

/** For commands that run an operator: its own lines are the framework's. */
export function addFrameworkLevelOption(command: Command): Command {
  const description = 'the least level of the framework\'s own lines, as "Handler … succeeded."'
  return command.addOption(choiceOption('--log-framework-level <level>', description, frameworkLevels))
}

/** The log of a command. A file of the operator that calls `configureLogging` changes it, except for what `args` say. */
export class CommandLogging {
  /** Always the latest one. */
  readonly sink: LogSink = currentLogSink
  /** Called when a file has called `configureLogging`. */
  onChange: () => void = () => {}
  readonly #args: LoggingArguments
  #options: LogSinkOptions = {}

  constructor(args: LoggingArguments) {
    this.#args = args
    takeOverLogging((options) => this.#createSink(options))
  }

  /** How lines look that are not written through the sink. */
  get lines(): LoggingOptions {
    const { format = 'full', refkey, prefix } = this.#options
    return { format, ...(refkey !== undefined && { refkey }), ...(prefix !== undefined && { prefix }) }
  }

  /** Only for people: programs that read JSON, and --quiet, get log lines only. */
  get wantsDisplay(): boolean {
    const { format, quiet = false, write } = this.#options
    return format !== 'json' && !quiet && write === undefined && terminalAbilities().isLively
  }

  #createSink(options: LogSinkOptions): LogSink {
    this.#options = mergeLoggingOptions(this.#args, options)
    this.onChange()
    const { format, write } = this.#options
    const { hasColours } = terminalAbilities()
    const palette = createPalette(hasColours)
    const paint = (line: string, level: LogLevel) => writeLog(paintLine(palette, line, level))
    const isPainted = hasColours && format !== 'json' && write === undefined
    return createLogSink({ ...this.#options, ...(isPainted && { write: paint }) })
  }
}

/**
 * Options of the command line and its environment variables win over those of `configureLogging`, one by one. How much is logged is
 * one option: `--quiet` also ends the `verbose` of a file.
 */
function mergeLoggingOptions(args: LoggingArguments, options: LogSinkOptions): LogSinkOptions {
  const { verbose, debug, quiet, logFormat: format, logRefkey: refkey, logPrefix: prefix } = args
  const isVerbosityGiven = [verbose, debug, quiet].some((flag) => flag !== undefined)
  return {
    ...options,
    ...(isVerbosityGiven && { verbose: verbose ?? false, debug: debug ?? false, quiet: quiet ?? false }),
    ...(format !== undefined && { format }),
    ...(refkey !== undefined && { refkey }),
    ...(prefix !== undefined && { prefix }),
  }
}
