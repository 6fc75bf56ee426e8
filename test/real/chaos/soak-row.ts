/**
 * One row of the soak: objects that change all the time, an operator in a separate process, and faults between it and the server;
 * then all faults stop, and every object is checked. Called by soak.ts and soak.test.ts.
 */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'yaml'
import type { ControlPlane } from '../../../tools/envtest/control-plane.ts'
import { Random } from '../../simulation/random.ts'
import type { Body } from '../../support/answers.ts'
import { Api } from '../../support/api.ts'
import { crd, installCrd } from '../../support/crds.ts'
import { expectStatus } from '../../support/expectations.ts'
import { ChaosProxy } from './chaos-proxy.ts'
import { checkObject, lastHandled } from './check-object.ts'
import { checkJournal, countRepeats, type Entry, parseJournal } from './handler-journal.ts'
import { OperatorSupervisor } from './operator-supervisor.ts'
import { weather } from './proxy-faults.ts'
import { RandomEditor } from './random-editor.ts'

export const rows = ['none', 'kills', 'server', 'proxy', 'all'] as const
export type RowName = (typeof rows)[number]

export interface RowOptions {
  readonly plane: ControlPlane
  readonly row: RowName
  readonly seed: string
  readonly seconds: number
  readonly objects?: number
  readonly changesPerSecond?: number
  /** The fraction of the operator's requests with a fault; default: 0.1. */
  readonly share?: number
  /** The time after the last change until everything must be handled; default: 60 s. */
  readonly patienceSeconds?: number
  /** Runs dist/ instead of the sources. */
  readonly isBuilt?: boolean
}

export interface RowResult {
  readonly row: RowName
  readonly seed: string
  readonly objects: number
  readonly changes: number
  /** One sentence for each object in a wrong state, and for each violated rule of the journal. */
  readonly wrong: readonly string[]
  readonly requests: number
  readonly faulted: number
  /** How often the process exited without being killed. */
  readonly exits: number
  readonly kills: number
  /** Creations and clean-ups that were repeated by a later process after a kill. */
  readonly repeats: number
  /** The time from the last change until all objects are right. */
  readonly settledSeconds: number
  /** The output of the operator. */
  readonly log: string
  readonly journal: readonly Entry[]
}

export async function runRow(options: RowOptions): Promise<RowResult> {
  await using soak = await Soak.open(options)
  await soak.stir()
  const settledSeconds = await soak.settle()
  return soak.result(settledSeconds)
}

class Soak implements AsyncDisposable {
  readonly #options: RowOptions
  readonly #proxy: ChaosProxy
  readonly #api: Api
  readonly #editor: RandomEditor
  readonly #supervisor: OperatorSupervisor
  readonly #random: Random
  readonly #journal: string
  /** The uids of the objects that were handled when the present process started: it has to resume them. */
  #inherited: ReadonlySet<string> = new Set()

  static async open(options: RowOptions): Promise<Soak> {
    const { plane } = options
    const api = new Api({ url: plane.url, caPem: plane.caPem, credentials: plane.admin })
    const group = `soak${randomBytes(4).toString('hex')}.example.com`
    // Even seeds have no status subresource: objects with and without it are written in different ways.
    const subresources = Number(options.seed) % 2 === 0 ? {} : { subresources: { status: {} } }
    await installCrd(api, crd({ group, kind: 'Widget', ...subresources }))
    expectStatus(await api.post('/api/v1/namespaces', { metadata: { name: namespaceOf(group) } }), 201)
    const soak = new Soak(options, { api, proxy: await ChaosProxy.start(plane), group })
    await soak.#supervisor.start()
    return soak
  }

