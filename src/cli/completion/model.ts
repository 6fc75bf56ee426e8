/** What can be completed, read off commander's own tree: so that it is never behind the commands. For the shells' writers. */
import type { Argument, Command, Option } from 'commander'

/** What may stand there: one of these words, a file, or anything. */
export type Expected = readonly string[] | 'file' | 'anything'

export interface CompletedOption {
  /** `['-n', '--namespace']` */
  readonly flags: readonly string[]
  readonly description: string
  /** Undefined where it takes no value. */
  readonly value: Expected | undefined
  readonly isRepeatable: boolean
}

export interface CompletedCommand {
  readonly name: string
  readonly description: string
  readonly options: readonly CompletedOption[]
  readonly positional: Expected
}

export interface CompletionModel {
  readonly commands: readonly CompletedCommand[]
  /** Before any command. */
  readonly options: readonly CompletedOption[]
}

export function readTree(program: Command): CompletionModel {
  const visible = program.createHelp().visibleCommands(program)
  const names = visible.map((command) => command.name()).filter((name) => name !== 'help')
  return {
    options: optionsOf(program),
    commands: visible.map((command) => ({
      name: command.name(),
      description: command.summary() || command.description(),
      options: optionsOf(command),
      positional: command.name() === 'help' ? names : positionalOf(command),
    })),
  }
}

function optionsOf(command: Command): CompletedOption[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      description: option.description,
      value: option.required ? expected(option) : undefined,
      isRepeatable: option.description.includes('can be repeated'),
    }))
}

/** One kind for all positions: where they differ, files are no help for the first. */
function positionalOf(command: Command): Expected {
  const [first] = command.registeredArguments
  return first === undefined ? [] : expected(first)
}

/** Files are told by the name of the value, as people read it in the help: `<file>`, `[files...]`. */
function expected(target: Option | Argument): Expected {
  if (target.argChoices !== undefined) return target.argChoices
  const name = 'flags' in target ? target.flags : target.name()
  return /\bfiles?\b(?!name)/.test(name.replace(/^.*[<[]/, '')) ? 'file' : 'anything'
}
