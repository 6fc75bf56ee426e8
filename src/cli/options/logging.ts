/** The logging options of all commands that log, and the log sink that they configure. */
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
  setCommandLogging,
} from '../../util/log/log.ts'
import { createPalette, paintLine } from '../display/colours.ts'
import { readVariable, type Variable } from '../environment.ts'
import { setFailureFormat } from '../failure-format.ts'
import { choiceOption } from '../help.ts'
import { terminalAbilities, writeLog } from '../terminal.ts'

/** Options given on the command line or by environment variables; absent if not given. */
export interface LoggingArguments {
  readonly verbose?: boolean
  readonly debug?: boolean
  readonly quiet?: boolean
  readonly logFormat?: LogFormat
  readonly logRefkey?: string
  readonly logPrefix?: boolean
  readonly logFrameworkLevel?: FrameworkLevel
}

const formats: readonly LogFormat[] = ['short', 'full', 'plain', 'json']

const formatVariable: Variable = { name: 'LOG_FORMAT', type: 'text', option: 'logFormat' }

export const loggingVariables: readonly Variable[] = [
  { name: 'VERBOSE', type: 'flag', option: 'verbose' },
  { name: 'DEBUG', type: 'flag', option: 'debug' },
  { name: 'QUIET', type: 'flag', option: 'quiet' },
  formatVariable,
  { name: 'LOG_REFKEY', type: 'text', option: 'logRefkey' },
  { name: 'LOG_PREFIX', type: 'flag', option: 'logPrefix' },
]

/** The variable of commands that run an operator. */
export const frameworkLevelVariable: Variable = {
  name: 'LOG_FRAMEWORK_LEVEL',
  type: 'text',
  option: 'logFrameworkLevel',
}

/** Formats failures as the environment says, and from then on as the option says when it is parsed. */
export function readFailureFormat(command: Command): void {
  const toFormat = (text: string | undefined) => formats.find((one) => one === text?.toLowerCase()) ?? 'full'
  const { long } = command.options.find((one) => one.attributeName() === formatVariable.option) ?? {}
  if (long === undefined) return
  setFailureFormat(toFormat(readVariable(command, formatVariable)))
  command.on(`option:${long.slice(2)}`, (text: string) => setFailureFormat(toFormat(text)))
}

export function addLoggingOptions(command: Command): Command {
  return command
    .optionsGroup('Logs:')
    .option('-v, --verbose', 'log debug messages of handlers and of the framework')
    .option('-d, --debug', 'as --verbose, with details of the framework')
    .option('-q, --quiet', 'log only warnings and errors')
    .addOption(
      choiceOption(
        '--log-format <format>',
        'the format of log lines (default: short at a terminal, otherwise full)',
        formats,
      ),
    )
    .option('--log-refkey <key>', 'the key of the object in JSON log lines (default: object)')
    .addOption(new Option('--log-prefix', 'begin log lines with [namespace/name] (default: on, except for json)'))
    .addOption(new Option('--no-log-prefix', 'omit that prefix').default(undefined))
}

/** Adds the option for commands that run an operator. */
export function addFrameworkLevelOption(command: Command): Command {
  const description = 'the minimum level of messages of the framework, such as "Handler … succeeded."'
  return command.addOption(choiceOption('--log-framework-level <level>', description, frameworkLevels))
}

/** The log of a command. A call of `configureLogging` in the operator's files changes it, except for options given in `args`. */
export class CommandLogging {
  /** Always forwards to the current sink. */
  readonly sink: LogSink = currentLogSink
  /** Called after a call of `configureLogging`. */
  onChange: () => void = () => {}
  readonly #args: LoggingArguments
  #options: LogSinkOptions & { readonly format: LogFormat } = { format: 'full' }

  constructor(args: LoggingArguments) {
    this.#args = args
    setCommandLogging((options) => this.#createSink(options))
  }

  /** The format of lines that are not written through the sink, such as those of the guard thread. */
  get lines(): LoggingOptions {
    const { format, refkey, prefix } = this.#options
    return { format, ...(refkey !== undefined && { refkey }), ...(prefix !== undefined && { prefix }) }
  }

  /** Whether to show the progress display: only on a terminal, and not with JSON logs or `--quiet`. */
  get wantsDisplay(): boolean {
    const { format, quiet = false, write } = this.#options
    return format !== 'json' && !quiet && write === undefined && terminalAbilities().canRedraw
  }

  #createSink(options: LogSinkOptions): LogSink {
    const { hasColours, isTerminal } = terminalAbilities()
    const merged = mergeLoggingOptions(this.#args, options)
    const isShown = isTerminal && merged.write === undefined
    this.#options = { ...merged, format: merged.format ?? (isShown ? 'short' : 'full') }
    this.onChange()
    const { format, write } = this.#options
    setFailureFormat(format)
    const palette = createPalette(hasColours)
    const paint = (line: string, level: LogLevel) => writeLog(paintLine(palette, line, level))
    const isPainted = hasColours && format !== 'json' && write === undefined
    return createLogSink({ ...this.#options, ...(isPainted && { write: paint }) })
  }
}

/**
 * Options of the command line and environment variables override those of `configureLogging`, one by one. `verbose`, `debug` and `quiet` count as
 * one option: `--quiet` also overrides `verbose` of a file.
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
