/** The commands and options to complete, read from commander's tree, so that the scripts are never outdated. Used per shell. */
import type { Argument, Command, Option } from 'commander'
import { controllerNames } from '../../server/controllers/workloads/names.ts'

/** A value that only a kubeconfig or a cluster knows. The script asks `kopf __complete` for it, see candidates.ts. */
export type ClusterValue = 'context' | 'namespace' | 'resource' | 'object'

/** A value: one of these words, a file, a folder, a name in the cluster, or anything. */
export type ExpectedValue = readonly string[] | 'file' | 'folder' | 'anything' | ClusterValue

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
  /** The arguments in their order; the last one repeats. */
  readonly positionals: readonly ExpectedValue[]
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
    positionals: command.name() === 'help' ? [names] : command.registeredArguments.map(toArgumentValue),
    subcommands: command.commands.map((one) => readCommand(one, names)),
  }
}

export function isClusterValue(expected: ExpectedValue): expected is ClusterValue {
  return ['context', 'namespace', 'resource', 'object'].includes(expected as string)
}

function optionsOf(command: Command): CompletedOption[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      description: option.description,
      value: option.required ? toOptionValue(option) : undefined,
      isRepeatable: option.description.includes('can be repeated'),
    }))
}

/** Options whose value is neither a choice nor a path. */
const optionValues: Readonly<Record<string, ExpectedValue>> = {
  '--context': 'context',
  '--namespace': 'namespace',
  '--install-namespace': 'namespace',
  '--controllers': ['all', ...controllerNames],
}

function toOptionValue(option: Option): ExpectedValue {
  return option.argChoices ?? optionValues[option.long ?? ''] ?? toPathValue(option.flags.replace(/^.*[<[]/, ''))
}

function toArgumentValue(argument: Argument, position: number, all: readonly Argument[]): ExpectedValue {
  if (argument.argChoices !== undefined) return argument.argChoices
  const name = argument.name()
  if (name === 'resource') return 'resource'
  return all[position - 1]?.name() === 'resource' ? 'object' : toPathValue(name)
}

/** A value is a file or a folder if its name in the help says so: `<file>`, `[files...]`, `<directory>`. */
function toPathValue(name: string): ExpectedValue {
  if (/\bfiles?\b(?!name)/.test(name)) return 'file'
  return /\b(directory|folder)\b/.test(name) ? 'folder' : 'anything'
}
