/** Random changes with many watches: each watch shows the changes of its selection once and in order, or ends so that the client lists again. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ApiServer } from 'kopf/server'
import { expect, test } from 'vitest'
import { Random } from '../../../simulation/random.ts'
import { ask } from '../../../support/in-process.ts'
import { ManualClock, settle } from '../../../support/manual-clock.ts'
import { configMap } from '../../../support/objects.ts'

/** Small limits, so that both are often exceeded. */
const history = { changes: 150 }
const watchers = { pendingChanges: 40 }
const namespaces = ['default', 'kube-public']
const colours = ['red', 'blue', undefined]

interface State {
  readonly namespace: string
  readonly name: string
  readonly colour: string | undefined
}

/** A change of one object, as its writer knows it. */
interface Change {
  readonly version: number
  readonly before: State | undefined
  readonly after: State | undefined
}

interface Selection {
  readonly namespace: string
  readonly query: string
  matches(state: State): boolean
}

const selections: readonly Selection[] = [
  { namespace: '', query: '', matches: () => true },
  { namespace: 'default', query: '', matches: ({ namespace }) => namespace === 'default' },
  { namespace: '', query: 'labelSelector=colour%3Dred', matches: ({ colour }) => colour === 'red' },
  { namespace: '', query: 'labelSelector=colour!%3Dred', matches: ({ colour }) => colour !== 'red' },
  {
    namespace: 'kube-public',
    query: 'labelSelector=colour',
    matches: ({ namespace, colour }) => namespace === 'kube-public' && colour !== undefined,
  },
  { namespace: '', query: 'fieldSelector=metadata.name%3Dn1', matches: ({ name }) => name === 'n1' },
]

/** The server, and a model of all its changes. */
class World {
  readonly clock: ManualClock = new ManualClock()
  readonly api: ApiServer = new ApiServer({ clock: this.clock, history, watchers })
  readonly changes: Change[] = []
  readonly #states = new Map<string, State>()

  async write(random: Random): Promise<void> {
    const namespace = random.pick(namespaces)
    const name = `n${random.below(5)}`
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    const before = this.#states.get(`${namespace}/${name}`)
    const after =
      before !== undefined && random.chance(0.25) ? undefined : { namespace, name, colour: random.pick(colours) }
    if (after === undefined) {
      await ask(this.api, 'DELETE', `${path}/${name}`)
      this.#states.delete(`${namespace}/${name}`)
    } else {
      const metadata = { name, ...(after.colour === undefined ? {} : { labels: { colour: after.colour } }) }
      // The data differs each time, since a write without a change has no event.
      const body = configMap(metadata, { data: { at: String(this.changes.length) } })
      if (before === undefined) await ask(this.api, 'POST', path, { body })
      else await ask(this.api, 'PUT', `${path}/${name}`, { body })
      this.#states.set(`${namespace}/${name}`, after)
    }
    this.changes.push({ version: Number(this.api.version), before, after })
  }

  /** The events that a watch of the selection has to show after a resourceVersion. */
  eventsSince(version: number, { matches }: Selection): string[] {
    return this.changes
      .filter((change) => change.version > version)
      .flatMap(({ before, after, version: at }) => {
        const wasIn = before !== undefined && matches(before)
        const isIn = after !== undefined && matches(after)
        if (!wasIn && !isIn) return []
        const { namespace, name } = (after ?? before)!
        return [`${isIn ? (wasIn ? 'MODIFIED' : 'ADDED') : 'DELETED'} ${namespace}/${name} ${at}`]
      })
  }
}

interface Line {
  readonly type: string
  readonly object: {
    readonly code?: number
    readonly metadata: { readonly name?: string; readonly namespace?: string; readonly resourceVersion?: string }
  }
}

/** One client: it lists, watches, is closed by the server or disconnects, and resumes from its last version. */
class Client {
  /** The ends of its watches, so that the test can check that all ways to end have occurred. */
  readonly fates: string[]
  readonly #world: World
  readonly #selection: Selection
  #chunks: AsyncIterator<Uint8Array> | undefined

  /** The version at which the present watch began, and its events. */
  #from = 0
  #seen: string[] = []

  /** The version of the last event or bookmark, from which the next watch begins. */
  #version = 0
  #text = ''

  constructor(world: World, selection: Selection, fates: string[]) {
    this.#world = world
    this.#selection = selection
    this.fates = fates
  }

