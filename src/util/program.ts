/**
 * Another program, run as a child of this process: for as long as somebody reads what it prints, or to its end. The one place
 * of the library that starts programs. Knows nothing of what they are for; prints and logs nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { type Clock, noLongerNeeded } from './clock.ts'

export interface ProgramOptions {
  /** The name of a program, or its path. */
  readonly file: string
  /** Everybody on this machine can read them: nothing secret. */
  readonly args: readonly string[]
  /** Beside all that this process has in its environment. */
  readonly env: Readonly<Record<string, string>>
  readonly clock: Clock
  /** Stops the program. */
  readonly signal: AbortSignal
}

/** After being asked to end; then it is made to. */
const endingMs = 2000

/** What it prints, line by line, until it ends; leaving stops it. Rejects where it cannot be started. */
export async function* runProgram(options: ProgramOptions): AsyncGenerator<string, void, undefined> {
  const { file, args, env, clock, signal } = options
  if (signal.aborted) return
  const { child, ended } = start(file, args, env)
  const stop = () => end(child, ended, clock)
  const kill = () => child.kill('SIGKILL')
  signal.addEventListener('abort', stop, { once: true })
  // Whoever ends this process in the middle of everything ends the child, too.
  process.once('exit', kill)
  try {
    yield* readLines(outputOf(child))
  } finally {
    signal.removeEventListener('abort', stop)
    await stop()
    process.off('exit', kill)
  }
}

export interface Printed {
  /** Null where it was killed by a signal. */
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** So much of what it prints is kept, of each kind; a program that prints more is not listened to any further. */
const mostBytes = 1 << 20

/** What it has printed in all, once it has ended. Rejects where it cannot be started, and with the reason of the signal. */
export async function captureProgram(options: ProgramOptions): Promise<Printed> {
  const { file, args, env, clock, signal } = options
  signal.throwIfAborted()
  const { child, ended } = start(file, args, env)
  const stop = async () => {
    await end(child, ended, clock)
    // A child of the child may still hold them open.
    for (const stream of [child.stdout, child.stderr]) stream?.destroy()
  }
  const kill = () => child.kill('SIGKILL')
  signal.addEventListener('abort', stop, { once: true })
  process.once('exit', kill)
  try {
    const [stdout, stderr, status] = await Promise.all([
      gather(child.stdout!),
      gather(child.stderr!),
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

function start(file: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()).once('error', () => resolve()))
  return { child, ended }
}

async function gather(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size <= mostBytes) chunks.push(chunk)
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

async function end(child: ChildProcess, ended: Promise<void>, clock: Clock): Promise<void> {
  child.kill()
  const enough = new AbortController()
  const patience = clock.sleep(endingMs, enough.signal).then(
    () => child.kill('SIGKILL'),
    () => {},
  )
  await ended
  enough.abort(noLongerNeeded)
  await patience
}
