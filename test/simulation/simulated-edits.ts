/**
 * The users and other controllers, which create, edit, delete and re-create objects at random. Records
 * their writes, which the operator must not touch and must have handled in the end.
 */
import type { ApiServer } from 'kopf/server'
import type { Tree } from '../support/answers.ts'
import { ask } from '../support/in-process.ts'
import type { State } from './daemon-behaviour.ts'
import type { Random } from './random.ts'
import { finalizer } from './simulated-handlers.ts'
import type { Journal } from './simulation-journal.ts'

/** The model of an object that the driver has created. */
export interface Twin {
  readonly uid: string
  readonly name: string
  readonly bornMs: number
  spec: Record<string, unknown>
  labels: Record<string, string>
  annotations: Record<string, string>
  /** In the order in which they were added. */
  finalizers: string[]
  alien: number | undefined
  /** All states of the object by version. */
  readonly states: Array<State & { readonly version: number }>
  isDeleting: boolean
  /** Whether the operator's finalizer was on it when it was deleted. */
  wasHeld: boolean
  /** Whether the driver removed all finalizers by force. */
  isForced: boolean
}

export interface DriverOptions {
  readonly server: ApiServer
  readonly random: Random
  readonly journal: Journal
  readonly now: () => number
  readonly group: string
  readonly namespace: string
  readonly elsewhere: string
  readonly hasStatusEndpoint: boolean
  readonly objects: number
  /** Additional hostile actions: flapping filters, deletions during calls, and gaps in the watch; undefined for none. */
  readonly mischief: Mischief | undefined
}

/** An action and its weight. */
export type Action = readonly [weight: number, act: () => Promise<unknown>]

export interface Mischief {
  /** Additional actions on an object. */
  readonly actionsOn: (twin: Twin) => readonly Action[]
  /** The watch misses all changes between these calls, and cannot resume, since the server has compacted them. */
  readonly openGap: () => void
  readonly closeGap: () => void
  /** Called when an object is deleted. */
  readonly noteDelete: (twin: Twin) => void
}

type Answer = { readonly status: number; readonly body: Tree }

const notes = ['a', 'b', 'ü€😀', 'ß'.repeat(40)]

export class Driver {
  readonly alive: Map<string, Twin> = new Map()
  readonly dead: Twin[] = []
  readonly #options: DriverOptions

  constructor(options: DriverOptions) {
    this.#options = options
  }

  /** Performs one random action. */
  async act(): Promise<void> {
    const { random, objects } = this.#options
    const name = `a${random.below(objects)}`
    const twin = await this.find(name)
    if (twin === undefined) {
      await this.create(name)
      return
    }
    const actions: readonly Action[] = [
      [8, () => this.edit(twin, { spec: { size: random.below(5) } })],
      [2, () => this.edit(twin, { spec: { size: null } })],
      [3, () => this.edit(twin, { spec: { note: random.pick(notes) } })],
      [3, () => this.edit(twin, { spec: { items: ['x', 'y', 'z'].slice(0, random.below(4)) } })],
      [4, () => this.edit(twin, { metadata: { labels: { tier: random.pick(['gold', 'lead', null]) } } })],
      [3, () => this.edit(twin, { metadata: { annotations: { 'example.com/foreign': random.pick(notes) } } })],
      [3, () => this.#editStatus(twin)],
      [3, () => this.#editBack(twin)],
      [3, () => this.#editFinalizers(twin)],
      [4, () => this.delete(twin)],
      [1, () => this.replace(twin)],
      [1, () => this.force(twin)],
      ...(this.#options.mischief?.actionsOn(twin) ?? []),
    ]
    let roll = random.between(
      0,
      actions.reduce((sum, [weight]) => sum + weight, 0),
    )
    for (const [weight, act] of actions) {
      roll -= weight
      if (roll < 0) return void (await act())
    }
  }

  async create(name: string, given?: Record<string, string>): Promise<Twin | undefined> {
    const { random, group, namespace, elsewhere, journal, now } = this.#options
    const spec = { size: random.below(5), items: ['x', 'y'].slice(0, random.below(3)) }
    const labels = given ?? (random.chance(0.4) ? { tier: 'gold' } : {})
    const finalizers = random.chance(0.2) ? ['example.com/first'] : []
    const body = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name, labels, finalizers }, spec }
    if (random.chance(0.1)) await this.#call('POST', this.#path('', elsewhere), body)
    const { status, body: made } = await this.#call('POST', this.#path('', namespace), body)
    if (status !== 201) return undefined
    const { uid, resourceVersion } = made['metadata'] as { uid: string; resourceVersion: string }
    const twin: Twin = {
      uid,
      name,
      bornMs: now(),
      spec,
      labels: { ...labels } as Record<string, string>,
      annotations: {},
      finalizers,
      alien: undefined,
      states: [{ version: Number(resourceVersion), spec: { ...spec }, labels: { ...labels } }],
      isDeleting: false,
      wasHeld: false,
      isForced: false,
    }
    this.alive.set(name, twin)
    journal.edited(uid)
    journal.tell(`create ${name} ${uid.slice(0, 4)} ${JSON.stringify(body.spec)} ${JSON.stringify(labels)}`)
    return twin
  }

  async edit(twin: Twin, patch: Tree): Promise<void> {
    this.#options.journal.tell(`edit ${twin.name} ${JSON.stringify(patch)}`)
    const { status, body } = await this.#call('PATCH', this.#path(twin.name), patch)
    if (status !== 200) return this.#bury(twin)
    const { metadata, spec } = patch as Record<string, Record<string, Record<string, unknown>>>
    assign(twin.spec, spec)
    assign(twin.labels, metadata?.['labels'])
    assign(twin.annotations, metadata?.['annotations'])
    const version = Number((body['metadata'] as Tree)['resourceVersion'])
    twin.states.push({ version, spec: { ...twin.spec }, labels: { ...twin.labels } })
    this.#options.journal.edited(twin.uid)
  }

  async delete(twin: Twin): Promise<void> {
    this.#options.journal.tell(`delete ${twin.name} ${twin.uid.slice(0, 4)}`)
    this.#options.mischief?.noteDelete(twin)
    const { status, body } = await this.#call('DELETE', this.#path(twin.name))
    if (status !== 200) return this.#bury(twin)
    const { metadata } = body as { metadata?: { finalizers?: string[]; deletionTimestamp?: string } }
    this.#options.journal.changes += 1
    if (metadata?.deletionTimestamp === undefined) return this.#bury(twin)
    if (!twin.isDeleting) twin.wasHeld = (metadata.finalizers ?? []).includes(finalizer)
    twin.isDeleting = true
  }

  /** Removes the finalizers of others, so that only the operator can hold an object. */
  async removeForeignFinalizers(): Promise<void> {
    for (const twin of [...this.alive.values()]) {
      if (twin.isDeleting) await this.#setFinalizers(twin, (list) => list.filter((one) => one === finalizer))
      await this.find(twin.name)
    }
  }

  /** Reads the object from the server. */
  async read(name: string): Promise<Tree | undefined> {
    const { status, body } = await this.#call('GET', this.#path(name))
    return status === 200 ? body : undefined
  }

  /** The model of the object with this name if the server still has it. */
  async find(name: string): Promise<Twin | undefined> {
    const twin = this.alive.get(name)
    if (twin === undefined) return undefined
    const body = await this.read(name)
    const { uid } = (body?.['metadata'] ?? {}) as { uid?: string }
    if (uid === twin.uid) return twin
    this.#bury(twin)
    return undefined
  }

  #bury(twin: Twin): void {
    if (this.alive.get(twin.name) !== twin) return
    this.alive.delete(twin.name)
    this.dead.push(twin)
  }

  async #editStatus(twin: Twin): Promise<void> {
    const { random, hasStatusEndpoint } = this.#options
    const alien = random.below(100)
    const path = `${this.#path(twin.name)}${hasStatusEndpoint ? '/status' : ''}`
    const { status } = await this.#call('PATCH', path, { status: { alien: { by: alien } } })
    if (status !== 200) return this.#bury(twin)
    twin.alien = alien
  }

