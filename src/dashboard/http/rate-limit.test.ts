/** How long requests for views wait, and which logins are refused. */
import { expect, test } from 'vitest'
import { loginLimit, RateLimit, viewLimit } from './rate-limit.ts'

const take = (pace: RateLimit, viewer: string, nowMs: number, times: number) =>
  Array.from({ length: times }, () => pace.take(viewer, nowMs))

test('a user who opens a page or scrolls a list does not wait', () => {
  expect(take(new RateLimit(viewLimit), 'ada', 0, 60)).toEqual(Array(60).fill(0))
})

test('a user who asks without a pause waits longer with each request, and is refused after five seconds of waiting requests', () => {
  const pace = new RateLimit(viewLimit)
  take(pace, 'ada', 0, 60)
  const delays = take(pace, 'ada', 0, 60)
  expect(delays.slice(0, 3)).toEqual([100, 200, 300])
  expect(delays.slice(49)).toEqual([5000, ...Array(10).fill(undefined)])
})

test('a user who asks ten times a second never waits, as kopf top and a page together do', () => {
  const pace = new RateLimit(viewLimit)
  take(pace, 'ada', 0, 60)
  for (let index = 1; index <= 1000; index += 1) expect(pace.take('ada', index * 100)).toBe(0)
})

test('one user does not make another one wait', () => {
  const pace = new RateLimit(viewLimit)
  take(pace, 'ada', 0, 200)
  expect(pace.take('bob', 0)).toBe(0)
})

test('the twenty-first login of an address is refused, until three seconds have passed', () => {
  const logins = new RateLimit(loginLimit)
  expect(take(logins, '10.0.0.1', 0, 20)).toEqual(Array(20).fill(0))
  expect(logins.take('10.0.0.1', 2999)).toBeUndefined()
  expect(logins.take('10.0.0.1', 3000)).toBe(0)
})
