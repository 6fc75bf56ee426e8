#!/usr/bin/env node
/** The program `kopf`. Exit codes: 0 after success or a stop, 1 after a failure, 2 after a usage error. */
import { CommanderError } from 'commander'
import { KopfError } from '../errors.ts'
import { formatFailure, isFailureJson } from './failure-format.ts'
import { createProgram } from './program.ts'

async function main(args: readonly string[]): Promise<number> {
  const program = createProgram()
  try {
    if (args.length === 0) {
      program.outputHelp({ error: true })
      return 2
    }
    // Called by the completion scripts; not a command for people, and therefore not in the help.
    if (args[0] === '__complete') {
      const { printCandidates } = await import('./completion/candidates.ts')
      await printCandidates(program, args.slice(args[1] === '--' ? 2 : 1))
      return 0
    }
    await program.parseAsync(args, { from: 'user' })
    // A command that fails without throwing has set the exit code.
    return Number(process.exitCode ?? 0)
  } catch (error) {
    // Commander has already printed the usage error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (isExpected(error)) process.stderr.write(formatFailure(error.message))
    else if (isFailureJson())
      process.stderr.write(formatFailure(`kopf has failed unexpectedly: ${String(error)}`, error))
    else throw error
    return 1
  }
}

/** Expected errors are printed as one sentence. Any other error is a bug and is printed with its stack. */
function isExpected(error: unknown): error is Error {
  return error instanceof KopfError || (error instanceof Error && 'syscall' in error)
}

const exitCode = await main(process.argv.slice(2))
// Exits explicitly: timers and sockets of the user's code could keep the process running.
process.stdout.write('', () => process.exit(exitCode))
