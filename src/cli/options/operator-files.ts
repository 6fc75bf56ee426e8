/** The options that select the operator's files for commands that need its handlers and settings but do not run it. */
import type { Command } from 'commander'
import { collect } from '../embedded.ts'
import type { Loaded } from '../loading/import-operator.ts'

export interface OperatorArguments {
  readonly file?: readonly string[]
  readonly module?: readonly string[]
}

export function addOperatorOptions(command: Command): Command {
  return command
    .optionsGroup('Operator:')
    .option(
      '-f, --file <file>',
      'load the operator in this file, for its handlers and settings; can be repeated',
      collect,
    )
    .option('-m, --module <name>', 'also load this module, by a name or path as in an import; can be repeated', collect)
}

/** Loads the operator without starting it. Without files, returns an operator with default settings. */
export async function loadOperatorFiles({
  file = [],
  module = [],
}: OperatorArguments): Promise<Loaded & { isNamed: boolean }> {
  // Imported late: help and usage errors do not need it.
  if (file.length + module.length === 0) {
    const { Operator } = await import('../../operator.ts')
    return { operator: new Operator(), isNamed: false, async [Symbol.asyncDispose]() {} }
  }
  const { loadOperator } = await import('../loading/load.ts')
  return { ...(await loadOperator({ files: file, modules: module, folder: process.cwd() })), isNamed: true }
}
