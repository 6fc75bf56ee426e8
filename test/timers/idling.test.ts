/** What counts as a change for timers that wait until changes have settled, and what does not. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { finalizer, settle, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

const idle = 0.5

/** Somebody else changes the object over and over, for three times as long as it takes to be called. */
async function keepChanging(change: (n: number) => Promise<unknown>): Promise<void> {
  for (let n = 1; n <= 12; n += 1) {
    await lab.elapse(idle / 4)
    await change(n)
  }
}

function metadata(annotations: Tree): Tree {
  return { metadata: { annotations } }
}

test.each<[string, (n: number) => Promise<unknown>]>([
  ['the spec', (n) => lab.patch('one', { spec: { n } })],
  ['labels', (n) => lab.patch('one', { metadata: { labels: { n: `${n}` } } })],
  ['annotations', (n) => lab.patch('one', metadata({ 'example.com/n': `${n}` }))],
])('changes of %s count', async (_, change) => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.timer(lab.widgets, { id: 't', idle }, ({ name }) => void calls.push(name))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await keepChanging(change)
  expect(calls).toEqual([])
  await lab.until(() => calls.length === 1)
  await settle(lab)
  expect(calls).toEqual(['one'])
})

test.each<[string, (n: number) => Promise<unknown>]>([
  ['the status', (n) => lab.patch('one', { status: { n } }, '/status')],
  ['finalizers', (n) => lab.patch('one', { metadata: { finalizers: [finalizer, `example.com/n${n}`] } })],
  ['what we store', (n) => lab.patch('one', metadata({ 'kopf.zalando.org/some': `{"retries":${n}}` }))],
])('changes of %s do not count', async (_, change) => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.timer(lab.widgets, { id: 't', idle }, ({ name }) => void calls.push(name))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await keepChanging(change)
  expect(calls).toEqual(['one'])
})

test('neither the results of timers count, nor those of handlers, nor what is kept of handlers on the object', async () => {
  const kopf = new Operator()
  const seen = { busy: 0, idle: 0, retries: 0 }
  kopf.timer(lab.widgets, { id: 'busy', interval: idle / 5 }, ({ patch }) => {
    seen.busy += 1
    patch.status['mine'] = seen.busy
    return { ticks: seen.busy }
  })
  kopf.on.create(lab.widgets, { id: 'c', backoff: idle / 5, retries: 8 }, () => {
    seen.retries += 1
    throw new Error('Not yet')
  })
  kopf.timer(lab.widgets, { id: 'idle', idle }, () => {
    seen.idle += 1
    return { calls: seen.idle }
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => seen.idle === 1)
  await lab.until(() => seen.retries === 8)
  await lab.elapse(idle * 4)
  expect(seen.idle).toBe(1)
  expect(seen.busy).toBeGreaterThan(5)
})

test('what a timer itself writes into the spec counts, also when it is the only one to be called', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.timer(lab.widgets, { id: 't', idle }, ({ spec, patch }) => {
    const n = spec['n'] as number
    seen.push(n)
    if (n < 3) patch.spec['n'] = n + 1
  })
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => seen.length === 3)
  await settle(lab)
  expect(seen).toEqual([1, 2, 3])
})

test('what handlers of changes write into the spec counts', async () => {
  const kopf = new Operator()
  const times: number[] = []
  let writtenMs = 0
  kopf.on.create(lab.widgets, { id: 'late' }, async ({ patch }) => {
    await lab.clock.sleep(idle * 500)
    patch.spec['written'] = true
    writtenMs = lab.clock.now()
  })
  kopf.timer(lab.widgets, { id: 't', idle }, () => void times.push(lab.clock.now()))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => times.length === 1)
  expect(times[0]! - writtenMs).toBeGreaterThanOrEqual(idle * 1000)
})

test('without an interval it is called once for changes that have settled, with the state they have come to', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.timer(lab.widgets, { id: 't', idle }, ({ spec }) => {
    seen.push(spec['n'])
    return { at: seen.length }
  })
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => seen.length === 1)
  await settle(lab)
  expect(seen).toEqual([1])
  await lab.patch('one', { spec: { n: 2 } })
  await lab.elapse(idle / 5)
  await lab.patch('one', { spec: { n: 3 } })
  await lab.until(() => seen.length === 2)
  await settle(lab)
  expect(seen).toEqual([1, 3])
})

test('with an interval it stops when the object changes, and begins again when that has settled', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.timer(lab.widgets, { id: 't', idle: 1, interval: 0.2 }, ({ spec }) => void seen.push(spec['n']))
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => seen.length === 3)
  await lab.patch('one', { spec: { n: 2 } })
  const { length } = seen
  await lab.elapse(0.6)
  // One that was under way when the change was on its way is all there may be.
  expect(seen.length).toBeLessThanOrEqual(length + 1)
  await lab.until(() => seen.filter((n) => n === 2).length === 3)
})

test('objects that are there when the operator starts count as changed when it first sees them', async () => {
  const kopf = new Operator()
  const times: number[] = []
  kopf.timer(lab.widgets, { id: 't', idle }, () => void times.push(lab.clock.now()))
  await lab.create('one', { spec: {} })
  await lab.elapse(idle * 2)
  const startedMs = lab.clock.now()
  await lab.start(kopf)
  await lab.until(() => times.length === 1)
  expect(times[0]! - startedMs).toBeGreaterThanOrEqual(idle * 1000)
})

test('one that waits for changes lets the object go at once, and the operator stop', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.create(lab.widgets, { id: 'stores-what-was-handled' }, () => {})
  kopf.timer(lab.widgets, { id: 't', idle }, ({ name }) => void calls.push(name))
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.create('two', { spec: {} })
  await lab.until(() => calls.length === 2)
  const deletedMs = lab.clock.now()
  await lab.delete('one')
  await lab.untilGone('one')
  await lab.stop(running)
  if (!lab.isReal) expect(lab.clock.now()).toBe(deletedMs)
  await settle(lab)
  expect(calls.length).toBe(2)
})
