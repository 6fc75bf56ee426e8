import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../kube/objects.ts'
import { countTransition, type LeaseRecord, readRecord, toMicroTime, toSpec } from './lease.ts'
import { decideTakeover, type LeaseObservation, observeLease, type TakeoverDecision } from './takeover-decision.ts'

const held: LeaseRecord = {
  holder: 'a',
  durationMs: 15_000,
  acquireTime: '2030-01-01T00:00:00.000000Z',
  renewTime: '2030-01-01T00:00:02.000000Z',
  transitions: 3,
}
const released = { ...held, holder: '', durationMs: 1000 }
const times = { leaseDurationMs: 20_000, retryPeriodMs: 2000 }
const wait = (untilMs: number): TakeoverDecision => ({ type: 'wait', untilMs, holder: 'a' })

const there = (record: LeaseRecord): LeaseObservation => ({ exists: true, record, sinceMs: 1000 })
const gone = (record?: LeaseRecord): LeaseObservation => ({ exists: false, record, sinceMs: 1000 })

const cases: ReadonlyArray<
  readonly [name: string, observation: LeaseObservation | undefined, nowMs: number, TakeoverDecision]
> = [
  ['the Lease was never read', undefined, 0, { type: 'observe' }],
  ['the Lease was acquired recently', there(held), 1001, wait(16_000)],
  ['the Lease is held and expires in a moment', there(held), 15_999, wait(16_000)],
  ['the Lease has expired', there(held), 16_000, { type: 'take' }],
  [
    'the holder gave no duration, so that our own duration counts',
    there({ ...held, durationMs: undefined }),
    16_000,
    wait(21_000),
  ],
  ['the holder gave a longer duration than ours', there({ ...held, durationMs: 60_000 }), 30_000, wait(61_000)],
  ['the holder gave a duration of 68 years', there({ ...held, durationMs: (2 ** 31 - 1) * 1000 }), 1001, wait(601_000)],
  [
    'the holder gave a duration of 68 years and the maximum has passed',
    there({ ...held, durationMs: (2 ** 31 - 1) * 1000 }),
    601_000,
    { type: 'take' },
  ],
  ['the Lease was released', there(released), 1000, { type: 'take' }],
  [
    'the Lease never had a holder',
    there({ ...released, acquireTime: undefined, renewTime: undefined }),
    1000,
    { type: 'take' },
  ],
  ['the Lease was deleted while it was held', gone(held), 1001, wait(16_000)],
  ['the Lease was deleted, and the holder has not created it again in time', gone(held), 16_000, { type: 'create' }],
  ['the Lease was deleted after it was released', gone(released), 1000, { type: 'create' }],
  [
    'the Lease was never seen, and a holder may still create it',
    gone(),
    1001,
    { type: 'wait', untilMs: 3400, holder: undefined },
  ],
  ['the Lease was never seen, and no holder has created it', gone(), 3400, { type: 'create' }],
]

test.each(cases)('the elector chooses its next action if %s', (_, observation, nowMs, decision) => {
  expect(decideTakeover({ observation, nowMs, attempts: [], ...times })).toEqual(decision)
})

describe('writes without a response', () => {
  const observation = there(held)

  test('a Lease with our own record from a write without a response is taken at once', () => {
    expect(decideTakeover({ observation, nowMs: 1001, attempts: [released, held], ...times })).toEqual({ type: 'take' })
  })

  test('a Lease with our identity but another record than we wrote is not ours', () => {
    const attempts = [{ ...held, renewTime: '2030-01-01T00:00:02.001000Z' }]
    expect(decideTakeover({ observation, nowMs: 1001, attempts, ...times })).toEqual(wait(16_000))
  })
})

describe('observed Leases', () => {
  const renewed = { ...held, renewTime: '2029-01-01T00:00:00.000000Z' }

  test.each([
    ['starts with the first read', undefined, held, { exists: true, record: held, sinceMs: 5000 }],
    ['keeps its start if the record is the same', there(held), { ...held }, there(held)],
    [
      'starts again with a renewal, whatever its time',
      there(held),
      renewed,
      { exists: true, record: renewed, sinceMs: 5000 },
    ],
    [
      'starts again if the Lease is deleted, since it may have been renewed until then',
      there(held),
      undefined,
      { ...gone(held), sinceMs: 5000 },
    ],
    ['keeps its start if the Lease is still absent', gone(held), undefined, gone(held)],
    ['starts with an absent Lease', undefined, undefined, { ...gone(), sinceMs: 5000 }],
    ['starts again if the Lease is created again', gone(held), held, { exists: true, record: held, sinceMs: 5000 }],
  ] as const)('the observation of a Lease %s', (_, before, record, after) => {
    expect(observeLease(before, record, 5000)).toEqual(after)
  })
})

describe('Lease records', () => {
  test('a Lease record is read and written with the field names of the API', () => {
    const spec = {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: held.acquireTime,
      renewTime: held.renewTime,
      leaseTransitions: 3,
    }
    expect(toSpec(held)).toEqual(spec)
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: {}, spec }
    expect(readRecord(lease)).toEqual(held)
  })

  test.each([undefined, null, {}, 'text', { holderIdentity: 5, leaseDurationSeconds: '15', leaseTransitions: null }])(
    'a Lease record of %j has no holder',
    (spec) => {
      const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: {}, spec }
      expect(readRecord(lease)).toEqual({
        holder: '',
        durationMs: undefined,
        acquireTime: undefined,
        renewTime: undefined,
        transitions: 0,
      })
    },
  )

  test.each([
    [2, 3],
    [2 ** 31 - 2, 2 ** 31 - 1],
    [2 ** 31 - 1, 2 ** 31 - 1],
    [2 ** 40, 2 ** 31 - 1],
    [-5, 1],
    [undefined, 1],
  ])('a Lease record with %s transitions has %s after the next one', (leaseTransitions, next) => {
    const spec = { holderIdentity: 'a', leaseTransitions }
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: {}, spec } as unknown as KubeObject
    expect(countTransition(readRecord(lease))).toBe(next)
  })

  test('a Lease record that never existed has no transitions', () => {
    expect(countTransition(undefined)).toBe(0)
  })

  test.each([0, -1, -(2 ** 31), '15', null])('a Lease record with a duration of %j has no duration', (seconds) => {
    const spec = { holderIdentity: 'a', leaseDurationSeconds: seconds }
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: {}, spec } as unknown as KubeObject
    expect(readRecord(lease).durationMs).toBeUndefined()
  })

  test('a Lease record rounds its duration up to whole seconds', () => {
    expect(toSpec({ ...held, durationMs: 1200 })['leaseDurationSeconds']).toBe(2)
  })

  test('a Lease record has timestamps with six digits', () => {
    expect(toMicroTime(Date.UTC(2030, 0, 1, 2, 3, 4, 5))).toBe('2030-01-01T02:03:04.005000Z')
  })
})
