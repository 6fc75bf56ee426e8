/**
 * The command `kopf` in the background, as a process of its own: what it prints, and how it ends. The counterpart of Kopf's
 * class of that name. The only file of the kit that starts programs, and that hands them the environment of this process.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { KopfError } from '../errors.ts'
import { noLongerNeeded, systemClock } from '../util/async/clock.ts'
import { ownProgram } from '../util/process/package-files.ts'
import { type Duration, toMs } from '../util/text/duration.ts'

/** How the command is run, and how long it is waited for. */
export interface KopfRunnerOptions {
  /** How long is waited for a text in the output, and for the end after it was told to stop. Default: 30 seconds. */
  readonly timeout?: Duration
  /** Whether `stop` rejects where the command has failed. Default: true. */
  readonly reraise?: boolean
  /** The working directory. Default: that of this process. */
  readonly cwd?: string
  /** Beside all that this process has in its environment; undefined takes something away. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

const maxShown = 2000

/**
 * Runs `kopf` with these arguments until it is stopped.
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
  /** Standard output and standard error, as they came. */
  output = ''
  stdout = ''
  stderr = ''
  /** Undefined as long as it runs; null where a signal has ended it. */
  exitCode: number | null | undefined
  /** Why it has failed; undefined as long as it runs, and where it has not. */
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
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#hear('stdout', text))
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => this.#hear('stderr', text))
    this.#ended = this.#follow(this.#child)
  }

  /** Of the process, for whoever wants to send it a signal. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Resolves when the output has it; rejects where the command ends without it, or takes too long. */
  async until(text: string | RegExp): Promise<void> {
    const isThere = () => (typeof text === 'string' ? this.output.includes(text) : text.test(this.output))
    const isOver = () => isThere() || this.exitCode !== undefined
    const wanted = typeof text === 'string' ? JSON.stringify(text) : String(text)
    if (!(await this.#within(isOver))) throw this.#complain(`it has not said ${wanted} in ${this.#timeoutMs / 1000} s`)
    if (!isThere()) throw this.#complain(`it ended with the exit code ${this.exitCode}, and has not said ${wanted}`)
  }

  /** Tells it to stop, and waits for its end. Rejects with `error` where it has failed, unless `reraise` is false. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#child.kill('SIGTERM')
    if (!(await this.#within(() => this.exitCode !== undefined))) {
      this.#child.kill('SIGKILL')
      await this.#ended
      this.error = this.#complain(`it was killed, since it has not stopped in ${this.#timeoutMs / 1000} s`)
    }
    await this.#ended
    if (this.#reraise && this.error !== undefined) throw this.error
  }

  /** As `stop`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #hear(stream: 'stdout' | 'stderr', text: string): void {
    this[stream] += text
    this.output += text
    for (const wake of this.#waiting) wake()
  }

  #follow(child: ChildProcess): Promise<void> {
    // Whoever ends this process in the middle of everything ends the child, too.
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    return new Promise((resolve) => {
      const end = (code: number | null, why: string | undefined, cause?: unknown) => {
        process.off('exit', kill)
        this.exitCode = code
        if (why !== undefined) this.error = this.#complain(why, cause)
        for (const wake of this.#waiting) wake()
        resolve()
      }
      child.once('error', (error) => end(null, `it cannot be started: ${error.message}`, error))
      child.once('close', (code, signal) => end(code, this.#whyFailed(code, signal)))
    })
  }

  /** Whether it has become so in time. */
  async #within(isSo: () => boolean): Promise<boolean> {
    const enough = new AbortController()
    let isLate = false
    const timer = systemClock.sleep(this.#timeoutMs, enough.signal).then(
      () => {
        isLate = true
        for (const wake of this.#waiting) wake()
      },
      () => {},
    )
    while (!isSo() && !isLate) {
      await new Promise<void>((wake) => this.#waiting.add(wake))
      this.#waiting.clear()
    }
    enough.abort(noLongerNeeded)
    await timer
    return isSo()
  }

  #complain(why: string, cause?: unknown): KopfError {
    const said = this.output.length > maxShown ? `…${this.output.slice(-maxShown)}` : this.output
    const shown = said === '' ? 'It has said nothing.' : `It has said:\n${said}`
    return new KopfError('KOPF_RUNNER', `Cannot run "kopf ${this.#args.join(' ')}": ${why}. ${shown}`, { cause })
  }

  #whyFailed(code: number | null, signal: NodeJS.Signals | null): string | undefined {
    // Before it knows the signal, it ends as any process does: that is what was asked for.
    if (code === 0 || (this.#isStopping && signal === 'SIGTERM')) return undefined
    return code === null ? `it was ended by ${signal}` : `it ended with the exit code ${code}`
  }
}
