/** Timers with filters: the filters are checked before each call, so that timers start and stop without any event. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { finalizer, settle, useCleanLab } from '../support/handled.ts'
import { gate } from '../support/recording.ts'

const lab = useCleanLab()

const interval = 0.2

/** Number of sleeping timers of the embedded lab: without one there are no wake-ups. */
function sleeping(): number {
  return lab.isReal ? 0 : lab.skippingClock.sleeping
}

const isOurs = ({ metadata }: { metadata: { finalizers?: string[] } }) => metadata.finalizers?.[0] === finalizer

/** A filter that matches nothing and prevents a label selector in the watch. */
const seeAll = { when: () => false }

/** A filter callback that the test switches on and off. */
class Switch {
  isOn = false
  asked = 0

  readonly ask = (): boolean => {
    this.asked += 1
    return this.isOn
  }
}

test.each<[string, (ask: () => boolean) => object]>([
  [`when`, (ask) => ({ when: ask })],
  ['a label', (ask) => ({ labels: { l: ask } })],
  ['an annotation', (ask) => ({ annotations: { 'example.com/a': ask } })],
  ['a value', (ask) => ({ field: 'spec.n', value: ask })],
])('a timer is started and stopped by a callback for %s without any event', async (_, toFilters) => {
  const kopf = new Operator()
  const filter = new Switch()
  const calls: string[] = []
  kopf.timer(lab.widgets, { id: 't', interval, ...toFilters(filter.ask) }, ({ name }) => void calls.push(name))
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => filter.asked > 3)
  expect(calls).toEqual([])
  expect((await lab.get('one')).metadata.finalizers).toBeUndefined()
  for (let round = 1; round <= 2; round += 1) {
    filter.isOn = true
    await lab.until(() => calls.length >= 3)
    expect(isOurs(await lab.get('one'))).toBe(true)
    filter.isOn = false
    await lab.untilObject('one', (body) => !isOurs(body))
    calls.length = 0
    await settle(lab)
    expect(calls).toEqual([])
  }
})

test('a timer with idle only is called once, as soon as its filter allows it', async () => {
  const kopf = new Operator()
  const filter = new Switch()
  const calls: string[] = []
  kopf.timer(lab.widgets, { id: 't', idle: interval, when: filter.ask }, ({ name }) => void calls.push(name))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => filter.asked > 3)
  filter.isOn = true
  await lab.until(() => calls.length === 1)
  await settle(lab)
  expect(calls).toEqual(['one'])
})

test('a timer with a filter that fails for a while misses no call', async () => {
  const kopf = new Operator({ settings: { queueing: { errorDelays: [interval] } } })
  const calls: string[] = []
  let isDown = false
  let failures = 0
  const when = () => {
    if (!isDown) return true
    failures += 1
    throw new Error('The database is down')
  }
  kopf.timer(lab.widgets, { id: 't', idle: 4 * interval, when }, ({ name }) => void calls.push(name))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', isOurs)
  await lab.elapse(interval)
  isDown = true
  await lab.until(() => failures > 3)
  expect(calls).toEqual([])
  isDown = false
  await lab.until(() => calls.length === 1)
})

test('a timer checks its filters before each call', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.timer(lab.widgets, { id: 't', interval, labels: { on: 'yes' } }, ({ labels }) => void seen.push(labels['on']))
  kopf.on.event(lab.widgets, () => {})
  await lab.start(kopf)
  await lab.create('one', { metadata: { labels: { on: 'yes' } }, spec: {} })
  for (let round = 0; round < 5; round += 1) {
    const { length } = seen
    await lab.until(() => seen.length > length)
    await lab.patch('one', { metadata: { labels: { on: 'no' } } })
    await lab.untilObject('one', (body) => !isOurs(body))
    await lab.patch('one', { metadata: { labels: { on: 'yes' } } })
    await lab.untilObject('one', isOurs)
  }
  expect(new Set(seen)).toEqual(new Set(['yes']))
})

test('a timer stops when an object leaves the label selector of the watch, and starts again with its labels', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.timer(lab.widgets, { id: 't', interval, labels: { on: 'yes' } }, ({ name }) => void calls.push(name))
  await lab.start(kopf)
  await lab.create('one', { metadata: { labels: { on: 'yes' } }, spec: {} })
  for (let round = 0; round < 3; round += 1) {
    const { length } = calls
    await lab.until(() => calls.length > length + 1)
    await lab.patch('one', { metadata: { labels: { on: null } } })
    await lab.untilObject('one', (body) => !isOurs(body))
    const stopped = calls.length
    await settle(lab)
    expect(calls.length).toBe(stopped)
    await lab.patch('one', { metadata: { labels: { on: 'yes' } } })
  }
})

