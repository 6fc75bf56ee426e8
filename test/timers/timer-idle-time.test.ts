/** The idle time of timers: changes that restart it, and changes that do not. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { finalizer, settle, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

const idle = 0.5

/** Changes the object repeatedly, for three times the idle time. */
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
])('changes of %s restart the idle time of a timer', async (_, change) => {
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
  ['our own annotations', (n) => lab.patch('one', metadata({ 'kopf.zalando.org/some': `{"retries":${n}}` }))],
])('changes of %s do not restart the idle time of a timer', async (_, change) => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.timer(lab.widgets, { id: 't', idle }, ({ name }) => void calls.push(name))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await keepChanging(change)
  expect(calls).toEqual(['one'])
})

test('results of timers and handlers and stored progress do not restart the idle time of a timer', async () => {
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

test('a change of the spec by the timer itself restarts its idle time, also without other handlers', async () => {
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

test('a change of the spec by a change handler restarts the idle time of a timer', async () => {
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

test('a timer with idle and no interval is called once per settled change, with the final state', async () => {
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

test('a timer with idle and an interval stops when the object changes, and starts again when it has settled', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.timer(lab.widgets, { id: 't', idle: 1, interval: 0.2 }, ({ spec }) => void seen.push(spec['n']))
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => seen.length === 3)
  await lab.patch('one', { spec: { n: 2 } })
  const { length } = seen
  await lab.elapse(0.6)
  // At most one call that had started before the change arrived.
  expect(seen.length).toBeLessThanOrEqual(length + 1)
  await lab.until(() => seen.filter((n) => n === 2).length === 3)
})

test('the idle time of a timer starts when the operator first sees the object', async () => {
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

test('a timer that waits for its idle time delays neither the deletion of the object nor the stop of the operator', async () => {
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