  constructor(options: RowOptions, made: { readonly api: Api; readonly proxy: ChaosProxy; readonly group: string }) {
    const { plane, row, seed, objects = 40, changesPerSecond = 10, isBuilt = false } = options
    const { api, proxy, group } = made
    const namespace = namespaceOf(group)
    this.#options = options
    this.#api = api
    this.#proxy = proxy
    this.#random = new Random(`${seed}/${row}`)
    this.#journal = join(plane.folder, `${group}.journal`)
    const kubeconfig = join(plane.folder, `${group}.kubeconfig`)
    writeFileSync(this.#journal, '')
    writeFileSync(kubeconfig, toKubeconfig(proxy.url))
    const path = `/apis/${group}/v1/namespaces/${namespace}/widgets`
    this.#editor = new RandomEditor({
      api,
      path,
      group,
      random: this.#random.fork('editor'),
      objects,
      changesPerSecond,
    })
    const onStart = (): Promise<void> => this.#takeInventory()
    this.#supervisor = new OperatorSupervisor({
      group,
      namespace,
      seed,
      journal: this.#journal,
      kubeconfig,
      isBuilt,
      onStart,
    })
  }

  /** Runs changes and faults for the given time. */
  async stir(): Promise<void> {
    const { row, seconds, share = 0.1 } = this.#options
    const over = new AbortController()
    const tasks = [this.#editor.run(over.signal)]
    if (row === 'kills' || row === 'all') tasks.push(this.#killNowAndThen(over.signal))
    if (row === 'server' || row === 'all') tasks.push(this.#killServer(over.signal))
    if (row === 'proxy' || row === 'all') this.#proxy.fault = weather(this.#random.fork('weather'), share)
    await sleep(seconds * 1000)
    over.abort()
    this.#proxy.heal()
    await Promise.all(tasks)
  }

  /** Waits until all objects are right, or until the time limit. Resolves with the seconds. */
  async settle(): Promise<number> {
    const startedMs = Date.now()
    const limitMs = (this.#options.patienceSeconds ?? 60) * 1000
    while (Date.now() < startedMs + limitMs) {
      if ((await this.#check()).length === 0) break
      await sleep(500)
    }
    return (Date.now() - startedMs) / 1000
  }

  async result(settledSeconds: number): Promise<RowResult> {
    const { row, seed, objects = 40 } = this.#options
    // The last writes may still be under way. Afterwards no write is expected.
    await sleep(1000)
    const requests = this.#proxy.requests.length
    await sleep(2000)
    const wrong = await this.#check()
    const late = this.#proxy.requests.slice(requests).filter(({ isWrite }) => isWrite)
    if (wrong.length === 0 && late.length > 0) wrong.push(`${late.length} writes although there is nothing to do`)
    const journal = await this.#readJournal()
    const { exits, kills, log } = this.#supervisor
    const { changes } = this.#editor
    const { faulted } = this.#proxy
    const repeats = countRepeats(journal)
    return {
      row,
      seed,
      objects,
      changes,
      wrong,
      requests,
      faulted,
      exits,
      kills,
      repeats,
      settledSeconds,
      log,
      journal,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#supervisor[Symbol.asyncDispose]()
    await this.#proxy[Symbol.asyncDispose]()
    this.#api.close()
  }

  async #check(): Promise<string[]> {
    const bodies = await this.#editor.list()
    const alive = new Set(bodies.map(({ metadata }) => metadata.uid))
    const { lives: life } = this.#supervisor
    const about = (body: Body) => ({ life, isInherited: this.#inherited.has(body.metadata.uid) })
    const journal = await this.#readJournal()
    return [...bodies.flatMap((body) => checkObject(body, about(body))), ...checkJournal(journal, alive)]
  }

  async #readJournal(): Promise<Entry[]> {
    return parseJournal(await readFile(this.#journal, 'utf8'))
  }

  /** Remembers the handled objects. An object that is not handled yet gets the creation handlers of the next process instead. */
  async #takeInventory(): Promise<void> {
    const bodies = await this.#editor.list()
    const handled = bodies.filter(({ metadata }) => metadata.annotations?.[lastHandled] !== undefined)
    this.#inherited = new Set(handled.map(({ metadata }) => metadata.uid))
  }

  async #killNowAndThen(signal: AbortSignal): Promise<void> {
    const random = this.#random.fork('kills')
    while (await passes(random.between(4_000, 9_000), signal)) await this.#supervisor.kill()
  }

  async #killServer(signal: AbortSignal): Promise<void> {
    const random = this.#random.fork('server')
    const { plane, seconds } = this.#options
    while (await passes(random.between(0.2, 0.5) * Math.min(seconds, 60) * 1000, signal)) {
      await plane.killApiServer()
      await sleep(3000)
      await plane.startApiServer()
    }
  }
}

function namespaceOf(group: string): string {
  return group.replaceAll('.', '-')
}

/** Waits. Resolves with false if the signal aborts before. */
async function passes(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal }).catch(() => false)
}

function toKubeconfig(server: string): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'proxy', cluster: { server } }],
    users: [{ name: 'nobody', user: {} }],
    contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'nobody', namespace: 'default' } }],
    'current-context': 'proxy',
  })
}
