import { describe, expect, test } from 'vitest'
import { JumpingClock } from '../../test/support/jumping-clock.ts'
import { ManualClock, settle } from '../../test/support/manual-clock.ts'
import { Alarms } from './alarms.ts'

function setUp(signal?: AbortSignal) {
  const clock = new ManualClock()
  const rung: string[] = []
  const alarms = new Alarms<string>(clock, (key) => rung.push(key), signal)
  return { clock, rung, alarms, startMs: clock.now() }
}

describe('alarms', () => {
  test('ring in the order of their times, whatever the order in which they were set', async () => {
    const { clock, rung, alarms, startMs } = setUp()
    for (const [key, at] of [
      ['c', 30],
      ['a', 10],
      ['d', 40],
      ['b', 20],
    ] as const)
      alarms.set(key, startMs + at)
    await clock.advance(25)
    expect(rung).toEqual(['a', 'b'])
    await clock.advance(100)
    expect(rung).toEqual(['a', 'b', 'c', 'd'])
  })

  test('ring once for a key, at the earlier of two times', async () => {
    const { clock, rung, alarms, startMs } = setUp()
    alarms.set('a', startMs + 50)
    alarms.set('a', startMs + 10)
    alarms.set('a', startMs + 90)
    await clock.advance(200)
    expect(rung).toEqual(['a'])
  })

  test('do not ring when they were cancelled, and can be set again', async () => {
    const { clock, rung, alarms, startMs } = setUp()
    alarms.set('a', startMs + 10)
    alarms.set('b', startMs + 20)
    alarms.cancel('a')
    await clock.advance(15)
    expect(rung).toEqual([])
    alarms.set('a', startMs + 30)
    await clock.advance(50)
    expect(rung).toEqual(['b', 'a'])
  })

  test('one that is past rings at once', async () => {
    const { clock, rung, alarms, startMs } = setUp()
    alarms.set('a', startMs - 1000)
    await clock.advance(0)
    expect(rung).toEqual(['a'])
  })

  test('may be set while another one rings', async () => {
    const clock = new ManualClock()
    const rung: string[] = []
    const alarms: Alarms<string> = new Alarms<string>(clock, (key) => {
      rung.push(key)
      if (key === 'a') alarms.set('b', clock.now())
    })
    alarms.set('a', clock.now() + 1)
    await clock.advance(10)
    expect(rung).toEqual(['a', 'b'])
  })

  test('leave no timer behind once nothing is set', async () => {
    const { clock, alarms, startMs } = setUp()
    alarms.set('a', startMs + 1000)
    expect(clock.sleeping).toBe(1)
    alarms.cancel('a')
    expect(clock.sleeping).toBe(0)
  })

  test('ring no more, and leave no timer behind, when the signal is aborted', async () => {
    const ending = new AbortController()
    const { clock, rung, alarms, startMs } = setUp(ending.signal)
    alarms.set('a', startMs + 10)
    ending.abort()
    alarms.set('b', startMs + 20)
    await clock.advance(100)
    expect(rung).toEqual([])
    expect(clock.sleeping).toBe(0)
  })

  test('thousands of them that are cancelled do not pile up, and those that are left ring', async () => {
    const { clock, rung, alarms, startMs } = setUp(new AbortController().signal)
    for (let index = 0; index < 5000; index += 1) {
      alarms.set(`x${index}`, startMs + 1000 + index)
      if (index % 500 !== 0) alarms.cancel(`x${index}`)
    }
    expect(alarms.size).toBe(10)
    await clock.advance(10_000)
    expect(rung).toEqual(Array.from({ length: 10 }, (_, index) => `x${index * 500}`))
  })

  test('thousands that are due at once ring in the order of their times, a slice in each turn of the event loop', async () => {
    const { clock, rung, alarms, startMs } = setUp()
    for (let index = 0; index < 1000; index += 1) alarms.set(`${index}`, startMs - 10 + (index % 10))
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

  test('what is cancelled, set or ended between two slices is cancelled, set or ended', async () => {
    const ending = new AbortController()
    const { clock, rung, alarms, startMs } = setUp(ending.signal)
    for (let index = 0; index < 300; index += 1) alarms.set(`${index}`, startMs + 10 + index / 1000)
    void clock.advance(1000)
    while (rung.length === 0) await settle()
    alarms.cancel('299')
    alarms.set('early', startMs)
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
  ])('take no notice when the time of day is set %s', async (_, byMs) => {
    const steady = new ManualClock()
    const clock = new JumpingClock(steady)
    const rung: string[] = []
    const alarms = new Alarms<string>(clock, (key) => rung.push(key))
    alarms.set('at', clock.now() + 1000)
    alarms.setAfter('after', 2000)
    await steady.advance(500)
    clock.jump(byMs)
    alarms.set('late', clock.now() + 2500)
    await steady.advance(499)
    expect(rung).toEqual([])
    await steady.advance(1)
    expect(rung).toEqual(['at'])
    await steady.advance(1000)
    expect(rung).toEqual(['at', 'after'])
    await steady.advance(1000)
    expect(rung).toEqual(['at', 'after', 'late'])
  })

  test('ring once each after a pause in which the process was suspended', async () => {
    const { clock, rung, alarms, startMs } = setUp()
    for (const [index, key] of ['a', 'b', 'c'].entries()) alarms.set(key, startMs + 1000 * (index + 1))
    await clock.advance(600_000)
    expect(rung).toEqual(['a', 'b', 'c'])
    expect(clock.sleeping).toBe(0)
  })

  test('one that is woken too early sleeps on', async () => {
    const { clock, alarms, rung } = setUp()
    let behindMs = 0
    const slow = {
      now: () => clock.now(),
      monotonic: () => clock.now() - behindMs,
      sleep: (delayMs: number, signal?: AbortSignal) => clock.sleep(delayMs, signal),
    }
    const others = new Alarms<string>(slow, (key) => rung.push(key))
    others.setAfter('a', 1000)
    alarms.setAfter('b', 1000)
    // The clock that counts has stood still for a while, the one that wakes has not.
    behindMs = 300
    await clock.advance(1000)
    expect(rung).toEqual(['b'])
    await clock.advance(300)
    expect(rung).toEqual(['b', 'a'])
  })
})
