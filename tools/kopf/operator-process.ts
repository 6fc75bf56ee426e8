/**
 * An operator as a child process with a kubeconfig. Its output is collected, and the process is stopped in any case.
 * Used by the interop tests and the benchmarks, for Python's Kopf, for ours and for other operators.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { toLaunch } from '../envtest/watchdog.ts'

export interface OperatorCommand {
  /** Used in error messages. */
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
  /** Must be in the folder of the control plane, so that its watchdog also kills this process. */
  readonly kubeconfig: string
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** The CPU core to run on. Default: any. */
  readonly core?: number
}

const graceMs = 5_000

export class OperatorProcess implements AsyncDisposable {
  readonly name: string
  readonly #child: ChildProcess
  readonly #exit: Promise<void>
  readonly #waiting = new Set<() => void>()
  #output = ''
  #ended: string | undefined

  constructor(command: OperatorCommand) {
    this.name = command.name
    const pidFile = join(dirname(command.kubeconfig), `operator-${randomUUID()}.pid`)
    this.#child = spawn(...toSpawn(command, pidFile), {
      cwd: command.cwd ?? process.cwd(),
      env: { ...inherited(), ...command.env, KUBECONFIG: command.kubeconfig },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.#append(text))
    }
    this.#exit = new Promise((resolve) => {
      const end = (how: string): void => {
        this.#ended = how
        rmSync(pidFile, { force: true })
        this.#wake()
        resolve()
      }
      this.#child.once('close', (code, signal) => end(signal ?? `status ${code}`))
      this.#child.once('error', (error) => end(error.message))
    })
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`${this.name} was not started: ${this.#ended}`)
    return this.#child.pid
  }

  /** All output so far, of stdout and stderr. */
  get output(): string {
    return this.#output
  }

  /** The exit status or signal; undefined while the process runs. */
  get ended(): string | undefined {
    return this.#ended
  }

  /** Resolves when the output satisfies the condition; rejects if the process exits first or the time is over. */
  async until(isThere: (output: string) => boolean, timeoutMs = 20_000): Promise<void> {
    const deadline = Date.now() + timeoutMs
    while (!isThere(this.#output)) {
      if (this.#ended !== undefined) throw this.#failure(`ended with ${this.#ended}`)
      if (Date.now() >= deadline) throw this.#failure(`did not print the expected output within ${timeoutMs} ms`)
      await this.#next(deadline - Date.now())
    }
  }

  /** Sends SIGTERM, and SIGKILL after the grace period; resolves when the process has exited. */
  async stop(): Promise<void> {
    if (this.#ended === undefined) this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#kill(), graceMs)
    await this.#exit
    clearTimeout(timer)
  }

  /** SIGKILL: like a crash. */
  async kill(): Promise<void> {
    this.#kill()
    await this.#exit
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #kill(): void {
    if (this.#ended !== undefined || this.#child.pid === undefined) return
    process.kill(-this.#child.pid, 'SIGKILL')
  }

  #append(text: string): void {
    this.#output += text
    this.#wake()
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake()
  }

  #next(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#waiting.add(done)
    })
  }

  #failure(what: string): Error {
    return new Error(`${this.name} ${what}\n${this.#output.trimEnd().split('\n').slice(-20).join('\n')}`)
  }
}

function toSpawn({ program, args, core }: OperatorCommand, pidFile: string): [string, string[]] {
  if (core === undefined) return toLaunch(pidFile, program, args)
  return toLaunch(pidFile, 'taskset', ['-c', String(core), program, ...args])
}

/** The variables that every program needs. Proxy settings and kubeconfigs of the user are left out. */
function inherited(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'USER']
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
}