  /** Changes a field and reverts the change, at once or a moment later. */
  async #editBack(twin: Twin): Promise<void> {
    const before = twin.spec['size'] ?? null
    await this.edit(twin, { spec: { size: 77 } })
    if (this.alive.get(twin.name) === twin) await this.edit(twin, { spec: { size: before } })
  }

  async #editFinalizers(twin: Twin): Promise<void> {
    const { random } = this.#options
    const one = random.pick(['example.com/first', 'example.com/second', 'example.com/third'])
    const isOn = twin.finalizers.includes(one)
    if (!isOn && twin.isDeleting) return
    await this.#setFinalizers(twin, (list) => (isOn ? list.filter((other) => other !== one) : [...list, one]))
  }

  /** Deletes an object by removing all its finalizers. */
  async force(twin: Twin): Promise<void> {
    const { mischief } = this.#options
    mischief?.openGap()
    await this.#tearOff(twin)
    mischief?.closeGap()
  }

  async #tearOff(twin: Twin): Promise<void> {
    twin.isForced = true
    this.#options.journal.tell(`force ${twin.name}`)
    if (!twin.isDeleting) await this.delete(twin)
    if (this.alive.get(twin.name) === twin) await this.#setFinalizers(twin, () => [])
    await this.find(twin.name)
  }

  /** Replaces an object with a new one of the same name at once. */
  async replace(twin: Twin): Promise<void> {
    const { mischief } = this.#options
    mischief?.openGap()
    await this.#tearOff(twin)
    if (!this.alive.has(twin.name)) await this.create(twin.name)
    mischief?.closeGap()
  }

  async #setFinalizers(twin: Twin, change: (list: string[]) => string[]): Promise<void> {
    for (;;) {
      const body = await this.read(twin.name)
      const { uid, finalizers = [], resourceVersion } = (body?.['metadata'] ?? {}) as Record<string, never>
      if (uid !== twin.uid) return this.#bury(twin)
      const wanted = change([...(finalizers as string[])])
      const { status } = await this.#call('PATCH', this.#path(twin.name), {
        metadata: { finalizers: wanted, resourceVersion },
      })
      if (status === 409) continue
      twin.finalizers = wanted.filter((one) => one !== finalizer)
      this.#options.journal.tell(`finalizers ${twin.name} ${JSON.stringify(wanted)}`)
      this.#options.journal.edited(twin.uid)
      return
    }
  }

  #path(name: string, namespace: string = this.#options.namespace): string {
    const collection = `/apis/${this.#options.group}/v1/namespaces/${namespace}/widgets`
    return name === '' ? collection : `${collection}/${name}`
  }

  async #call(method: string, path: string, body?: Tree): Promise<Answer> {
    return ask(this.#options.server, method, path, body === undefined ? {} : { body })
  }
}

function assign(target: Record<string, unknown>, patch: Record<string, unknown> | undefined): void {
  for (const [key, value] of Object.entries(patch ?? {})) {
    if (value === null) delete target[key]
    else target[key] = value
  }
}
