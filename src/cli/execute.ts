/** Executes a program of commands to its end. Exit codes: 0 after success or a stop, 1 after a failure, 2 after a usage error. */
import { type Command, CommanderError } from 'commander'
import { KopfError } from '../errors.ts'
import { formatFailure, isFailureJson } from './failure-format.ts'

/** Parses the arguments, runs the command, and exits the process. */
export async function executeProgram(program: Command, args: readonly string[]): Promise<void> {
  exitAfterOutput(await execute(program, args))
}

/** Exits explicitly, after the output is written: timers and sockets could keep the process running. */
export function exitAfterOutput(exitCode: number): void {
  process.stdout.write('', () => process.exit(exitCode))
}

async function execute(program: Command, args: readonly string[]): Promise<number> {
  try {
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
