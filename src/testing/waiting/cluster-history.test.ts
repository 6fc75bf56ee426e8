import { afterEach, expect, test, vi } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { ApiServer } from '../../server/api-server.ts'
import { systemClock } from '../../util/async/clock.ts'
import { createTestAccess, createTestSession } from '../cluster/backend.ts'
import { ClusterHistory } from './cluster-history.ts'
import { Replay } from './replay.ts'
import type { ResourceHistory } from './resource-history.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function open() {
  const server = new ApiServer()
  const access = createTestAccess(createTestSession(server, systemClock), 'default')
  const history = new ClusterHistory({ session: access.session, clock: systemClock }, server.version)
  closing.push(
    () => history.close(),
    () => server.close(),
  )
  const watch = async () => {
    const watched = history.watch(await access.resolve('configmaps'), 'default')
    await vi.waitFor(() => expect(watched.history.version).toBeDefined())
    return watched
  }
  const write = (color: string) =>
    access.client.apply('configmaps', { metadata: { name: 'settings' }, data: { color } })
  return { server, write, watch, client: access.client }
}

function colorsIn(history: ResourceHistory): (string | undefined)[] {
  const replay = new Replay({ history, from: undefined, matches: () => true })
  const colors: (string | undefined)[] = []
  for (let state = replay.next(); state !== undefined; state = replay.next()) {
    const [object] = state.objects.values()
    colors.push((object?.['data'] as { color: string } | undefined)?.color)
  }
  return colors
}

test('the history of a resource starts with the cluster, not with the watch', async () => {
  const { write, watch, client } = open()
  await write('red')
  await write('blue')
  const { history } = await watch()
  await client.delete('configmaps', 'settings')
  await vi.waitFor(() => expect(colorsIn(history)).toEqual([undefined, 'red', 'blue', undefined]))
  expect(history.hasGaps).toBe(false)
})

test('a history that the server has compacted starts with the current state, and has a gap', async () => {
  const { server, write, watch } = open()
  await write('red')
  await write('blue')
  server.compact()
  const { history } = await watch()
  await write('green')
  await vi.waitFor(() => expect(colorsIn(history)).toEqual([undefined, 'blue', 'green']))
  expect(history.hasGaps).toBe(true)
})

test('a history continues after a cut watch', async () => {
  const { server, write, watch } = open()
  server.faults.add({ on: { verb: 'watch' }, effect: { type: 'cut', afterBytes: 10 }, times: 2 })
  const watched = await watch()
  for (const color of ['red', 'blue', 'green', 'black']) await write(color)
  await vi.waitFor(
    () => expect(colorsIn(watched.history)).toEqual([undefined, 'red', 'blue', 'green', 'black']),
    10_000,
  )
  expect(watched.history.hasGaps).toBe(false)
})

test('a history drops the oldest states if there are too many, and a waiting reader continues with the others', async () => {
  const { write, watch } = open()
  await write('red')
  const { history } = await watch()
  await vi.waitFor(() => expect(history.current.size).toBe(1))
  const [settings] = history.current.values()
  const slow = new Replay({ history, from: undefined, matches: () => true })
  slow.next()
  const metadata = settings!.metadata
  for (let version = 1_000_000; version < 1_011_000; version += 1) {
    const object = { ...settings, metadata: { ...metadata, resourceVersion: String(version) } } as KubeObject
    history.take({ type: 'applied', event: 'MODIFIED', object })
  }
  expect(history.at(history.first - 1)).toBeUndefined()
  let states = 0
  let last: KubeObject | undefined
  for (let state = slow.next(); state !== undefined; state = slow.next()) {
    states += 1
    last = [...state.objects.values()][0]
  }
  expect(states).toBeLessThanOrEqual(10_001)
  expect(last?.metadata.resourceVersion).toBe('1010999')
})
