/**
 * Runs child processes: as a stream of output lines, or to the end with all output. The only file of the library that starts programs.
 * Prints and logs nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { PassThrough } from 'node:stream'
import { type Clock, noLongerNeeded } from '../async/clock.ts'

export interface ProgramOptions {
  /** The name or the path of the program. */
  readonly file: string
  /** Visible to all users of this machine, so they must not contain secrets. */
  readonly args: readonly string[]
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>
  readonly clock: Clock
  /** Stops the program. */
  readonly signal: AbortSignal
  /** Runs with a low priority, and is stopped together with the programs that it has started. Default: false. */
  readonly isBackground?: boolean
}

/** Time between SIGTERM and SIGKILL. */
const killDelayMs = 2000

/**
 * Yields the lines of standard output and standard error until the program ends; leaving the loop stops it. Throws if it cannot be
 * started.
 */
export async function* runProgram(options: ProgramOptions): AsyncGenerator<string, void, undefined> {
  const { file, args, env, clock, signal } = options
  if (signal.aborted) return
  const { child, ended } = start(file, args, env)
  const stop = () => stopChild(child, ended, clock)
  const kill = () => child.kill('SIGKILL')
  signal.addEventListener('abort', stop, { once: true })
  // The child must not outlive this process.
  process.once('exit', kill)
  try {
    yield* readLines(outputOf(child))
  } finally {
    signal.removeEventListener('abort', stop)
    await stop()
    process.off('exit', kill)
  }
}

/** Starts a program that outlives this process, without its output. False if it cannot be started. */
export function startDetached(file: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: 'ignore', detached: true })
    child.once('spawn', () => resolve(true)).once('error', () => resolve(false))
    child.unref()
  })
}

export interface ProgramOutput {
  /** Null if a signal killed the program. */
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Maximum size of standard output and of standard error; further chunks are dropped. */
const maxOutputBytes = 1 << 20

/** Runs a program to its end and returns its output. Rejects if it cannot be started, and with the signal's reason. */
export async function captureProgram(options: ProgramOptions): Promise<ProgramOutput> {
  const { file, args, env, clock, signal, isBackground = false } = options
  signal.throwIfAborted()
  const { child, ended } = start(file, args, env, isBackground)
  const kill = isBackground ? () => killGroup(child) : () => void child.kill('SIGKILL')
  const stop = async () => {
    if (isBackground) kill()
    await stopChild(child, ended, clock)
    // A child process of the program may keep the streams open.
    for (const stream of [child.stdout, child.stderr]) stream?.destroy()
  }
  signal.addEventListener('abort', stop, { once: true })
  process.once('exit', kill)
  try {
    const [stdout, stderr, status] = await Promise.all([
      readAll(child.stdout!),
      readAll(child.stderr!),
      new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve)),
    ])
    signal.throwIfAborted()
    return { status, stdout, stderr }
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
    process.off('exit', kill)
  }
}

function start(file: string, args: readonly string[], env: Readonly<Record<string, string>>, isBackground = false) {
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    detached: isBackground,
  })
  if (isBackground) lowerPriority(child)
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()).once('error', () => resolve()))
  return { child, ended }
}

function lowerPriority({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The program has already ended.
  }
}

/** Kills the process group of a background program. Windows has no process groups: there only the program itself is killed. */
function killGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size <= maxOutputBytes) chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function outputOf(child: ChildProcess): PassThrough {
  const output = new PassThrough({ encoding: 'utf8' })
  for (const stream of [child.stdout, child.stderr]) stream?.pipe(output, { end: false })
  child.once('close', () => output.end())
  child.once('error', (error) => output.destroy(error))
  return output
}

async function* readLines(chunks: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    yield* lines
  }
  if (rest !== '') yield rest
}

async function stopChild(child: ChildProcess, ended: Promise<void>, clock: Clock): Promise<void> {
  child.kill()
  const done = new AbortController()
  const killTimer = clock.sleep(killDelayMs, done.signal).then(
    () => child.kill('SIGKILL'),
    () => {},
  )
  await ended
  done.abort(noLongerNeeded)
  await killTimer
}
