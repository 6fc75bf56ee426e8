#!/usr/bin/env node
/** The program `kopf`. Without arguments, it prints its help and exits as after a usage error. */
import { executeProgram, exitAfterOutput } from './execute.ts'
import { createProgram } from './program.ts'

const args = process.argv.slice(2)
const program = createProgram()
// Called by the completion scripts; not a command for people, and therefore not in the help.
if (args[0] === '__complete') {
  const { printCandidates } = await import('./completion/candidates.ts')
  await printCandidates(program, args.slice(args[1] === '--' ? 2 : 1))
  exitAfterOutput(0)
} else if (args.length > 0) await executeProgram(program, args)
else {
  program.outputHelp({ error: true })
  process.exitCode = 2
}
