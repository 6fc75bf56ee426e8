/** The command `kopf` as a child process, in a folder of its own with the files of a user in it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, inject } from 'vitest'

/** Creates a folder for each test; stops its commands and removes it after the test. */
export function useFolder(): Folder {
  const folder = new Folder()
  folder.remove()
  beforeEach(() => folder.open())
  afterEach(async () => {
    await stopCommands()
    folder.remove()
  })
  return folder
}

export class Folder {
  #path = ''
  /** The arguments of Node that run the command. */
  readonly command: readonly string[]

  constructor(command: readonly string[] = [inject('command')]) {
    this.command = command
    this.open()
  }

  /** Creates a new empty folder. */
  open(): void {
    this.#path = realpathSync(mkdtempSync(join(tmpdir(), 'kopf-run-test-')))
    mkdirSync(this.temporary)
  }

  get path(): string {
    return this.#path
  }

  /** The folder for temporary files of the command, where tests look for leftovers. */
  get temporary(): string {
    return join(this.#path, 'tmp')
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.path, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  }

  url(name: string): string {
    return pathToFileURL(join(this.path, name)).href
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

const running = new Set<KopfCommand>()

/** Called after each test: sends SIGTERM to the commands that still run, and waits for them. */
export async function stopCommands(): Promise<void> {
  // The latest one first: an operator whose server has ended waits for the server before it stops.
  for (const one of [...running].reverse()) {
    one.send('SIGTERM')
    await one.exit
  }
}

export class KopfCommand {
  stdout = ''
  stderr = ''
  readonly exit: Promise<number | string>
  readonly #child: ChildProcess
  readonly #waiting = new Set<() => void>()

  constructor(
    folder: Pick<Folder, 'path' | 'temporary' | 'command'>,
    args: readonly string[],
    variables: Readonly<Record<string, string>> = {},
  ) {
    const { KUBECONFIG: _, ...inherited } = process.env
    this.#child = spawn(process.execPath, [...folder.command, ...args], {
      cwd: folder.path,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...inherited, HOME: folder.path, TMPDIR: folder.temporary, ...variables },
    })
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => this.#add('stdout', text))
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => this.#add('stderr', text))
    running.add(this)
    this.exit = new Promise((settle) => {
      this.#child.once('close', (code, signal) => {
        running.delete(this)
        for (const wake of this.#waiting) wake()
        settle(code ?? signal!)
      })
    })
  }

  #add(stream: 'stdout' | 'stderr', text: string): void {
    this[stream] += text
    for (const wake of this.#waiting) wake()
  }

  /** Resolves when stdout or stderr matches. */
  async until(pattern: RegExp): Promise<this> {
    while (!pattern.test(this.stdout) && !pattern.test(this.stderr)) {
      if (!running.has(this)) throw new Error(`It ended without ${pattern}:\n${this.stdout}\n${this.stderr}`)
      await new Promise<void>((wake) => this.#waiting.add(wake))
    }
    return this
  }

  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }
}

export class RunCommand extends KopfCommand {
  constructor(folder: Folder, args: readonly string[], variables: Readonly<Record<string, string>> = {}) {
    super(folder, ['run', ...args], variables)
  }
}
