import { expect, test } from 'vitest'
import { LoginError } from '../../errors.ts'
import { createLogger, createLogSink } from '../../util/log/log.ts'
import { ApiError } from '../api-error.ts'
import { Authenticator, type LoginOutcome } from './authenticator.ts'
import { ConnectionInfo } from './connection-info.ts'

const refusal = new ApiError({ method: 'GET', path: '/api', status: 401, reason: 'Unauthorized' })
const info = new ConnectionInfo({ server: 'https://a', token: 'x' })
const nothing: LoginOutcome = { found: new Map(), error: new LoginError('nobody'), isFinal: false }
const something: LoginOutcome = { ...nothing, found: new Map([['a', info]]) }

/** An authenticator with scripted logins and a clock that never waits. */
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
        isRenewable: true,
        async run() {
          state.asked += 1
          return state.answer
        },
      },
      clock: {
        now: () => nowMs,
        async sleep(delayMs) {
          pauses.push(delayMs)
          nowMs += delayMs
          // An endless loop of logins would block the event loop.
          if (pauses.length === 12) state.isTaken = true
        },
      },
      logger: createLogger(createLogSink({ write: () => {} }), 'test'),
      starting: new AbortController().signal,
      stopping: stopping.signal,
      onLost: (error) => lost.push(error),
    },
    { accept: ({ size }) => size > 0 && state.isTaken, clearRejected: () => (state.forgiven += 1) },
  )
  return { authenticator, state, pauses, lost, stopping, pass: (ms: number) => (nowMs += ms) }
}

test('one login serves all concurrent requests for credentials', async () => {
  const { authenticator, state } = stage()
  await Promise.all([authenticator.logIn(undefined), authenticator.logIn(undefined), authenticator.logIn(undefined)])
  expect(state.asked).toBe(1)
})

test('pauses between logins grow up to half a minute, and make refused credentials acceptable again', async () => {
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

test('the first login after a refusal is immediate, and the next one soon after a success has a short pause', async () => {
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

test('expired credentials are replaced without a pause, however often', async () => {
  const { authenticator, state, pauses } = stage()
  for (let round = 0; round < 5; round += 1) {
    await authenticator.logIn(undefined)
    authenticator.accepted()
  }
  expect(state.asked).toBe(5)
  expect(pauses).toEqual([])
})

test('a login that fails before any credentials were accepted is not repeated', async () => {
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

test('a login that fails permanently ends the operator, even after earlier successes', async () => {
  const { authenticator, state, lost } = stage()
  await authenticator.logIn(undefined)
  authenticator.accepted()
  state.answer = { ...nothing, isFinal: true }
  await expect(authenticator.logIn(refusal)).rejects.toBe(nothing.error)
  expect(lost).toEqual([nothing.error])
})

test('a login while the operator stops is tried once, without a pause', async () => {
  const { authenticator, state, stopping } = stage()
  await authenticator.logIn(undefined)
  authenticator.accepted()
  stopping.abort()
  state.isTaken = false
  await expect(authenticator.logIn(refusal)).rejects.toThrow('Ran out of valid credentials')
  expect(state).toMatchObject({ asked: 2, forgiven: 0 })
})