test('a timer continues for an object that returns while its deletion is being confirmed', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  const options = { id: 't', interval, finalizer: false, labels: { on: 'yes' } }
  kopf.timer(lab.widgets, options, ({ name }) => void calls.push(name))
  const wire = lab.record()
  const back = gate()
  let isAsked = false
  wire.meddle = async ({ method, path }, send) => {
    const response = await send()
    // The response to the read of the object that left the selector is delayed until the object returns.
    if (method !== 'GET' || !path.endsWith('/one')) return response
    isAsked = true
    await back.opened
    return response
  }
  await lab.start(kopf, { transport: wire })
  await lab.create('one', { metadata: { labels: { on: 'yes' } }, spec: {} })
  await lab.until(() => calls.length > 0)
  await lab.patch('one', { metadata: { labels: { on: 'no' } } })
  await lab.until(() => isAsked)
  await lab.patch('one', { metadata: { labels: { on: 'yes' } } })
  await lab.elapse(interval / 2)
  back.open()
  const { length } = calls
  await lab.until(() => calls.length > length + 2)
})

test('a filter callback of a timer is not called for objects that cannot match, which cause no wake-ups', async () => {
  const kopf = new Operator()
  const filter = new Switch()
  const never = () => {
    throw new Error('It is for nobody')
  }
  kopf.on.event(lab.widgets, seeAll, never)
  kopf.timer(lab.widgets, { id: 'a', interval, labels: { on: 'yes' }, when: filter.ask }, never)
  kopf.timer(lab.widgets, { id: 'b', interval, annotations: { 'example.com/on': 'yes' }, when: filter.ask }, never)
  kopf.timer(lab.widgets, { id: 'c', interval, field: 'spec.missing', when: filter.ask }, never)
  kopf.timer(lab.widgets, { id: 'd', interval, field: 'spec.n', value: 2, when: filter.ask }, never)
  kopf.timer(lab.widgets, { id: 'e', interval, labels: { on: filter.ask }, field: 'spec.n', value: 2 }, never)
  kopf.daemon(lab.widgets, { id: 'f', when: filter.ask, labels: { on: 'yes' } }, never)
  await lab.start(kopf)
  const before = sleeping()
  await lab.create('one', { spec: { n: 1 } })
  await settle(lab)
  // Timer "e" has a callback for its label and a constant value: the callback runs once, when the object is seen.
  expect(filter.asked).toBe(1)
  expect(sleeping()).toBe(before)
})

test('a filter callback of a timer that has ended is not called again', async () => {
  const kopf = new Operator()
  const filter = new Switch()
  filter.isOn = true
  const calls: string[] = []
  const options = { id: 't', interval, when: filter.ask, errors: 'permanent' } as const
  kopf.timer(lab.widgets, options, ({ name }) => {
    calls.push(name)
    throw new Error('No more')
  })
  await lab.start(kopf)
  const before = sleeping()
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', (body) => calls.length === 1 && !isOurs(body))
  const { asked } = filter
  // Longer than the interval of the watchdog for calls that do not return.
  await lab.elapse(lab.isReal ? 0.4 : 90)
  expect(filter.asked).toBe(asked)
  expect(sleeping()).toBe(before)
  expect(calls).toEqual(['one'])
})

test('a timer with constant filters is not checked periodically', async () => {
  const kopf = new Operator()
  kopf.on.event(lab.widgets, seeAll, () => {})
  kopf.timer(lab.widgets, { id: 't', interval, labels: { on: 'yes' } }, () => {})
  kopf.timer(lab.widgets, { id: 'u', idle: interval, field: 'spec.missing' }, () => {})
  await lab.start(kopf)
  const before = sleeping()
  await lab.create('one', { spec: {} })
  await settle(lab)
  expect(sleeping()).toBe(before)
  expect((await lab.get('one')).metadata.finalizers).toBeUndefined()
})

test('a timer keeps its initial delay each time it is started', async () => {
  const kopf = new Operator()
  const times: number[] = []
  const options = { id: 't', interval: 100, initialDelay: 0.5, labels: { on: 'yes' } }
  kopf.timer(lab.widgets, options, () => void times.push(lab.clock.now()))
  await lab.start(kopf)
  for (let round = 1; round <= 2; round += 1) {
    const beganMs = lab.clock.now()
    if (round === 1) await lab.create('one', { metadata: { labels: { on: 'yes' } }, spec: {} })
    else await lab.patch('one', { metadata: { labels: { on: 'yes' } } })
    await lab.until(() => times.length === round)
    expect(times[round - 1]! - beganMs).toBeGreaterThanOrEqual(500)
    await lab.patch('one', { metadata: { labels: { on: 'no' } } })
    await lab.untilObject('one', (body) => !isOurs(body))
  }
})
