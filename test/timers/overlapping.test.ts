/** A timer never overlaps itself, whatever happens meanwhile; two of one object may overlap each other. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { settle, useCleanLab } from '../support/handled.ts'
import { gate } from '../support/recording.ts'

const lab = useCleanLab()

/** Counts the calls that are under way, and remembers the most there were at once. */
class Crowd {
  calls = 0
  most = 0
  #now = 0

  async during(work: () => Promise<void>): Promise<void> {
    this.calls += 1
    this.#now += 1
    this.most = Math.max(this.most, this.#now)
    await work()
    this.#now -= 1
  }
}

test.each([
  ['an interval', { interval: 0.1 }],
  ['a sharp interval', { interval: 0.1, sharp: true }],
  ['idling and an interval', { idle: 0.05, interval: 0.1 }],
])('calls that take longer than %s, while the object changes all the time', async (_, rhythm) => {
  const kopf = new Operator()
  const crowd = new Crowd()
  kopf.timer(lab.widgets, { id: 't', ...rhythm }, async ({ patch }) => {
    patch.status['calls'] = crowd.calls
    await crowd.during(() => lab.clock.sleep(250))
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  for (let n = 0; n < 8; n += 1) {
    await lab.patch('one', { spec: { n } })
    await lab.elapse(0.15)
  }
  await lab.until(() => crowd.calls >= 4)
  expect(crowd.most).toBe(1)
})

test('filters that let go of it and take it back during a call: the next one waits for the end of the last', async () => {
  const kopf = new Operator()
  const crowd = new Crowd()
  const ends = [gate(), gate()]
  const options = { id: 't', interval: 0.1, labels: { on: 'yes' } }
  kopf.timer(lab.widgets, options, () => crowd.during(() => ends[crowd.calls - 1]?.opened ?? Promise.resolve()))
  kopf.on.event(lab.widgets, () => {})
  await lab.start(kopf)
  await lab.create('one', { metadata: { labels: { on: 'yes' } }, spec: {} })
  for (const [index, end] of ends.entries()) {
    await lab.until(() => crowd.calls === index + 1)
    for (const on of ['no', 'yes', 'no', 'yes']) {
      await lab.patch('one', { metadata: { labels: { on } } })
      await lab.elapse(0.15)
    }
    expect(crowd.calls).toBe(index + 1)
    end.open()
  }
  await lab.until(() => crowd.calls > 3)
  expect(crowd.most).toBe(1)
})

test('a change of the object does not bring the next call forward', async () => {
  const kopf = new Operator()
  const times: number[] = []
  kopf.timer(lab.widgets, { id: 't', interval: 1 }, () => void times.push(lab.clock.now()))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => times.length === 1)
  for (let n = 0; n < 5; n += 1) {
    await lab.patch('one', { spec: { n } })
    await lab.elapse(0.1)
  }
  await lab.until(() => times.length === 2)
  expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(1000)
})

test('two timers of one object may overlap, and timers of different objects', async () => {
  const kopf = new Operator()
  const crowd = new Crowd()
  const end = gate()
  kopf.timer(lab.widgets, { id: 'a', interval: 1 }, () => crowd.during(() => end.opened))
  kopf.timer(lab.widgets, { id: 'b', interval: 1 }, () => crowd.during(() => end.opened))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.create('two', { spec: {} })
  await lab.until(() => crowd.calls === 4)
  expect(crowd.most).toBe(4)
  end.open()
})

test('handlers of changes do not wait for a call that is under way, nor it for them', async () => {
  const kopf = new Operator()
  const seen: string[] = []
  const end = gate()
  kopf.timer(lab.widgets, { id: 't', interval: 0.1 }, async () => {
    seen.push('tick')
    await end.opened
    seen.push('tock')
  })
  kopf.on.update(lab.widgets, { id: 'u' }, () => void seen.push('update'))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => seen.includes('tick'))
  await lab.patch('one', { spec: { n: 1 } })
  await lab.until(() => seen.includes('update'))
  expect(seen).toEqual(['tick', 'update'])
  end.open()
  await lab.until(() => seen.length > 4)
})

test('one function under one id is one timer, however often it was registered', async () => {
  const kopf = new Operator()
  const crowd = new Crowd()
  const tick = () => crowd.during(() => lab.clock.sleep(100))
  kopf.timer(lab.widgets, { id: 't', interval: 1, labels: { a: 'yes' } }, tick)
  kopf.timer(lab.widgets, { id: 't', interval: 1, labels: { b: 'yes' } }, tick)
  await lab.start(kopf)
  await lab.create('one', { metadata: { labels: { a: 'yes', b: 'yes' } }, spec: {} })
  await lab.until(() => crowd.calls === 1)
  await lab.patch('one', { metadata: { labels: { a: 'no' } } })
  await lab.until(() => crowd.calls === 2)
  await lab.until(() => crowd.calls === 3)
  expect(crowd.most).toBe(1)
  await lab.patch('one', { metadata: { labels: { b: 'no' } } })
  await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
  const { calls } = crowd
  await settle(lab)
  expect(crowd.calls).toBe(calls)
})
