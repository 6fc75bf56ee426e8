/** Calls of one timer for one object never overlap; two timers of one object may overlap. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { settle, useCleanLab } from '../support/handled.ts'
import { gate } from '../support/recording.ts'

const lab = useCleanLab()

/** Counts the running calls and their maximum. */
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
  ['the idle time and an interval', { idle: 0.05, interval: 0.1 }],
])('calls of a timer that take longer than %s never overlap while the object changes', async (_, schedule) => {
  const kopf = new Operator()
  const crowd = new Crowd()
  kopf.timer(lab.widgets, { id: 't', ...schedule }, async ({ patch }) => {
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

test('a timer that is filtered out and in again during a call waits for the end of the call', async () => {
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

test('a change of the object does not advance the next call of a timer', async () => {
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

test('two timers of one object can overlap, and timers of different objects too', async () => {
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

test('change handlers and a running timer call do not wait for each other', async () => {
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

test('a function registered repeatedly with one id is one timer', async () => {
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
