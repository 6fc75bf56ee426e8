/**
 * `KopfRunner` runs the command `kopf` as a child process and records its output and exit code. The counterpart of Kopf's class
 * of the same name. The only file of `kopf/testing` that starts programs and passes the environment of this process to them.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { KopfError } from '../errors.ts'
import { noLongerNeeded, systemClock } from '../util/async/clock.ts'
import { ownProgram } from '../util/process/package-files.ts'
import { type Duration, toMs } from '../util/text/duration.ts'

/** Options of `KopfRunner`: the environment of the command, and timeouts. */
export interface KopfRunnerOptions {
  /** Time limit of `until()` and of `stop()`. Default: 30 seconds. */
  readonly timeout?: Duration
  /** Whether `stop()` rejects if the command has failed. If false, the failure is only in `error`. Default: true. */
  readonly reraise?: boolean
  /** The working directory of the command. Default: the working directory of this process. */
  readonly cwd?: string
  /** Environment variables added to those of this process. A variable with the value `undefined` is removed. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** The number of characters of output shown in error messages. */
const maxShown = 2000

/**
 * Runs `kopf` with the given arguments in a child process, from the constructor until `stop()` or the end of the `await using`
 * block.
 *
 * @example
 * ```ts
 * await using runner = new KopfRunner(['run', 'operator.ts', '--embedded', '--apply', 'object.yaml'])
 * await runner.until('And here we are!')
 * await runner.stop()
 * // runner.exitCode, runner.output
 * ```
 */
export class KopfRunner implements AsyncDisposable {
  /** Standard output and standard error together, in the order received. */
  output = ''
  /** Standard output so far. */
  stdout = ''
  /** Standard error so far. */
  stderr = ''
  /** The exit code. Undefined while the command runs; null if a signal has ended it or it could not be started. */
  exitCode: number | null | undefined
  /** Why the command has failed. Undefined while it runs, and after a successful run. */
  error: KopfError | undefined
  readonly #args: readonly string[]
  readonly #timeoutMs: number
  readonly #reraise: boolean
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  readonly #waiting = new Set<() => void>()
  #isStopping = false

  constructor(args: readonly string[], options: KopfRunnerOptions = {}) {
    const { timeout = '30s', reraise = true, cwd, env } = options
    this.#args = args
    this.#timeoutMs = toMs(timeout, '`timeout`')
    this.#reraise = reraise
    this.#child = spawn(process.execPath, [ownProgram('cli/main'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
      ...(cwd === undefined ? {} : { cwd }),
    })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#receive('stdout', text))
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => this.#receive('stderr', text))
    this.#ended = this.#awaitExit(this.#child)
  }

  /** The process id, for example to send a signal to the command. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Resolves when the output contains the text or matches the pattern. Rejects if the command exits before, or after `timeout`. */
  async until(text: string | RegExp): Promise<void> {
    const isFound = () => (typeof text === 'string' ? this.output.includes(text) : text.test(this.output))
    const isDone = () => isFound() || this.exitCode !== undefined
    const expected = typeof text === 'string' ? JSON.stringify(text) : String(text)
    if (!(await this.#waitUntil(isDone)))
      throw this.#failure(`its output has no ${expected} after ${this.#timeoutMs / 1000} s`)
    if (!isFound()) throw this.#failure(`it ended with exit code ${this.exitCode}, and its output has no ${expected}`)
  }

  /**
   * Sends SIGTERM and waits for the exit; kills the command after `timeout`. Rejects with `error` if the command has failed,
   * unless `reraise` is false.
   */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#child.kill('SIGTERM')
    if (!(await this.#waitUntil(() => this.exitCode !== undefined))) {
      this.#child.kill('SIGKILL')
      await this.#ended
      this.error = this.#failure(`it did not stop within ${this.#timeoutMs / 1000} s and was killed`)
    }
    await this.#ended
    if (this.#reraise && this.error !== undefined) throw this.error
  }

  /** The same as `stop()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #receive(stream: 'stdout' | 'stderr', text: string): void {
    this[stream] += text
    this.output += text
    for (const wake of this.#waiting) wake()
  }

  #awaitExit(child: ChildProcess): Promise<void> {
    // The child is killed with this process, so that an aborted test run leaves no operators running.
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    return new Promise((resolve) => {
      const end = (code: number | null, why: string | undefined, cause?: unknown) => {
        process.off('exit', kill)
        this.exitCode = code
        if (why !== undefined) this.error = this.#failure(why, cause)
        for (const wake of this.#waiting) wake()
        resolve()
      }
      child.once('error', (error) => end(null, `it cannot be started: ${error.message}`, error))
      child.once('close', (code, signal) => end(code, this.#failureReason(code, signal)))
    })
  }

  /** Waits until the condition is true. Returns false if it is still false after the timeout. */
  async #waitUntil(isMet: () => boolean): Promise<boolean> {
    const cancel = new AbortController()
    let isLate = false
    const timer = systemClock.sleep(this.#timeoutMs, cancel.signal).then(
      () => {
        isLate = true
        for (const wake of this.#waiting) wake()
      },
      () => {},
    )
    while (!isMet() && !isLate) {
      await new Promise<void>((wake) => this.#waiting.add(wake))
      this.#waiting.clear()
    }
    cancel.abort(noLongerNeeded)
    await timer
    return isMet()
  }

  #failure(why: string, cause?: unknown): KopfError {
    const output = this.output.length > maxShown ? `…${this.output.slice(-maxShown)}` : this.output
    const shown = output === '' ? 'It printed nothing.' : `It printed:\n${output}`
    return new KopfError('KOPF_RUNNER', `Cannot run "kopf ${this.#args.join(' ')}": ${why}. ${shown}`, { cause })
  }

  #failureReason(code: number | null, signal: NodeJS.Signals | null): string | undefined {
    // A SIGTERM before `kopf` has installed its signal handler ends the process by the signal. After `stop()` that is no failure.
    if (code === 0 || (this.#isStopping && signal === 'SIGTERM')) return undefined
    return code === null ? `it was ended by ${signal}` : `it ended with exit code ${code}`
  }
}
