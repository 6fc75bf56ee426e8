/** An operator as a separate process with a heap of a given size. The program is a file in this folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { expect, inject } from 'vitest'
import type { Cluster } from '../../support/cluster.ts'
import { eventually } from '../../support/expectations.ts'

/** Starting a program takes long on a busy machine. */
const patienceMs = 60_000

export interface ProcessOptions {
  readonly program: URL
  readonly namespaces: readonly string[]
  /** An option of V8, such as `--max-old-space-size=200`. */
  readonly heap: string
}

export class OperatorProcess {
  readonly #child: ChildProcess
  /** The last part of its output. */
  output = ''
  readonly #handled = new Set<string>()

  constructor(cluster: Cluster, { program, namespaces, heap }: ProcessOptions) {
    const { url, caPem, admin, group } = cluster
    const connection = {
      server: url,
      caData: caPem,
      ...('token' in admin ? { token: admin.token } : { certificateData: admin.certPem, privateKeyData: admin.keyPem }),
    }
    const module = new URL('../index.js', pathToFileURL(inject('command'))).href
    this.#child = spawn(process.execPath, [heap, program.pathname], {
      env: { ...process.env, HOSTILE_OPERATOR: JSON.stringify({ module, group, namespaces, connection }) },
    })
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.on('data', (chunk: Buffer) => (this.output = (this.output + String(chunk)).slice(-5000)))
    }
    createInterface(this.#child.stdout!).on('line', (line) => this.#note(line))
  }

  #note(line: string): void {
    if (line.startsWith('handled ')) this.#handled.add(line.slice('handled '.length))
  }

  /** Resolves when the program has printed "handled" and this text; fails at once if the program has ended. */
  async untilHandled(what: string): Promise<void> {
    await eventually(async () => {
      expect(this.isAlive, this.output).toBe(true)
      expect(this.#handled.has(what), `${what}\n${this.output}`).toBe(true)
    }, 2 * patienceMs)
  }

  get pid(): number {
    return this.#child.pid!
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The peak memory of the process in MiB, by which a container is killed. */
  get peakMiB(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8')
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)![1]) / 1024
  }

  async ready(): Promise<void> {
    await eventually(async () => {
      expect(this.isAlive, this.output).toBe(true)
      expect(this.output).toContain('ready')
    }, patienceMs)
  }

  async stop(): Promise<void> {
    if (!this.isAlive) return
    this.#child.kill('SIGTERM')
    await once(this.#child, 'exit')
  }
}
