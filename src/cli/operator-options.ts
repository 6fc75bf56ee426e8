/** The operator of a command that does not run it: its files and modules, for its handlers and its settings. */
import type { Command } from 'commander'
import { collect } from './embedded.ts'
import type { Loaded } from './load.ts'

export interface OperatorArguments {
  readonly file?: readonly string[]
  readonly module?: readonly string[]
}

export function addOperatorOptions(command: Command): Command {
  return command
    .optionsGroup('Operator:')
    .option(
      '-f, --file <file>',
      'load the operator of this file, for its handlers and settings; can be repeated',
      collect,
    )
    .option('-m, --module <name>', 'load this module too: what import takes; can be repeated', collect)
}

/** Loaded, and not started; one with nothing but defaults where none is named. */
export async function loadNamed({ file = [], module = [] }: OperatorArguments): Promise<Loaded & { isNamed: boolean }> {
  // Only now: help and wrong usage need none of it.
  if (file.length + module.length === 0) {
    const { Operator } = await import('../operator.ts')
    return { operator: new Operator(), isNamed: false, async [Symbol.asyncDispose]() {} }
  }
  const { loadOperator } = await import('./load.ts')
  return { ...(await loadOperator({ files: file, modules: module, folder: process.cwd() })), isNamed: true }
}
