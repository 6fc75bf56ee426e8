/**
 * An operator as a black box: a process with a kubeconfig, whose output is kept and whose end is certain.
 * Used by the interop tests and the benchmarks, for Python's Kopf, for ours, and for anything else that watches.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { toLaunch } from '../envtest/watchdog.ts'

export interface OperatorCommand {
  /** For messages. */
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
  /** In the control plane's folder, whose watchdog also knows of the process then. */
  readonly kubeconfig: string
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** The core it may run on; any if not given. */
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
      stream?.setEncoding('utf8').on('data', (text: string) => this.#hear(text))
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

  /** All it has printed so far. */
  get output(): string {
    return this.#output
  }

  /** How it ended, or undefined while it runs. */
  get ended(): string | undefined {
    return this.#ended
  }

  /** Resolves when the output satisfies the condition; rejects when the process ends first, or time is up. */
  async until(isThere: (output: string) => boolean, timeoutMs = 20_000): Promise<void> {
    const deadline = Date.now() + timeoutMs
    while (!isThere(this.#output)) {
      if (this.#ended !== undefined) throw this.#failure(`ended with ${this.#ended}`)
      if (Date.now() >= deadline) throw this.#failure(`did not print what was awaited within ${timeoutMs} ms`)
      await this.#next(deadline - Date.now())
    }
  }

  /** SIGTERM, and SIGKILL when that was not enough; resolves when the process is gone. */
  async stop(): Promise<void> {
    if (this.#ended === undefined) this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#kill(), graceMs)
    await this.#exit
    clearTimeout(timer)
  }

  /** SIGKILL: as in a crash. */
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

  #hear(text: string): void {
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

/** Of the user's environment only what programs need to run: proxies and other clusters are no part of this. */
function inherited(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'USER']
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
}
