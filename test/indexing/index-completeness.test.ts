/** No handler of any object is called before all indices are complete. */
import { Operator, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { crdsPath } from '../support/crds.ts'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { gate, refusal } from '../support/recording.ts'

const lab = useCleanLab()
const many = 60
const configMaps = `/api/v1/namespaces/${lab.namespace}/configmaps`

async function createMany(): Promise<void> {
  const names = Array.from({ length: many }, (_, n) => `w${String(n).padStart(3, '0')}`)
  for (const name of names) await lab.create(name, { spec: { n: 1 } })
}

async function createConfigMap(name: string): Promise<void> {
  const metadata = { name, labels: { indexed: 'yes' } }
  await lab.call('POST', configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
}

const ways = [
  ['in pages', { initialStreaming: false, chunkSize: 10 }],
  ['as a stream', { initialStreaming: true }],
] as const

describe.each(ways)('initial listing %s', (_, watching) => {
  test.each([[1], [2], [null]])(
    'an index is complete before any handler is called, with a limit of %s workers',
    async (workerLimit) => {
      const sizes = new Set<number>()
      let handled = 0
      const kopf = new Operator({ settings: { queueing: { workerLimit }, watching } })
      const names = kopf.index(lab.widgets, ({ name }) => [[name, 1]])
      const look = () => {
        handled += 1
        sizes.add(names.size)
      }
      kopf.on.event(lab.widgets, look)
      kopf.on.create(lab.widgets, look)
      await createMany()
      await lab.start(kopf)
      await lab.until(() => handled >= 2 * many)
      expect(sizes).toEqual(new Set([many]))
    },
  )
})

test('indices of other resources are complete before any handler is called, however slow their functions are', async () => {
  const sizes = new Set<string>()
  let handled = 0
  const kopf = new Operator({ settings: { queueing: { workerLimit: 1 } } })
  const names = kopf.index(lab.widgets, async ({ name }) => {
    await lab.clock.sleep(lab.isReal ? 100 : 5000)
    return [[name, 1]]
  })
  const maps = kopf.index('configmaps', { id: 'maps', labels: { indexed: 'yes' } }, async ({ name }) => {
    await lab.clock.sleep(lab.isReal ? 200 : 20_000)
    return [[name, 1]]
  })
  const look = () => {
    handled += 1
    sizes.add(`${names.size}+${maps.size}`)
  }
  kopf.on.event(lab.widgets, { id: 'w' }, look)
  kopf.on.event('configmaps', { id: 'c', labels: { indexed: 'yes' } }, look)
  await createMany()
  for (const name of ['a', 'b', 'c']) await createConfigMap(name)
  await lab.start(kopf)
  await lab.until(() => handled >= many + 3)
  expect([...sizes]).toEqual([`${many}+3`])
  for (const name of ['a', 'b', 'c']) await lab.call('DELETE', `${configMaps}/${name}`)
})

test('an index function that fails does not delay any handler', async () => {
  const seen: unknown[] = []
  const kopf = new Operator()
  const names = kopf.index(lab.widgets, ({ name }) => {
    if (name === 'bad') throw new TemporaryError('later', { delay: 600 })
    return [[name, 1]]
  })
  kopf.on.create(lab.widgets, ({ name }) => void seen.push([name, names.size]))
  for (const name of ['bad', 'good']) await lab.create(name)
  await lab.start(kopf)
  await lab.until(() => seen.length === 2)
  expect(seen).toEqual([
    ['bad', 1],
    ['good', 1],
  ])
})

test('changes during the initial indexing are not lost, and the last state counts', async () => {
  const seen: unknown[] = []
  const slow = gate()
  const kopf = new Operator()
  const sizes = kopf.index(lab.widgets, async ({ name, spec }) => {
    if (name === 'slow') await slow.opened
    return [[name, spec['n']]]
  })
  kopf.on.create(lab.widgets, ({ name, spec }) => void seen.push([name, spec['n'], sizes.size]))
  kopf.on.event(lab.widgets, ({ name, event }) => void (event.type === 'DELETED' && seen.push(`${name} is gone`)))
  for (const name of ['slow', 'quick', 'gone']) await lab.create(name, { spec: { n: 1 } })
  await lab.start(kopf)
  await lab.patch('quick', { spec: { n: 2 } })
  await lab.patch('slow', { spec: { n: 2 } })
  await lab.delete('gone')
  await lab.create('new', { spec: { n: 1 } })
  await lab.until(() => sizes.has('new') && !sizes.has('gone'))
  await settle(lab)
  expect(seen).toEqual([])
  slow.open()
  await lab.until(() => seen.length === 4)
  expect(seen).toEqual(expect.arrayContaining([['slow', 2, 3], ['quick', 2, 3], ['new', 1, 3], 'gone is gone']))
})

test('a resource that is not served delays no handler, neither at the start nor when it appears', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  const gadgets = kopf.index([lab.group, 'v1', 'gadgets'], async ({ name }) => {
    await lab.clock.sleep(lab.isReal ? 500 : 600_000)
    return name
  })
  kopf.on.create(lab.widgets, ({ name }) => void seen.push(name))
  await lab.create('first')
  await lab.start(kopf)
  await untilHandled(lab, 'first')
  await lab.install({ kind: 'Gadget' })
  const body = { apiVersion: `${lab.group}/v1`, kind: 'Gadget', metadata: { name: 'late' } }
  await lab.call('POST', lab.path('', 'gadgets'), body)
  await lab.untilLogged('Indexer')
  await lab.create('second')
  await untilHandled(lab, 'second')
  expect([seen, gadgets.size]).toEqual([['first', 'second'], 0])
  await lab.until(() => gadgets.size === 1)
  await lab.call('DELETE', `${crdsPath}/gadgets.${lab.group}`)
})

test('a resource that may not be listed delays all handlers, with one log line', async () => {
  let handled = 0
  const kopf = new Operator()
  const maps = kopf.index('configmaps', { labels: { indexed: 'yes' } }, ({ name }) => name)
  kopf.on.create(lab.widgets, () => {
    handled += 1
  })
  const transport = lab.record()
  let isForbidden = true
  let refusals = 0
  transport.meddle = async ({ path }, send) => {
    if (!isForbidden || path !== configMaps) return send()
    refusals += 1
    return refusal(403)
  }
  await createConfigMap('seen-late')
  await lab.create('waiting')
  void lab.start(kopf, { transport }).catch(() => {})
  await lab.until(() => refusals >= 3)
  expect(handled).toBe(0)
  expect(lab.logs.filter((line) => line.includes('No handler is called until'))).toHaveLength(1)
  isForbidden = false
  await untilHandled(lab, 'waiting')
  expect([handled, maps.get(null)]).toEqual([1, ['seen-late']])
  await lab.call('DELETE', `${configMaps}/seen-late`)
})

test('activity handlers do not wait for the indices and find them as they are', async () => {
  const seen: unknown[] = []
  const kopf = new Operator()
  const names = kopf.index(lab.widgets, { id: 'names' }, ({ name }) => name)
  kopf.on.startup(({ indices }) => void seen.push([indices['names'] === names, names.size]))
  kopf.on.cleanup(({ indices }) => void seen.push(indices['names']?.get(null)))
  await lab.create('one')
  const running = await lab.start(kopf)
  await lab.until(() => names.size === 1)
  await lab.stop(running)
  expect(seen).toEqual([[true, 0], ['one']])
})

test('an index function that runs when the operator stops is awaited', async () => {
  let isDone = false
  const kopf = new Operator()
  const names = kopf.index(lab.widgets, async ({ name }) => {
    await lab.clock.sleep(500)
    isDone = true
    return name
  })
  await lab.create('one')
  const running = await lab.start(kopf)
  await lab.untilLogged("Indexer 'index' is invoked")
  await lab.stop(running)
  expect([isDone, names.size]).toEqual([true, 0])
})

test('an operator that waits for its indices can be stopped', async () => {
  let handled = 0
  const kopf = new Operator()
  kopf.index(lab.widgets, () => new Promise<string>(() => {}))
  kopf.on.create(lab.widgets, () => {
    handled += 1
  })
  await lab.create('one')
  const running = await lab.start(kopf)
  await lab.untilLogged("Indexer 'index' is invoked")
  await lab.stop(running)
  expect(handled).toBe(0)
})
