/** Supervises the operator of the soak: kills it on request, and starts it again whenever it has ended. */
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { oursRun } from '../../../tools/kopf/commands.ts'
import { OperatorProcess } from '../../../tools/kopf/operator-process.ts'

export interface OperatorSupervisorOptions {
  readonly group: string
  readonly namespace: string
  readonly seed: string
  /** The path of the journal that the handlers write. */
  readonly journal: string
  readonly kubeconfig: string
  /** Runs dist/ instead of the sources, if it exists. */
  readonly isBuilt: boolean
  /** Called before each start, while no process runs. */
  readonly onStart: () => Promise<void>
}

const program = fileURLToPath(new URL('operators/soak-operator.ts', import.meta.url))

export class OperatorSupervisor implements AsyncDisposable {
  /** The number of processes so far, including the present one. */
  lives = 0
  /** The number of processes that exited without being killed. */
  exits = 0
  kills = 0
  readonly #options: OperatorSupervisorOptions
  #operator: OperatorProcess | undefined
  #log = ''
  #isOver = false
  #supervising: Promise<void> | undefined

  constructor(options: OperatorSupervisorOptions) {
    this.#options = options
  }

  get log(): string {
    return this.#log + (this.#operator?.output ?? '')
  }

  async start(): Promise<void> {
    await this.#begin()
    this.#supervising = this.#supervise()
  }

  /** Kills the process with SIGKILL, as the out-of-memory killer does, and starts the next one. */
  async kill(): Promise<void> {
    const operator = this.#operator
    if (operator === undefined || operator.ended !== undefined) return
    this.#operator = undefined
    await operator.kill()
    this.kills += 1
    this.#log += `${operator.output}\n=== killed\n`
    await this.#begin()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#supervising
    await this.#operator?.stop()
  }

  /** Counts a process that exits, and starts the next one, as Kubernetes would. */
  async #supervise(): Promise<void> {
    while (!this.#isOver) {
      await sleep(200)
      const operator = this.#operator
      if (operator?.ended === undefined || this.#isOver) continue
      this.#operator = undefined
      this.exits += 1
      this.#log += `${operator.output}\n=== ended by itself: ${operator.ended}\n`
      await this.#begin()
    }
  }

  async #begin(): Promise<void> {
    const { onStart, group, seed, namespace, journal, kubeconfig, isBuilt } = this.#options
    await onStart()
    this.lives += 1
    const env = { GROUP: group, SEED: seed, LIFE: String(this.lives), JOURNAL: journal }
    const run = { file: program, namespace, kubeconfig, env, options: ['--verbose'] }
    const from = isBuilt && existsSync('dist/cli/main.js') ? 'build' : 'source'
    this.#operator = new OperatorProcess(oursRun(run, from))
  }
}
