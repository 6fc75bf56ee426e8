/**
 * One program of the control plane as a child process: start, stop, and the end of its log for error messages.
 * Used by processes.ts. Its output goes directly to a file, so no pipe has to be read.
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
        // Nothing of the user's environment: KUBECONFIG, ETCD_* and proxy variables would change the behaviour of the programs.
        env: { PATH: '/usr/bin:/bin', HOME: folder, TMPDIR: folder },
        stdio: ['ignore', log, log],
        // A process group of its own: Ctrl-C in the terminal reaches only this process, which then stops the programs in order.
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

  /** The exit status or signal; undefined while the process runs. */
  get ended(): string | undefined {
    return this.#ended
  }

  /** Resolves when the process has exited. */
  async kill(): Promise<void> {
    if (this.#ended === undefined) this.#process.kill('SIGKILL')
    await this.#exit
  }

  /** Sends SIGTERM, and SIGKILL after `graceMs`; resolves when the process has exited. */
  async stop(graceMs: number): Promise<void> {
    if (this.#ended === undefined) this.#process.kill('SIGTERM')
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), graceMs)
    await this.#exit
    clearTimeout(timer)
  }

  logTail(lines = 15): string {
    return readFileSync(this.#logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
  }

  #watchExit(): Promise<void> {
    return new Promise((resolve) => {
      const end = (how: string): void => {
        this.#ended = how
        // Another process may get this pid now, and the watchdog must not kill it.
        rmSync(this.#pidFile, { force: true })
        resolve()
      }
      this.#process.once('exit', (status, signal) => end(signal ?? `status ${status}`))
      this.#process.once('error', (error) => end(error.message))
    })
  }
}
