/**
 * The program that `kopf build` writes around an operator: `kopf run` for the bundled modules, without files and the embedded server. The entry
 * that bundle.ts generates calls it. Not imported by the command `kopf`.
 */
import { Command } from 'commander'
import { packageVersion } from '../../util/process/package-files.ts'
import { readEnvironment } from '../environment.ts'
import { executeProgram } from '../execute.ts'
import { formatUsageError } from '../failure-format.ts'
import { addEnvironment, addExamples, colourConventions, helpConfiguration } from '../help.ts'
import { importOperator, type TargetImports } from '../loading/import-operator.ts'
import { addClusterOptions } from '../options/cluster.ts'
import { addFrameworkLevelOption, addLoggingOptions, readFailureFormat } from '../options/logging.ts'
import { addRunOptions, type RunArguments, runVariables } from '../run/run-options.ts'
import { runProgram } from '../run/run-program.ts'
import { mapStackTraces } from './stack-traces.ts'

export interface BuiltProgram {
  /** The name and version of the operator's package: `databases 1.2.0`. */
  readonly version: string
  /** The URL of the program. */
  readonly url: string
  /** The operator's files and modules as they were named to `kopf build`. */
  readonly names: readonly string[]
  readonly imports: TargetImports
}

/** Reads options and environment variables as `kopf run` does, runs the operator, and exits the process. */
export async function executeBuiltProgram(program: BuiltProgram): Promise<void> {
  mapStackTraces(program.url)
  await executeProgram(createCommand(program), process.argv.slice(2))
}

function createCommand({ version, url, names, imports }: BuiltProgram): Command {
  const file = url.slice(url.lastIndexOf('/') + 1)
  const targets = names.map((name) => ({ name }))
  // The name of the command is part of the names of its environment variables: KOPF_RUN_NAMESPACES.
  const command = new Command('run')
    .description(
      'Runs the operator until it receives SIGINT or SIGTERM. Built by `kopf build`; the options are those of `kopf run`.',
    )
    .version(`${version} (kopf ${packageVersion()})`, '--version', 'print the versions')
    .helpOption('-h, --help', 'print this help')
    .configureHelp({ ...helpConfiguration, commandUsage: () => `node ${file} [options]` })
    .configureOutput({
      outputError: (text, write) =>
        write(formatUsageError(text.includes('Did you mean') ? text : `${text}(see --help)\n`)),
    })
    .exitOverride()
  addClusterOptions(addRunOptions(command))
  addFrameworkLevelOption(addLoggingOptions(command))
  readFailureFormat(command)
  addExamples(command, [`node ${file} --namespace default`, `node ${file} -A --log-format json`])
  addEnvironment(command, runVariables, {
    conventions: colourConventions,
    remarks: ['Options on the command line take precedence.'],
  })
  return command.action(async () => {
    readEnvironment(command, runVariables)
    await runProgram(command, command.opts<RunArguments>(), {
      title: names.join(', '),
      load: async () => ({ operator: await importOperator(targets, imports), async [Symbol.asyncDispose]() {} }),
    })
  })
}
