/**
 * Options from environment variables, by the rule of Kopf: `KOPF_<COMMAND>_<NAME>`, lists with spaces between. What is on
 * the command line wins. The only file of the commands that reads the environment.
 */
import type { Command } from 'commander'

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

/** Fills in the options that the command line does not have. */
export function readEnvironment(command: Command, variables: readonly Variable[]): void {
  for (const { name, type, option } of variables) {
    const variable = `KOPF_${command.name().toUpperCase()}_${name}`
    const text = process.env[variable]
    const source = command.getOptionValueSource(option)
    if (text === undefined || (source !== undefined && source !== 'default')) continue
    const value = readers[type](text.trim(), (expected) =>
      command.error(`error: environment variable ${variable} is ${JSON.stringify(text)}. Expected ${expected}.`),
    )
    if (value !== undefined) command.setOptionValueWithSource(option, value, 'env')
  }
}

type Reader = (text: string, refuse: (expected: string) => never) => unknown

const readers: Readonly<Record<VariableType, Reader>> = {
  text: (text) => (text === '' ? undefined : text),
  list: (text) => (text === '' ? undefined : text.split(/\s+/)),
  flag: (text, refuse) => flags[text.toLowerCase()] ?? refuse('true or false'),
}

/** The name of the single namespace that older deployments set. */
export function legacyNamespace(): string | undefined {
  return process.env['KOPF_RUN_NAMESPACE'] || undefined
}
