/** Watching on the embedded server: the guarantees of the API and its faults. */
import { ApiServer } from 'kopf/server'
import { describe, expect, test } from 'vitest'
import { toJsonText } from '../../src/util/json/json-text.ts'
import { ask } from '../support/in-process.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { quickly, Reflected, sessionOf } from './watching-support.ts'

const path = '/api/v1/namespaces/default/configmaps'

class Cluster {
  readonly clock = new ManualClock()
  readonly api = new ApiServer({ clock: this.clock })

  async create(name: string, labels: Record<string, string> = {}): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels } }
    expect((await ask(this.api, 'POST', path, { body })).status).toBe(201)
  }

  async patch(name: string, body: object): Promise<void> {
    expect((await ask(this.api, 'PATCH', `${path}/${name}`, { body })).status).toBe(200)
  }

  async remove(name: string): Promise<void> {
    expect((await ask(this.api, 'DELETE', `${path}/${name}`)).status).toBe(200)
  }

  reflect(options: Partial<ConstructorParameters<typeof Reflected>[0]> = {}): Reflected {
    return new Reflected({ ...options, session: sessionOf(this.api), clock: this.clock })
  }

  /** The reads of the reflector; the tests themselves only write. */
  get reads(): Readonly<Record<string, number>> {
    const { 'list configmaps': lists = 0, 'watch configmaps': watches = 0 } = this.api.requests.counts()
    return { lists, watches }
  }
}

const forms = [
  ['streamed', quickly],
  ['listed in pages of two', { ...quickly, initialStreaming: false, chunkSize: 2 }],
  ['listed at once', { ...quickly, initialStreaming: false, chunkSize: null }],
] as const

describe.each(forms)('initial state, %s', (_, watching) => {
  test('the initial state is followed by every change, without managed fields', async () => {
    const cluster = new Cluster()
    for (const name of ['a', 'b', 'c']) await cluster.create(name)
    const reflected = cluster.reflect({ watching })
    await reflected.settle()
    expect(reflected.words).toEqual(['listed a', 'listed b', 'listed c', 'LISTED'])
    await cluster.create('d')
    await cluster.patch('a', { data: { x: 'y' } })
    await cluster.remove('b')
    await reflected.settle()
    expect(reflected.words.slice(4)).toEqual(['ADDED d', 'MODIFIED a', 'deleted b'])
    expect(toJsonText(reflected.events)).not.toContain('managedFields')
    for (const event of reflected.events) {
      if (event.type !== 'listed') expect(event.object).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' })
    }
    await reflected.stop()
    expect(cluster.api.openWatches).toBe(0)
    expect(cluster.clock.sleeping).toBe(0)
  })

  test('the initial state is requested once, and an hour with a healthy server needs no list and one watch at a time', async () => {
    const cluster = new Cluster()
    await cluster.create('a')
    const reflected = cluster.reflect({ watching })
    await reflected.settle()
    const { lists } = cluster.reads
    for (let minute = 0; minute < 60; minute += 1) {
      await reflected.advance(60)
      await cluster.patch('a', { data: { minute: String(minute) } })
      expect(cluster.api.openWatches).toBeLessThanOrEqual(1)
    }
    await reflected.settle()
    expect(cluster.reads['lists']).toBe(lists)
    // The client timeout ends watches after ten minutes.
    expect(cluster.reads['watches']).toBeLessThanOrEqual(8)
    expect(reflected.words.filter((word) => word === 'MODIFIED a')).toHaveLength(60)
    expect(reflected.errors).toEqual([])
    expect(reflected.states).toEqual([{ type: 'listing' }, { type: 'watching' }])
    await reflected.stop()
  })

  test('the initial state is read again after a gap that the server has forgotten', async () => {
    const cluster = new Cluster()
    for (const name of ['a', 'b', 'c']) await cluster.create(name)
    const reflected = cluster.reflect({ watching })
    await reflected.settle()
    const away = cluster.api.faults.add({ on: { resource: 'configmaps', verb: 'watch' }, effect: { type: 'refuse' } })
    cluster.api.faults.add({ on: { resource: 'configmaps', verb: 'watch' }, effect: { type: 'cut' }, times: 1 })
    await reflected.settle()
    await cluster.remove('a')
    await cluster.remove('b')
    await cluster.create('b')
    await cluster.create('d')
    cluster.api.compact()
    away.remove()
    await reflected.advance(40)
    expect(reflected.words.slice(4)).toEqual(['missed b', 'listed b', 'listed c', 'listed d', 'missed a', 'LISTED'])
    const uids = reflected.events.flatMap((event) => (event.type === 'listed' ? [] : [event.object.metadata]))
    const [gone, next] = uids.slice(3)
    expect(gone!.uid).not.toBe(next!.uid)
    await reflected.stop()
  })
})

test('a gap that the server remembers is filled without a list', async () => {
  const cluster = new Cluster()
  await cluster.create('a')
  const reflected = cluster.reflect()
  await reflected.settle()
  const away = cluster.api.faults.add({ on: { verb: 'watch' }, effect: { type: 'error', status: 503 } })
  cluster.api.faults.add({ on: { verb: 'watch' }, effect: { type: 'cut' }, times: 1 })
  await reflected.settle()
  await cluster.remove('a')
  await cluster.create('b')
  await reflected.advance(10)
  away.remove()
  await reflected.advance(30)
  expect(reflected.words).toEqual(['listed a', 'LISTED', 'deleted a', 'ADDED b'])
  expect(cluster.reads['lists']).toBe(0)
  expect(cluster.api.openWatches).toBe(1)
  await reflected.stop()
})

