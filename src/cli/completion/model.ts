/** The commands and options to complete, read from commander's tree, so that the scripts are never outdated. Used per shell. */
import type { Argument, Command, Option } from 'commander'

/** A value: one of these words, a file, or anything. */
export type ExpectedValue = readonly string[] | 'file' | 'anything'

export interface CompletedOption {
  /** `['-n', '--namespace']` */
  readonly flags: readonly string[]
  readonly description: string
  /** Undefined if the option has no value. */
  readonly value: ExpectedValue | undefined
  readonly isRepeatable: boolean
}

export interface CompletedCommand {
  readonly name: string
  readonly description: string
  readonly options: readonly CompletedOption[]
  readonly positional: ExpectedValue
  /** The commands below this one, such as `migrate` of `crd`. */
  readonly subcommands: readonly CompletedCommand[]
}

export interface CompletionModel {
  readonly commands: readonly CompletedCommand[]
  /** Options of `kopf` itself, before any command. */
  readonly options: readonly CompletedOption[]
}

export function readTree(program: Command): CompletionModel {
  const visible = program.createHelp().visibleCommands(program)
  const names = visible.map((command) => command.name()).filter((name) => name !== 'help')
  return {
    options: optionsOf(program),
    commands: visible.map((command) => readCommand(command, names)),
  }
}

function readCommand(command: Command, names: readonly string[]): CompletedCommand {
  return {
    name: command.name(),
    description: command.summary() || command.description(),
    options: optionsOf(command),
    positional: command.name() === 'help' ? names : positionalOf(command),
    subcommands: command.commands.map((one) => readCommand(one, names)),
  }
}

function optionsOf(command: Command): CompletedOption[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      description: option.description,
      value: option.required ? expectedValueOf(option) : undefined,
      isRepeatable: option.description.includes('can be repeated'),
    }))
}

/** The same type of value for all positions. If they differ, the first one decides. */
function positionalOf(command: Command): ExpectedValue {
  const [first] = command.registeredArguments
  return first === undefined ? [] : expectedValueOf(first)
}

/** A value is a file if its name in the help says so: `<file>`, `[files...]`. */
function expectedValueOf(target: Option | Argument): ExpectedValue {
  if (target.argChoices !== undefined) return target.argChoices
  const name = 'flags' in target ? target.flags : target.name()
  return /\bfiles?\b(?!name)/.test(name.replace(/^.*[<[]/, '')) ? 'file' : 'anything'
}
