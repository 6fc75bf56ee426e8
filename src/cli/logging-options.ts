/** The options about logs, the same for every command that logs. */
import { type Command, Option } from 'commander'
import { configureLogging, type LogFormat, type LogLevel, type LogSink } from '../util/log.ts'
import { createPalette, paintLine } from './display/palette.ts'
import type { Variable } from './environment.ts'
import { choiceOption } from './help.ts'
import { terminalAbilities, writeLog } from './terminal.ts'

export interface LoggingArguments {
  readonly verbose?: boolean
  readonly debug?: boolean
  readonly quiet?: boolean
  readonly logFormat: LogFormat
  readonly logRefkey?: string
  readonly logPrefix?: boolean
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

export function addLoggingOptions(command: Command): Command {
  return command
    .optionsGroup('Logs:')
    .option('-v, --verbose', 'log what the operator does in detail')
    .option('-d, --debug', "as --verbose, with the framework's inner workings")
    .option('-q, --quiet', 'log only warnings and errors')
    .addOption(choiceOption('--log-format <format>', 'how lines look', formats).default('full'))
    .option('--log-refkey <key>', 'the key of the object in JSON logs (default: object)')
    .addOption(new Option('--log-prefix', 'begin lines with [namespace/name] (default: on, except for json)'))
    .addOption(new Option('--no-log-prefix', 'leave that prefix out').default(undefined))
}

export function startLogging(options: LoggingArguments): LogSink {
  const { verbose = false, debug = false, quiet = false, logRefkey: refkey, logPrefix: prefix } = options
  const { hasColours } = terminalAbilities()
  const palette = createPalette(hasColours)
  const paint = (line: string, level: LogLevel) => writeLog(paintLine(palette, line, level))
  return configureLogging({
    format: options.logFormat,
    verbose,
    debug,
    quiet,
    ...(prefix === undefined ? {} : { prefix }),
    ...(refkey === undefined ? {} : { refkey }),
    ...(hasColours && options.logFormat !== 'json' ? { write: paint } : {}),
  })
}

/** Only for people: what reads JSON, or wants to be left alone, gets no more than log lines. */
export function wantsDisplay({ logFormat, quiet = false }: LoggingArguments): boolean {
  return logFormat !== 'json' && !quiet && terminalAbilities().isLively
}