test('a watch that is cut after any of its first bytes loses and repeats nothing', async () => {
  const cluster = new Cluster()
  const reflected = cluster.reflect()
  await reflected.settle()
  for (let bytes = 0; bytes < 60; bytes += 1) {
    cluster.api.faults.add({ on: { verb: 'watch' }, effect: { type: 'cut', afterBytes: bytes * 7 }, times: 1 })
    await cluster.create(`m${bytes}`)
    await reflected.advance(1)
  }
  const expected = Array.from({ length: 60 }, (_, index) => `ADDED m${index}`)
  expect(reflected.words).toEqual(['LISTED', ...expected])
  expect(cluster.reads['lists']).toBe(0)
  await reflected.stop()
})

test('a silent connection is noticed within 75 seconds, and the missed events are delivered', async () => {
  const cluster = new Cluster()
  const reflected = cluster.reflect()
  await reflected.settle()
  cluster.api.faults.add({ on: { verb: 'watch' }, effect: { type: 'silence' }, times: 1 })
  await cluster.create('a')
  await reflected.advance(60)
  expect(reflected.words).toEqual(['LISTED'])
  await reflected.advance(15)
  expect(reflected.words).toEqual(['LISTED', 'ADDED a'])
  expect(cluster.api.openWatches).toBe(1)
  await reflected.stop()
})

test('an initial stream that falls silent is replaced by a list', async () => {
  const cluster = new Cluster()
  for (const name of ['a', 'b']) await cluster.create(name)
  cluster.api.faults.add({ on: { verb: 'watch' }, effect: { type: 'silence', afterBytes: 400 }, times: 1 })
  const reflected = cluster.reflect()
  await reflected.advance(75)
  expect(reflected.words.slice(-3)).toEqual(['listed a', 'listed b', 'LISTED'])
  expect(cluster.reads['lists']).toBe(1)
  await reflected.stop()
})

test('pages that expire between two requests are read again', async () => {
  const cluster = new Cluster()
  for (const name of ['a', 'b', 'c']) await cluster.create(name)
  const session = sessionOf(cluster.api)
  let hasExpired = false
  const expiring: typeof session = {
    ...session,
    request: async (call, signal) => {
      if (call.query?.['continue'] !== undefined && !hasExpired) {
        hasExpired = true
        await cluster.remove('a')
        cluster.api.compact()
      }
      return session.request(call, signal)
    },
  }
  const reflected = new Reflected({
    session: expiring,
    clock: cluster.clock,
    watching: { ...quickly, initialStreaming: false, chunkSize: 2 },
  })
  await reflected.advance(1)
  expect(reflected.words).toEqual(['listed a', 'listed b', 'listed b', 'listed c', 'missed a', 'LISTED'])
  await reflected.stop()
})

test('a watch that is refused is retried until permissions or the server return', async () => {
  const cluster = new Cluster()
  await cluster.create('a')
  for (const status of [401, 403, 404, 429, 500]) {
    const refusing = cluster.api.faults.add({ on: { resource: 'configmaps' }, effect: { type: 'error', status } })
    const reflected = cluster.reflect()
    await reflected.advance(600)
    expect(reflected.words).toEqual([])
    expect(refusing.hits).toBeLessThan(35)
    refusing.remove()
    await reflected.advance(31)
    expect(reflected.words).toEqual(['listed a', 'LISTED'])
    await reflected.stop()
  }
})

test('a watch never goes back to an older state of a server that is behind', async () => {
  const cluster = new Cluster()
  await cluster.create('a')
  const reflected = cluster.reflect({ watching: { ...quickly, initialStreaming: false } })
  const stale = cluster.api.faults.add({ on: { verb: 'list' }, effect: { type: 'stale' } })
  await reflected.settle()
  await cluster.create('b')
  await reflected.settle()
  cluster.api.compact()
  cluster.api.faults.add({ on: { verb: 'watch' }, effect: { type: 'error', status: 410 }, times: 1 })
  cluster.api.faults.add({ on: { verb: 'watch' }, effect: { type: 'cut' }, times: 1 })
  await reflected.advance(3)
  expect(reflected.words).toEqual(['listed a', 'LISTED', 'ADDED b'])
  expect(reflected.errors.join()).toContain('Too large resource version')
  stale.remove()
  await reflected.advance(10)
  expect(reflected.words.slice(3)).toEqual(['listed a', 'listed b', 'LISTED'])
  await reflected.stop()
})

test('an object that leaves the selectors is reported as deleted, and one that enters them as added', async () => {
  const cluster = new Cluster()
  await cluster.create('a', { k: 'x' })
  await cluster.create('b')
  const reflected = cluster.reflect({ selectors: { labelSelector: 'k in (,x)' } })
  await reflected.settle()
  await cluster.patch('b', { metadata: { labels: { k: '' } } })
  await cluster.patch('a', { metadata: { labels: { k: null } } })
  await reflected.settle()
  expect(reflected.words).toEqual(['listed a', 'LISTED', 'ADDED b', 'deleted a'])
  await reflected.stop()
})

test('a cluster-wide watch distinguishes objects by name and namespace', async () => {
  const cluster = new Cluster()
  const reflected = cluster.reflect({ namespace: undefined })
  for (const namespace of ['default', 'kube-system']) {
    await ask(cluster.api, 'POST', `/api/v1/namespaces/${namespace}/configmaps`, {
      body: { metadata: { name: 'same' } },
    })
  }
  await reflected.settle()
  await cluster.remove('same')
  await reflected.settle()
  expect(reflected.words.filter((word) => word.endsWith('same'))).toHaveLength(3)
  expect(reflected.words.at(-1)).toBe('deleted same')
  await reflected.stop()
})
