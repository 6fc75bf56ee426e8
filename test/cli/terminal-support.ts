/** The command `kopf` on a pseudo-terminal, for tests of what a person sees and types. */
import { spawn } from 'node:child_process'
import { expect } from 'vitest'
import { Screen } from '../support/screen.ts'
import type { Folder } from './run-support.ts'

/** Ctrl-C */
export const interrupt = '\u0003'

const running = new Set<OnTerminal>()

/** Called after each test: presses Ctrl-C in the terminals whose command still runs, and waits for them. */
export async function stopTerminals(): Promise<void> {
  for (const one of running) one.type(interrupt)
  await Promise.all([...running].map(({ exit }) => exit))
}

export interface TerminalOptions {
  readonly variables?: Readonly<Record<string, string>>
  readonly columns?: number
  /** Whether the terminal echoes the pressed keys. */
  readonly isEchoed?: boolean
  /** Shell text after the command. */
  readonly redirection?: string
  /** Shell text of another program to run instead of `kopf`. */
  readonly program?: string
}

/** The command on a pseudo-terminal of the program `script`, which Linux and macOS have. */
export class OnTerminal {
  output = ''
  readonly exit: Promise<number | null>
  readonly #child
  readonly #waiting = new Set<() => void>()

  readonly #columns: number

  constructor(
    folder: Folder,
    args: readonly string[],
    { variables = {}, columns = 120, isEchoed = false, redirection = '', program }: TerminalOptions = {},
  ) {
    this.#columns = columns
    const { KUBECONFIG: _, CI: _ci, NO_COLOR: _no, FORCE_COLOR: _force, ...inherited } = process.env
    const command = [process.execPath, ...folder.command, ...args].map((one) => `'${one}'`).join(' ')
    const line = `stty cols ${columns} rows 40 ${isEchoed ? '' : '-echo'}; exec ${program ?? command} ${redirection}`
    const ways = process.platform === 'darwin' ? ['-q', '/dev/null', 'sh', '-c', line] : ['-qefc', line, '/dev/null']
    this.#child = spawn('script', ways, {
      cwd: folder.path,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...inherited, SHELL: '/bin/sh', TERM: 'xterm', HOME: folder.path, TMPDIR: folder.temporary, ...variables },
    })
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.output += text
      for (const wake of this.#waiting) wake()
    })
    running.add(this)
    this.exit = new Promise((settle) => {
      this.#child.once('close', (code) => {
        running.delete(this)
        for (const wake of this.#waiting) wake()
        settle(code)
      })
    })
  }

  async until(pattern: RegExp): Promise<this> {
    while (!pattern.test(this.output)) {
      if (!running.has(this)) throw new Error(`It ended without ${pattern}:\n${this.output}`)
      await new Promise<void>((wake) => this.#waiting.add(wake))
    }
    return this
  }

  type(keys: string): void {
    this.#child.stdin.write(keys)
  }

  async stop(): Promise<void> {
    this.type(interrupt)
    expect(await this.exit).toBe(0)
  }

  get screen(): Screen {
    const screen = new Screen(this.#columns)
    screen.write(this.output)
    return screen
  }
}
