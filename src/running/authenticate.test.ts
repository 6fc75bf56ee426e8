import { expect, test } from 'vitest'
import { ApiError } from '../client/api-error.ts'
import { ConnectionInfo } from '../client/credentials.ts'
import { LoginError } from '../errors.ts'
import type { LoginOutcome } from '../features/activities/login.ts'
import { createLogger, createLogSink } from '../util/log.ts'
import { Authenticator } from './authenticate.ts'

const refusal = new ApiError({ method: 'GET', path: '/api', status: 401, reason: 'Unauthorized' })
const info = new ConnectionInfo({ server: 'https://a', token: 'x' })
const nothing: LoginOutcome = { found: new Map(), error: new LoginError('nobody'), isFinal: false }
const something: LoginOutcome = { ...nothing, found: new Map([['a', info]]) }

/** A login whose answers are set, and a clock on which nobody waits. */
function stage() {
  const pauses: number[] = []
  const lost: unknown[] = []
  let nowMs = 0
  const state = { answer: something, isTaken: true, asked: 0, forgiven: 0 }
  const stopping = new AbortController()
  const authenticator = new Authenticator(
    {
      login: {
        title: 'the tests',
        isAsked: true,
        async ask() {
          state.asked += 1
          return state.answer
        },
      },
      clock: {
        now: () => nowMs,
        async sleep(delayMs) {
          pauses.push(delayMs)
          nowMs += delayMs
          // Whoever tries for ever would never let anybody else have a turn.
          if (pauses.length === 12) state.isTaken = true
        },
      },
      logger: createLogger(createLogSink({ write: () => {} }), 'test'),
      starting: new AbortController().signal,
      stopping: stopping.signal,
      onLost: (error) => lost.push(error),
    },
    { take: ({ size }) => size > 0 && state.isTaken, forgive: () => (state.forgiven += 1) },
  )
  return { authenticator, state, pauses, lost, stopping, pass: (ms: number) => (nowMs += ms) }
}

test('one login serves all who ask at once', async () => {
  const { authenticator, state } = stage()
  await Promise.all([authenticator.logIn(undefined), authenticator.logIn(undefined), authenticator.logIn(undefined)])
  expect(state.asked).toBe(1)
})

test('pauses grow up to half a minute, and end the memory of what was refused', async () => {
  const { authenticator, state, pauses } = stage()
  await authenticator.logIn(undefined)
  authenticator.accepted()
  state.isTaken = false
  await authenticator.logIn(refusal)
  expect(pauses).toHaveLength(12)
  for (const [index, delayMs] of pauses.entries()) {
    const fullMs = Math.min(1000 * 2 ** index, 30_000)
    expect(delayMs).toBeGreaterThanOrEqual(fullMs / 2)
    expect(delayMs).toBeLessThanOrEqual(fullMs)
  }
  expect(state.forgiven).toBe(12)
})

test('the first login after a refusal is made at once; one that follows soon after a success has a short pause', async () => {
  const { authenticator, pauses, pass } = stage()
  await authenticator.logIn(undefined)
  authenticator.accepted()
  await authenticator.logIn(refusal)
  expect(pauses).toHaveLength(0)
  for (const round of [1, 2, 3]) {
    authenticator.accepted()
    await authenticator.logIn(refusal)
    expect(pauses).toHaveLength(round)
    expect(pauses.at(-1)).toBeLessThanOrEqual(1000)
  }
  authenticator.accepted()
  pass(10_000)
  await authenticator.logIn(refusal)
  expect(pauses).toHaveLength(3)
})

test('credentials that have merely expired are replaced without a pause, however often', async () => {
  const { authenticator, state, pauses } = stage()
  for (let round = 0; round < 5; round += 1) {
    await authenticator.logIn(undefined)
    authenticator.accepted()
  }
  expect(state.asked).toBe(5)
  expect(pauses).toEqual([])
})

test('before anything was accepted, nothing is tried for long', async () => {
  const { authenticator, state, lost } = stage()
  state.answer = nothing
  await expect(authenticator.logIn(undefined)).rejects.toBe(nothing.error)
  expect(state.asked).toBe(1)
  state.answer = something
  await authenticator.logIn(undefined)
  state.isTaken = false
  await expect(authenticator.logIn(refusal)).rejects.toThrow('Ran out of valid credentials')
  expect(lost).toHaveLength(2)
  expect(lost.at(-1)).toMatchObject({ code: 'KOPF_LOGIN', cause: refusal })
})

test('a login that has failed for good is the end, even after all was well', async () => {
  const { authenticator, state, lost } = stage()
  await authenticator.logIn(undefined)
  authenticator.accepted()
  state.answer = { ...nothing, isFinal: true }
  await expect(authenticator.logIn(refusal)).rejects.toBe(nothing.error)
  expect(lost).toEqual([nothing.error])
})

test('when there is no time left, it is tried once more, without a pause and without a second chance', async () => {
  const { authenticator, state, stopping } = stage()
  await authenticator.logIn(undefined)
  authenticator.accepted()
  stopping.abort()
  state.isTaken = false
  await expect(authenticator.logIn(refusal)).rejects.toThrow('Ran out of valid credentials')
  expect(state).toMatchObject({ asked: 2, forgiven: 0 })
})
