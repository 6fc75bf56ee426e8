/**
 * Options from environment variables, named as in Kopf: `KOPF_<COMMAND>_<NAME>`, with spaces between the items of a list. Options on the command
 * line override them. The only file of the CLI that reads the environment.
 */
import { type Command, InvalidArgumentError } from 'commander'
import type { TerminalVariables } from './display/colours.ts'

type VariableType = 'text' | 'flag' | 'list'

export interface Variable {
  /** The name without the prefix: `LOG_FORMAT`. */
  readonly name: string
  readonly type: VariableType
  /** The name of the option in commander: `logFormat`. */
  readonly option: string
}

const flags: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(['1', 'true', 't', 'yes', 'y', 'on'].map((word) => [word, true])),
  ...Object.fromEntries(['0', 'false', 'f', 'no', 'n', 'off', ''].map((word) => [word, false])),
}

/** `KOPF_RUN_LOG_FORMAT` */
export function variableName(command: Command, { name }: Variable): string {
  return `KOPF_${command.name().toUpperCase()}_${name}`
}

/** Sets the options that are not on the command line. */
export function readEnvironment(command: Command, variables: readonly Variable[]): void {
  for (const each of variables) {
    const { type, option } = each
    const variable = variableName(command, each)
    const text = process.env[variable]
    const source = command.getOptionValueSource(option)
    if (text === undefined || (source !== undefined && source !== 'default')) continue
    const fail = (why: string) =>
      command.error(`error: environment variable ${variable} is ${JSON.stringify(text)}. ${why}`)
    const value = readers[type](text.trim(), (expected) => fail(`Expected ${expected}.`))
    if (value !== undefined)
      command.setOptionValueWithSource(option, parseOptionValue(command, option, value, fail), 'env')
  }
}

/** Parses and checks the value with the parser of the option. */
function parseOptionValue(command: Command, option: string, value: unknown, fail: (why: string) => never): unknown {
  const { parseArg } = command.options.find((one) => one.attributeName() === option) ?? {}
  if (typeof value !== 'string' || parseArg === undefined) return value
  try {
    return parseArg(value, undefined)
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error
    return fail(error.message)
  }
}

type VariableReader = (text: string, fail: (expected: string) => never) => unknown

const readers: Readonly<Record<VariableType, VariableReader>> = {
  text: (text) => (text === '' ? undefined : text),
  list: (text) => (text === '' ? undefined : text.split(/\s+/)),
  flag: (text, fail) => flags[text.toLowerCase()] ?? fail('true or false'),
}

/** The trimmed text of a variable of the command; undefined if it is not set. Does not check it. */
export function readVariable(command: Command, variable: Variable): string | undefined {
  return process.env[variableName(command, variable)]?.trim()
}

/** Conventional variables about terminals, which other programs use, too. */
export function terminalVariables(): TerminalVariables {
  const { NO_COLOR, FORCE_COLOR, TERM, CI } = process.env
  return { NO_COLOR, FORCE_COLOR, TERM, CI }
}

/** The conventional variable for the program that opens web pages; `none` for no program. */
export function browserVariable(): string | undefined {
  return process.env['BROWSER'] || undefined
}

/** The variable for a single namespace, which older deployments set. */
export function legacyNamespace(): string | undefined {
  return process.env['KOPF_RUN_NAMESPACE'] || undefined
}

/** Whether the conventional variable of Node programs says that this is production. */
export function isProductionEnvironment(): boolean {
  return process.env['NODE_ENV'] === 'production'
}
