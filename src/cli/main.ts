#!/usr/bin/env node
/** The command `kopf`. Exit codes: 0 when it was stopped or done, 1 for a failure, 2 for wrong usage. */
import { CommanderError } from 'commander'
import { KopfError } from '../errors.ts'
import { createProgram } from './program.ts'

async function main(args: readonly string[]): Promise<number> {
  const program = createProgram()
  try {
    if (args.length === 0) {
      program.outputHelp({ error: true })
      return 2
    }
    await program.parseAsync(args, { from: 'user' })
    // A command that has failed without an error of its own has set it.
    return Number(process.exitCode ?? 0)
  } catch (error) {
    // Commander has already said what was wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (!isExpected(error)) throw error
    process.stderr.write(`kopf: ${error.message}\n`)
    return 1
  }
}

/** A sentence serves for what people can put right; anything else is a bug and shows where it is. */
function isExpected(error: unknown): error is Error {
  return error instanceof KopfError || (error instanceof Error && 'syscall' in error)
}

const exitCode = await main(process.argv.slice(2))
// At once: timers and sockets of a user's own may go on for ever.
process.stdout.write('', () => process.exit(exitCode))
