/** Keeps the operator of the soak running: kills it when told to, and starts it again whenever it has ended. */
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { oursRun } from '../../../tools/kopf/commands.ts'
import { OperatorProcess } from '../../../tools/kopf/operator-process.ts'

export interface KeeperOptions {
  readonly group: string
  readonly namespace: string
  readonly seed: string
  /** Paths of files: where the handlers write down what they do, and how to reach the cluster. */
  readonly journal: string
  readonly kubeconfig: string
  /** Runs what `npm run build` made, where it is there, instead of the sources. */
  readonly isBuilt: boolean
  /** Called while there is no process, before each one. */
  readonly onStart: () => Promise<void>
}

const program = fileURLToPath(new URL('operators/soak.ts', import.meta.url))

export class Keeper implements AsyncDisposable {
  /** How many processes there were, the one of now included. */
  lives = 0
  /** How many ended by themselves. */
  exits = 0
  kills = 0
  readonly #options: KeeperOptions
  #operator: OperatorProcess | undefined
  #log = ''
  #isOver = false
  #supervising: Promise<void> | undefined

  constructor(options: KeeperOptions) {
    this.#options = options
  }

  get log(): string {
    return this.#log + (this.#operator?.output ?? '')
  }

  async start(): Promise<void> {
    await this.#begin()
    this.#supervising = this.#supervise()
  }

  /** As by the out-of-memory killer. */
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

  /** A process that ends by itself is counted, and started again, as Kubernetes would. */
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
