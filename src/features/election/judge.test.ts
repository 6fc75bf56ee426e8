import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { type Decision, decide, look, type Sight } from './judge.ts'
import { countTransition, type LeaseRecord, readRecord, toMicroTime, toSpec } from './record.ts'

const held: LeaseRecord = {
  holder: 'a',
  durationMs: 15_000,
  acquireTime: '2030-01-01T00:00:00.000000Z',
  renewTime: '2030-01-01T00:00:02.000000Z',
  transitions: 3,
}
const released = { ...held, holder: '', durationMs: 1000 }
const times = { leaseDurationMs: 20_000, retryPeriodMs: 2000 }
const wait = (untilMs: number): Decision => ({ type: 'wait', untilMs, holder: 'a' })

const there = (record: LeaseRecord): Sight => ({ isThere: true, record, sinceMs: 1000 })
const gone = (record?: LeaseRecord): Sight => ({ isThere: false, record, sinceMs: 1000 })

const cases: ReadonlyArray<readonly [name: string, sight: Sight | undefined, nowMs: number, Decision]> = [
  ['nobody has looked', undefined, 0, { type: 'look' }],
  ['it is held, and not for long', there(held), 1001, wait(16_000)],
  ['it is held, and a moment is left', there(held), 15_999, wait(16_000)],
  ['its time is over', there(held), 16_000, { type: 'take' }],
  [
    'the holder does not say for how long: our own time counts',
    there({ ...held, durationMs: undefined }),
    16_000,
    wait(21_000),
  ],
  ['the holder says longer than we would', there({ ...held, durationMs: 60_000 }), 30_000, wait(61_000)],
  ['the holder asks for 68 years', there({ ...held, durationMs: (2 ** 31 - 1) * 1000 }), 1001, wait(601_000)],
  [
    'the holder has asked for 68 years',
    there({ ...held, durationMs: (2 ** 31 - 1) * 1000 }),
    601_000,
    { type: 'take' },
  ],
  ['it was released', there(released), 1000, { type: 'take' }],
  [
    'it never had a holder',
    there({ ...released, acquireTime: undefined, renewTime: undefined }),
    1000,
    { type: 'take' },
  ],
  ['it was deleted under its holder', gone(held), 1001, wait(16_000)],
  ['it was deleted, and its holder has not put it back in its time', gone(held), 16_000, { type: 'create' }],
  ['it was deleted after it was released', gone(released), 1000, { type: 'create' }],
  [
    'it was never seen: one that is well would put it back',
    gone(),
    1001,
    { type: 'wait', untilMs: 3400, holder: undefined },
  ],
  ['it was never seen, and nobody has put it back', gone(), 3400, { type: 'create' }],
]

test.each(cases)('%s', (_, sight, nowMs, decision) => {
  expect(decide({ sight, nowMs, attempts: [], ...times })).toEqual(decision)
})

describe('what we wrote without an answer', () => {
  const sight = there(held)

  test('is ours to take at once', () => {
    expect(decide({ sight, nowMs: 1001, attempts: [released, held], ...times })).toEqual({ type: 'take' })
  })

  test('is not whatever has our name in it', () => {
    const attempts = [{ ...held, renewTime: '2030-01-01T00:00:02.001000Z' }]
    expect(decide({ sight, nowMs: 1001, attempts, ...times })).toEqual(wait(16_000))
  })
})

describe('looking', () => {
  const renewed = { ...held, renewTime: '2029-01-01T00:00:00.000000Z' }

  test.each([
    ['for the first time', undefined, held, { isThere: true, record: held, sinceMs: 5000 }],
    ['at the same begins nothing anew', there(held), { ...held }, there(held)],
    [
      'at a renewal does, whatever time it says',
      there(held),
      renewed,
      { isThere: true, record: renewed, sinceMs: 5000 },
    ],
    [
      'at its absence does: it may have been renewed until then',
      there(held),
      undefined,
      { ...gone(held), sinceMs: 5000 },
    ],
    ['at its absence once more does not', gone(held), undefined, gone(held)],
    ['at nothing, where there never was anything', undefined, undefined, { ...gone(), sinceMs: 5000 }],
    ['at what was put back does', gone(held), held, { isThere: true, record: held, sinceMs: 5000 }],
  ] as const)('%s', (_, before, record, after) => {
    expect(look(before, record, 5000)).toEqual(after)
  })
})

describe('a record', () => {
  test('is read and written with the names of the API', () => {
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
    'of %j has no holder',
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
  ])('of %s transitions has %s after the next one', (leaseTransitions, next) => {
    const spec = { holderIdentity: 'a', leaseTransitions }
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: {}, spec } as unknown as KubeObject
    expect(countTransition(readRecord(lease))).toBe(next)
  })

  test('that was never there has seen no transition', () => {
    expect(countTransition(undefined)).toBe(0)
  })

  test.each([0, -1, -(2 ** 31), '15', null])('of a duration of %j does not say how long it counts', (seconds) => {
    const spec = { holderIdentity: 'a', leaseDurationSeconds: seconds }
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: {}, spec } as unknown as KubeObject
    expect(readRecord(lease).durationMs).toBeUndefined()
  })

  test('counts whole seconds, rather too many', () => {
    expect(toSpec({ ...held, durationMs: 1200 })['leaseDurationSeconds']).toBe(2)
  })

  test('has times of six digits', () => {
    expect(toMicroTime(Date.UTC(2030, 0, 1, 2, 3, 4, 5))).toBe('2030-01-01T02:03:04.005000Z')
  })
})
