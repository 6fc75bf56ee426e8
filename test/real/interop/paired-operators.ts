/**
 * Operators of Python's Kopf and of this package: each operator is a file `operators/<name>.py` and the same as `<name>.ts`.
 * The processes are black boxes: tests only read the objects and the output.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll } from 'vitest'
import { kopfRun, oursRun } from '../../../tools/kopf/commands.ts'
import { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import { ensureKopf } from '../../../tools/kopf/venv.ts'
import type { Body, Tree } from '../../support/answers.ts'
import type { Api } from '../../support/api.ts'
import { expectStatus } from '../../support/expectations.ts'

export type Language = 'python' | 'ours'

export interface OperatorOptions {
  /** The name of the file, without its extension. */
  readonly name: string
  /** Undefined for the whole cluster. */
  readonly namespace: string | undefined
  readonly kubeconfig: string
  readonly env: Readonly<Record<string, string>>
  /** Whether the operator takes part in peering. */
  readonly hasPeers?: boolean
  /** Further options of `kopf run`. */
  readonly options?: readonly string[]
}

const extensions: Readonly<Record<Language, string>> = { python: 'py', ours: 'ts' }

/** Called at the top of a test file. The first run on a machine installs Kopf, which takes longer than the timeout of a test. */
export function useKopf(): void {
  beforeAll(async () => void (await ensureKopf()), 300_000)
}

export async function startOperator(language: Language, options: OperatorOptions): Promise<OperatorProcess> {
  const file = fileURLToPath(new URL(`operators/${options.name}.${extensions[language]}`, import.meta.url))
  const { namespace, kubeconfig, env, hasPeers = false } = options
  const run = { file, namespace, kubeconfig, env, hasPeers, options: ['--verbose', ...(options.options ?? [])] }
  return new OperatorProcess(language === 'python' ? await kopfRun(run) : oursRun(run))
}

/** One custom resource in one namespace. */
export class Objects {
  readonly #api: Api
  readonly #path: string
  readonly #kind: { readonly apiVersion: string; readonly kind: string }

  constructor(api: Api, path: string, kind: { apiVersion: string; kind: string }) {
    this.#api = api
    this.#path = path
    this.#kind = kind
  }

  async create(name: string, labels: Readonly<Record<string, string>> = {}, spec: Tree = { size: 1 }): Promise<Body> {
    const body = { ...this.#kind, metadata: { name, labels }, spec }
    return expectStatus(await this.#api.post(this.#path, body), 201)
  }

  async get(name: string): Promise<Body> {
    return expectStatus(await this.#api.get(`${this.#path}/${name}`), 200)
  }

  async patch(name: string, patch: Tree): Promise<Body> {
    return expectStatus(await this.#api.mergePatch(`${this.#path}/${name}`, patch), 200)
  }

  async delete(name: string): Promise<void> {
    expectStatus(await this.#api.delete(`${this.#path}/${name}`), 200, 202)
  }

  /** Resolves with the object when the condition holds. Fails if `operator` ends before. */
  until(name: string, operator: OperatorProcess, holds: (body: Body) => boolean): Promise<Body> {
    return whileRunning(operator, async () => {
      const body = await this.get(name)
      return holds(body) ? body : new Error(`Not yet:\n${JSON.stringify(body, undefined, 1)}`)
    })
  }

  async untilGone(name: string, operator: OperatorProcess): Promise<void> {
    await whileRunning(operator, async () => {
      const { status, text } = await this.#api.get(`${this.#path}/${name}`)
      return status === 404 ? true : new Error(`Still there:\n${text}`)
    })
  }
}

const patienceMs = 15_000

/** Repeats `ask` until it resolves with a value that is not an error. */
async function whileRunning<T>(operator: OperatorProcess, ask: () => Promise<T | Error>): Promise<T> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    // Read before `ask`, so that the last writes of the operator count.
    const isOver = operator.ended !== undefined || Date.now() >= deadline
    const answer = await ask()
    if (!(answer instanceof Error)) return answer
    if (isOver) throw new Error(`${answer.message}\n${tail(operator)}`)
    await sleep(25)
  }
}

function tail({ name, ended, output }: OperatorProcess): string {
  const state = ended === undefined ? 'runs' : `ended with ${ended}`
  return `${name} ${state}:\n${output.trimEnd().split('\n').slice(-15).join('\n')}`
}

export function annotationsOf(body: Body): Readonly<Record<string, string>> {
  return body.metadata.annotations ?? {}
}

const prefix = 'kopf.zalando.org'

export interface Progress {
  readonly retries: number
  readonly started: string
  readonly success: boolean
  readonly failure: boolean
  readonly purpose?: string
}

/** The progress record of a handler, if it exists. `key` is the name of the annotation after the slash. */
export function progressOf(body: Body, key: string): Progress | undefined {
  const text = annotationsOf(body)[`${prefix}/${key}`]
  return text === undefined ? undefined : (JSON.parse(text) as Progress)
}

export function isHandled(body: Body): boolean {
  return annotationsOf(body)[`${prefix}/last-handled-configuration`] !== undefined
}

/** Annotations that stay between two changes: the last handled state, and the seen states, which Kopf does not know. */
const kept = ['last-handled-configuration', 'seen-configurations'].map((name) => `${prefix}/${name}`)

/** The names of the annotations that exist only while a change is handled. */
export function leftovers(body: Body): string[] {
  const names = Object.keys(annotationsOf(body)).filter((name) => name.startsWith(`${prefix}/`))
  return names.filter((name) => !kept.includes(name))
}

export function resultOf(body: Body, id: string): Tree | undefined {
  return (body.status as Tree | undefined)?.[id] as Tree | undefined
}
