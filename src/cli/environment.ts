/**
 * Options from environment variables, by the rule of Kopf: `KOPF_<COMMAND>_<NAME>`, lists with spaces between. What is on
 * the command line wins. The only file of the commands that reads the environment.
 */
import { type Command, InvalidArgumentError } from 'commander'
import type { TerminalVariables } from './display/abilities.ts'

type VariableType = 'text' | 'flag' | 'list'

export interface Variable {
  /** Without the prefix: `LOG_FORMAT`. */
  readonly name: string
  readonly type: VariableType
  /** The option's name as commander keeps it: `logFormat`. */
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

/** Fills in the options that the command line does not have. */
export function readEnvironment(command: Command, variables: readonly Variable[]): void {
  for (const each of variables) {
    const { type, option } = each
    const variable = variableName(command, each)
    const text = process.env[variable]
    const source = command.getOptionValueSource(option)
    if (text === undefined || (source !== undefined && source !== 'default')) continue
    const refuse = (why: string) =>
      command.error(`error: environment variable ${variable} is ${JSON.stringify(text)}. ${why}`)
    const value = readers[type](text.trim(), (expected) => refuse(`Expected ${expected}.`))
    if (value !== undefined) command.setOptionValueWithSource(option, checked(command, option, value, refuse), 'env')
  }
}

/** As the option itself would take it. */
function checked(command: Command, option: string, value: unknown, refuse: (why: string) => never): unknown {
  const { parseArg } = command.options.find((one) => one.attributeName() === option) ?? {}
  if (typeof value !== 'string' || parseArg === undefined) return value
  try {
    return parseArg(value, undefined)
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error
    return refuse(error.message)
  }
}

type Reader = (text: string, refuse: (expected: string) => never) => unknown

const readers: Readonly<Record<VariableType, Reader>> = {
  text: (text) => (text === '' ? undefined : text),
  list: (text) => (text === '' ? undefined : text.split(/\s+/)),
  flag: (text, refuse) => flags[text.toLowerCase()] ?? refuse('true or false'),
}

/** What other commands go by, too. */
export function terminalVariables(): TerminalVariables {
  const { NO_COLOR, FORCE_COLOR, TERM, CI } = process.env
  return { NO_COLOR, FORCE_COLOR, TERM, CI }
}

/** The name of the single namespace that older deployments set. */
export function legacyNamespace(): string | undefined {
  return process.env['KOPF_RUN_NAMESPACE'] || undefined
}
