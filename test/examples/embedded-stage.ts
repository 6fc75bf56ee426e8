/** Runs examples in this process, on their own server with a skipping clock. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CustomResource, Operator, RunOptions } from 'kopf'
import { toCrds } from '../../src/kube/crds/crd.ts'
import { loadObjects } from '../../src/server/load.ts'
import { createLogSink } from '../../src/util/log/log.ts'
import { parseYaml } from '../../src/util/yaml.ts'
import { ask } from '../support/in-process.ts'
import { Lab, type Reply } from '../support/lab.ts'
import { Kubectl } from './kubectl.ts'
import { Terminal } from './shown.ts'
import type { Run, Stage } from './stage.ts'

const mergePatch = 'application/merge-patch+json'

export class EmbeddedStage implements Stage {
  readonly #folder: string
  readonly #lab = new Lab({ hasSockets: true })
  #runs = 0

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async open(folder: string): Promise<EmbeddedStage> {
    const stage = new EmbeddedStage(folder)
    await stage.#lab.open()
    return stage
  }

  async prepare(): Promise<void> {}

  async run(command: string): Promise<Run> {
    const { isVerbose, ...options } = toOptions(command)
    // Not imported by name, since the compiler checks the examples with the options of users, not with the stricter ones here. A new
    // module per run, since settings belong to the operator.
    this.#runs += 1
    const module = `../../examples/${this.#folder}/operator.ts?run=${this.#runs}`
    const { default: operator } = (await import(/* @vite-ignore */ module)) as { default: Operator }
    if (this.#runs === 1) await this.#fill(operator)
    const lines: string[] = []
    const write = (text: string) => void lines.push(...text.trimEnd().split('\n'))
    const logging = createLogSink({ format: 'short', verbose: isVerbose, clock: this.#lab.clock, write })
    const running = await this.#lab.start(operator, { ...options, logging })
    return { terminal: new Terminal(() => lines), stop: () => this.#lab.stop(running) }
  }

  /** Creates the objects, like `--embedded --apply object.yaml` and `kopf server --filename object.yaml`. */
  async #fill(operator: Operator): Promise<void> {
    const text = readFileSync(join('examples', this.#folder, 'object.yaml'), 'utf8')
    await loadObjects(this.#lab.server, toCrds(operator.resources as readonly CustomResource<object>[]))
    await loadObjects(this.#lab.server, parseYaml(text))
  }

  answer(command: string): Promise<string> {
    const [program, ...words] = command.split(' ')
    if (program !== 'kubectl') throw new Error(`There is no stand-in for "${command}"`)
    const kubectl = new Kubectl((...request) => ask(this.#lab.server, ...request))
    return this.#lab.outside(kubectl.run(words.join(' ')))
  }

  call(method: string, path: string, body?: object): Promise<Reply> {
    return this.#lab.outside(this.#lab.call(method, path, body, method === 'PATCH' ? mergePatch : undefined))
  }

  until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    return this.#lab.until(isSo)
  }

  close(): Promise<void> {
    return this.#lab.stopAll()
  }
}

/** The run options of the command; an option that is unknown here is a mistake in the README. */
function toOptions(command: string): RunOptions & { isVerbose: boolean } {
  const words = command.split(' ')
  const take = (option: string): string | undefined => {
    const at = words.indexOf(option)
    return at < 0 ? undefined : words.splice(at, 2)[1]
  }
  const has = (option: string): boolean => {
    const at = words.indexOf(option)
    if (at >= 0) words.splice(at, 1)
    return at >= 0
  }
  const namespace = take('--namespace')
  const livenessEndpoint = take('--liveness')
  const isVerbose = has('--verbose')
  const priority = has('--dev') ? 666 : undefined
  const isHere = has('--embedded') && take('--apply') === 'object.yaml' && !has('--all-namespaces')
  if (!isHere && take('--kubeconfig') !== 'dev.kubeconfig') throw new Error(`No cluster in "${command}"`)
  if (words.join(' ') !== 'npx kopf run operator.ts') throw new Error(`What is meant by "${command}"?`)
  return {
    isVerbose,
    ...(namespace === undefined ? { clusterwide: true } : { namespaces: [namespace] }),
    ...(livenessEndpoint === undefined ? {} : { livenessEndpoint }),
    ...(priority === undefined ? {} : { priority }),
  }
}
