import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
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
})