  get #path(): string {
    const { namespace } = this.#selection
    return namespace === '' ? '/api/v1/configmaps' : `/api/v1/namespaces/${namespace}/configmaps`
  }

  async #list(): Promise<void> {
    const { body } = await ask(this.#world.api, 'GET', `${this.#path}?${this.#selection.query}`)
    this.#version = Number((body as unknown as Line['object']).metadata.resourceVersion)
  }

  async open(): Promise<void> {
    if (this.#version === 0) await this.#list()
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${this.#version}&${this.#selection.query}`
    const { body } = await this.#world.api.send({ method: 'GET', path: `${this.#path}?${query}` })
    this.#chunks = body[Symbol.asyncIterator]()
    this.#from = this.#version
    this.#seen = []
    this.#text = ''
  }

  async leave(): Promise<void> {
    await this.#chunks?.return?.()
    this.#chunks = undefined
    this.#judge('left')
  }

  /** Reads a chunk if an event is due. */
  async read(): Promise<void> {
    if (this.#chunks === undefined) {
      await this.open()
      return
    }
    if (this.#world.eventsSince(this.#from, this.#selection).length <= this.#seen.length) return
    await this.#take()
  }

  /** Reads all events after the server is closed. A client within the limit of pending changes misses none. */
  async finish(): Promise<void> {
    if (this.#chunks === undefined) return
    const behind = this.#world.eventsSince(this.#from, this.#selection).length - this.#seen.length
    while (this.#chunks !== undefined) await this.#take()
    if (behind <= watchers.pendingChanges) expect(this.fates.at(-1)).toMatch(/^(ended with all|too old)$/)
  }

  async #take(): Promise<void> {
    const { done, value } = await this.#chunks!.next()
    if (done) {
      this.#chunks = undefined
      this.#judge('ended')
      return
    }
    const lines = (this.#text + Buffer.from(value).toString()).split('\n')
    this.#text = lines.pop()!
    for (const line of lines) this.#hear(JSON.parse(line) as Line)
  }

  #hear({ type, object }: Line): void {
    if (type === 'ERROR') {
      expect(object.code).toBe(410)
      this.fates.push('too old')
      this.#version = 0
      return
    }
    const { namespace, name, resourceVersion } = object.metadata
    const version = Number(resourceVersion)
    if (type === 'BOOKMARK') {
      this.fates.push('bookmark')
      // A bookmark promises that all events up to its version have been sent.
      expect(version).toBeGreaterThanOrEqual(this.#version)
      const promised = this.#world.eventsSince(this.#from, this.#selection)
      expect(promised.filter((event) => Number(event.split(' ')[2]) <= version)).toEqual(this.#seen)
    } else {
      this.#seen.push(`${type} ${namespace}/${name} ${version}`)
    }
    this.#version = version
  }

  /** The seen events must be a prefix of the expected events. */
  #judge(fate: string): void {
    const expected = this.#world.eventsSince(this.#from, this.#selection)
    expect(this.#seen).toEqual(expected.slice(0, this.#seen.length))
    this.fates.push(this.#seen.length === expected.length ? `${fate} with all` : `${fate} before the end`)
  }
}

test.each(Array.from({ length: 6 }, (_, seed) => `seed ${seed}`))(
  'every watch shows each change of its selection once and in order, or ends so that its client lists again: %s',
  async (seed) => {
    const random = new Random(seed)
    const world = new World()
    const fates: string[] = []
    const clients = selections.flatMap((selection) => [1, 2, 3].map(() => new Client(world, selection, fates)))
    // Every third client is slow.
    const paceOf = (index: number) => (index % 3 === 2 ? 0.03 : 0.8)
    for (const client of clients) await client.open()
    for (let step = 0; step < 300; step += 1) {
      await world.write(random)
      for (const [index, client] of clients.entries()) {
        if (random.chance(paceOf(index))) await client.read()
        if (random.chance(0.01)) await client.leave()
      }
      if (random.chance(0.03)) await world.clock.advance(61_000)
    }
    await settle()
    await world.api.close()
    for (const client of clients) await client.finish()
    expect(new Set(fates)).toEqual(
      new Set([
        'bookmark',
        'left with all',
        'left before the end',
        'ended with all',
        'ended before the end',
        'too old',
      ]),
    )
  },
)

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

test('a thousand watches whose clients do not read stay within their memory limit and are closed', async () => {
  const api = new ApiServer({
    watchers: { pendingChanges: 1000, pendingCharacters: 2_000_000 },
    history: { changes: 10 },
  })
  const path = '/api/v1/namespaces/default/configmaps'
  await ask(api, 'POST', path, { body: configMap('large') })
  const streams: AsyncIterator<Uint8Array>[] = []
  for (let count = 0; count < 1000; count += 1) {
    const { body } = await api.send({ method: 'GET', path: `${path}?watch=true&resourceVersion=${api.version}` })
    streams.push(body[Symbol.asyncIterator]())
    await streams.at(-1)!.next()
  }
  const heap = () => {
    collect()
    return process.memoryUsage().heapUsed + process.memoryUsage().external
  }
  const before = heap()
  let highest = 0
  // 60 kB each: after some thirty changes, all watches have exceeded their limit.
  for (let count = 0; count < 60; count += 1) {
    await ask(api, 'PATCH', `${path}/large`, { body: { data: { text: String(count).padEnd(60_000, '.') } } })
    if (count % 10 === 0) highest = Math.max(highest, heap())
    if (count === 20) expect(api.openWatches).toBe(1000)
  }
  expect(api.openWatches).toBe(0)
  // Pending changes are shared by all watches: 2 MB, and some bytes for each watch.
  expect(highest - before).toBeLessThan(12_000_000)
  for (const stream of streams) expect((await stream.next()).done).toBe(true)
})
