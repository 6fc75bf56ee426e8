import { describe, expect, test } from 'vitest'
import { JumpingClock } from '../../../test/support/jumping-clock.ts'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { TimerQueue } from './timer-queue.ts'

function setUp(signal?: AbortSignal) {
  const clock = new ManualClock()
  const rung: string[] = []
  const timers = new TimerQueue<string>(clock, (key) => rung.push(key), signal)
  return { clock, rung, alarms: timers, startMs: clock.now() }
}

describe('alarms', () => {
  test('alarms fire in the order of their times, whatever the order in which they were set', async () => {
    const { clock, rung, alarms: timers, startMs } = setUp()
    for (const [key, at] of [
      ['c', 30],
      ['a', 10],
      ['d', 40],
      ['b', 20],
    ] as const)
      timers.set(key, startMs + at)
    await clock.advance(25)
    expect(rung).toEqual(['a', 'b'])
    await clock.advance(100)
    expect(rung).toEqual(['a', 'b', 'c', 'd'])
  })

  test('an alarm fires once per key, at the earliest time', async () => {
    const { clock, rung, alarms: timers, startMs } = setUp()
    timers.set('a', startMs + 50)
    timers.set('a', startMs + 10)
    timers.set('a', startMs + 90)
    await clock.advance(200)
    expect(rung).toEqual(['a'])
  })

  test('a cancelled alarm does not fire, and can be set again', async () => {
    const { clock, rung, alarms: timers, startMs } = setUp()
    timers.set('a', startMs + 10)
    timers.set('b', startMs + 20)
    timers.cancel('a')
    await clock.advance(15)
    expect(rung).toEqual([])
    timers.set('a', startMs + 30)
    await clock.advance(50)
    expect(rung).toEqual(['b', 'a'])
  })

  test('an alarm in the past fires at once', async () => {
    const { clock, rung, alarms: timers, startMs } = setUp()
    timers.set('a', startMs - 1000)
    await clock.advance(0)
    expect(rung).toEqual(['a'])
  })

  test('an alarm can be set while another one fires', async () => {
    const clock = new ManualClock()
    const rung: string[] = []
    const timers: TimerQueue<string> = new TimerQueue<string>(clock, (key) => {
      rung.push(key)
      if (key === 'a') timers.set('b', clock.now())
    })
    timers.set('a', clock.now() + 1)
    await clock.advance(10)
    expect(rung).toEqual(['a', 'b'])
  })

  test('alarms leave no timer behind once none is set', async () => {
    const { clock, alarms: timers, startMs } = setUp()
    timers.set('a', startMs + 1000)
    expect(clock.sleeping).toBe(1)
    timers.cancel('a')
    expect(clock.sleeping).toBe(0)
  })

  test('alarms neither fire nor leave a timer behind after their signal is aborted', async () => {
    const ending = new AbortController()
    const { clock, rung, alarms: timers, startMs } = setUp(ending.signal)
    timers.set('a', startMs + 10)
    ending.abort()
    timers.set('b', startMs + 20)
    await clock.advance(100)
    expect(rung).toEqual([])
    expect(clock.sleeping).toBe(0)
  })

  test('thousands of cancelled alarms do not pile up, and the remaining ones fire', async () => {
    const { clock, rung, alarms: timers, startMs } = setUp(new AbortController().signal)
    for (let index = 0; index < 5000; index += 1) {
      timers.set(`x${index}`, startMs + 1000 + index)
      if (index % 500 !== 0) timers.cancel(`x${index}`)
    }
    expect(timers.size).toBe(10)
    await clock.advance(10_000)
    expect(rung).toEqual(Array.from({ length: 10 }, (_, index) => `x${index * 500}`))
  })

  test('thousands of due alarms fire in the order of their times, a slice per turn of the event loop', async () => {
    const { clock, rung, alarms: timers, startMs } = setUp()
    for (let index = 0; index < 1000; index += 1) timers.set(`${index}`, startMs - 10 + (index % 10))
    const slices: number[] = []
    void clock.advance(0)
    while (rung.length < 1000) {
      const before = rung.length
      await settle()
      slices.push(rung.length - before)
    }
    expect(Math.max(...slices)).toBeLessThanOrEqual(100)
    expect(rung.map((key) => Number(key) % 10)).toEqual(rung.map((_, index) => Math.floor(index / 100)))
  })

  test('an alarm that is cancelled, set or aborted between two slices is cancelled, set or aborted', async () => {
    const ending = new AbortController()
    const { clock, rung, alarms: timers, startMs } = setUp(ending.signal)
    for (let index = 0; index < 300; index += 1) timers.set(`${index}`, startMs + 10 + index / 1000)
    void clock.advance(1000)
    while (rung.length === 0) await settle()
    timers.cancel('299')
    timers.set('early', startMs)
    while (rung.length < 200) await settle()
    expect(rung).toContain('early')
    ending.abort()
    for (let turns = 0; turns < 10; turns += 1) await settle()
    expect(rung).not.toContain('299')
    expect(rung.length).toBeLessThan(300)
    expect(clock.sleeping).toBe(0)
  })

  test.each([
    ['forward', 3_600_000],
    ['back', -3_600_000],
  ])('alarms ignore a system time that is set %s', async (_, byMs) => {
    const steady = new ManualClock()
    const clock = new JumpingClock(steady)
    const rung: string[] = []
    const timers = new TimerQueue<string>(clock, (key) => rung.push(key))
    timers.set('at', clock.now() + 1000)
    timers.setAfter('after', 2000)
    await steady.advance(500)
    clock.jump(byMs)
    timers.set('late', clock.now() + 2500)
    await steady.advance(499)
    expect(rung).toEqual([])
    await steady.advance(1)
    expect(rung).toEqual(['at'])
    await steady.advance(1000)
    expect(rung).toEqual(['at', 'after'])
    await steady.advance(1000)
    expect(rung).toEqual(['at', 'after', 'late'])
  })

  test('alarms fire once each after the process was suspended', async () => {
    const { clock, rung, alarms: timers, startMs } = setUp()
    for (const [index, key] of ['a', 'b', 'c'].entries()) timers.set(key, startMs + 1000 * (index + 1))
    await clock.advance(600_000)
    expect(rung).toEqual(['a', 'b', 'c'])
    expect(clock.sleeping).toBe(0)
  })

  test('an alarm that wakes up too early sleeps again', async () => {
    const { clock, alarms: timers, rung } = setUp()
    let behindMs = 0
    const slow = {
      now: () => clock.now(),
      monotonic: () => clock.now() - behindMs,
      sleep: (delayMs: number, signal?: AbortSignal) => clock.sleep(delayMs, signal),
    }
    const others = new TimerQueue<string>(slow, (key) => rung.push(key))
    others.setAfter('a', 1000)
    timers.setAfter('b', 1000)
    // The monotonic clock is behind the timers.
    behindMs = 300
    await clock.advance(1000)
    expect(rung).toEqual(['b'])
    await clock.advance(300)
    expect(rung).toEqual(['b', 'a'])
  })
})
