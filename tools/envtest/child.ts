/**
 * One program of the control plane as a process: started, watched, stopped, and its last words when it failed.
 * Used by control-plane.ts. Its output goes straight to a file, so it needs nobody to read it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { toLaunch } from './watchdog.ts'

export interface ChildOptions {
  /** Names the process in messages, and its files in the folder. */
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
  readonly folder: string
}

export class Child {
  readonly name: string
  readonly #process: ChildProcess
  readonly #logFile: string
  readonly #pidFile: string
  readonly #exit: Promise<void>
  #ended: string | undefined

  constructor({ name, program, args, folder }: ChildOptions) {
    this.name = name
    this.#logFile = join(folder, `${name}.log`)
    this.#pidFile = join(folder, `${name}.pid`)
    const log = openSync(this.#logFile, 'a')
    try {
      this.#process = spawn(...toLaunch(this.#pidFile, program, args), {
        cwd: folder,
        // Of the user's environment nothing: KUBECONFIG, ETCD_* and proxies would change what the programs do.
        env: { PATH: '/usr/bin:/bin', HOME: folder, TMPDIR: folder },
        stdio: ['ignore', log, log],
        // In a group of its own: Ctrl-C in the terminal is for us, and we stop the programs in order.
        detached: true,
      })
    } finally {
      closeSync(log)
    }
    this.#exit = this.#watchExit()
  }

  get pid(): number | undefined {
    return this.#ended === undefined ? this.#process.pid : undefined
  }

  /** How it ended, or undefined while it runs. */
  get ended(): string | undefined {
    return this.#ended
  }

  /** Resolves when the process is gone. */
  async kill(): Promise<void> {
    if (this.#ended === undefined) this.#process.kill('SIGKILL')
    await this.#exit
  }

  /** SIGTERM, and SIGKILL when that was not enough; resolves when the process is gone. */
  async stop(graceMs: number): Promise<void> {
    if (this.#ended === undefined) this.#process.kill('SIGTERM')
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), graceMs)
    await this.#exit
    clearTimeout(timer)
  }

  lastWords(lines = 15): string {
    return readFileSync(this.#logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
  }

  #watchExit(): Promise<void> {
    return new Promise((resolve) => {
      const end = (how: string): void => {
        this.#ended = how
        // The id belongs to nobody now, soon perhaps to somebody else: the watchdog must not find it.
        rmSync(this.#pidFile, { force: true })
        resolve()
      }
      this.#process.once('exit', (status, signal) => end(signal ?? `status ${status}`))
      this.#process.once('error', (error) => end(error.message))
    })
  }
}
