import { expect, test } from 'vitest'
import { expectLinearGrowth } from '../../test/support/growth.ts'
import type { KubeObject } from '../kube/objects.ts'
import {
  decidePause,
  describePeers,
  type OwnPeer,
  type Peer,
  type PeeringTime,
  type Peers,
  readPeers,
} from './peers.ts'

const nowMs = Date.UTC(2030, 0, 1, 12)
const at = (secondsAgo: number) => new Date(nowMs - secondsAgo * 1000).toISOString()

/** The monotonic clock is independent of the system time. */
const monotonicMs = 5000
const moment: PeeringTime = { nowMs, monotonicMs, maxLifetimeMs: 86_400_000 }

function toObject(status: unknown): KubeObject {
  return { apiVersion: 'kopf.dev/v1', kind: 'KopfPeering', metadata: { name: 'x' }, status } as KubeObject
}

function readAll(status: unknown, before: Peers = new Map(), passedMs = 0): Peers {
  const later = { ...moment, nowMs: nowMs + passedMs, monotonicMs: monotonicMs + passedMs }
  return readPeers(toObject(status), before, later)
}

const read = (status: unknown): Peer[] => [...readAll(status).values()]

const justNow = { priority: 0, lifetime: 60, lastSeenMs: nowMs, deadlineMs: monotonicMs + 60_000 }

test.each<[string, unknown, Partial<Peer>]>([
  [
    'all fields',
    { priority: 7, lifetime: 30, lastseen: at(10) },
    { priority: 7, lifetime: 30, lastSeenMs: nowMs - 10_000 },
  ],
  ['no fields', {}, justNow],
  ['unknown fields', { namespace: 'a', message: [1] }, justNow],
  ['a time as Python writes it', { lastseen: '2030-01-01T11:59:00.500000+00:00' }, { lastSeenMs: nowMs - 59_500 }],
  ['a time without microseconds', { lastseen: '2030-01-01T11:59:00+00:00' }, { lastSeenMs: nowMs - 60_000 }],
  ['a time of another zone', { lastseen: '2030-01-01T13:59:00+02:00' }, { lastSeenMs: nowMs - 60_000 }],
  ['a time without a zone', { lastseen: '2030-01-01T11:59:00' }, { lastSeenMs: nowMs - 60_000 }],
  ['an invalid time', { lastseen: 'yesterday' }, justNow],
  ['a time of the wrong type', { lastseen: 1_893_499_200 }, justNow],
  ['numbers as text', { priority: '7', lifetime: '30' }, { priority: 7, lifetime: 30 }],
  ['large numbers', { priority: 2n ** 60n }, { priority: 2 ** 60 }],
  ['invalid numbers', { priority: 'high', lifetime: null }, justNow],
  ['lists', { priority: [1], lifetime: {}, lastseen: [] }, justNow],
  ['a fraction of a second', { lifetime: 1.9 }, { lifetime: 1 }],
])('a peering record with %s is read', (_, record, expected) => {
  expect(read({ them: record })).toEqual([expect.objectContaining({ identity: 'them', ...expected })])
})

test.each([undefined, null, 'text', 7, [], {}, { them: null }, { them: 'text' }, { them: [] }])(
  'the peering status %j has no peers',
  (status) => {
    expect(read(status)).toEqual([])
  },
)

test('a peer can have any identity, including __proto__', () => {
  const status = JSON.parse('{"__proto__": {"priority": 1}, "constructor": {"priority": 2}, "": {"priority": 3}}')
  expect(read(status).map(({ identity, priority }) => [identity, priority])).toEqual([
    ['__proto__', 1],
    ['constructor', 2],
    ['', 3],
  ])
})

const self: OwnPeer = { identity: 'me', priority: 10, isSharded: false }
const record = (priority: number, secondsAgo = 0, lifetime = 60) => ({ priority, lifetime, lastseen: at(secondsAgo) })

interface Verdict {
  readonly dead?: string[]
  readonly prioPeers?: string[]
  readonly samePeers?: string[]
  /** Seconds from now. */
  readonly until?: number
}

test.each<[string, Record<string, unknown>, Verdict, Partial<OwnPeer>?]>([
  ['no peers', {}, {}],
  ['itself', { me: record(10) }, {}],
  ['its own expired record', { me: record(10, 100) }, {}],
  ['a peer with a lower priority', { low: record(9) }, {}],
  ['a peer with a higher priority', { high: record(11) }, { prioPeers: ['high'], until: 60 }],
  ['a peer with the same priority', { same: record(10) }, { samePeers: ['same'], until: 60 }],
  ['a peer with the same priority in sharded mode', { same: record(10) }, {}, { isSharded: true }],
  [
    'a peer with a higher priority in sharded mode',
    { high: record(11) },
    { prioPeers: ['high'], until: 60 },
    { isSharded: true },
  ],
  ['an expired peer', { high: record(11, 61) }, { dead: ['high'] }],
  ['a peer that has expired just now', { high: record(11, 60) }, { dead: ['high'] }],
  ['a peer that is about to expire', { high: record(11, 59.5) }, { prioPeers: ['high'], until: 0.5 }],
  ['an expired peer with a lower priority', { low: record(0, 100) }, { dead: ['low'] }],
  ['a peer with a zero lifetime', { high: record(11, 0, 0) }, { dead: ['high'] }],
  ['a peer without a time', { high: { priority: 11 } }, { prioPeers: ['high'], until: 60 }],
  ['a peer from the future', { high: record(11, -100) }, { prioPeers: ['high'], until: 60 }],
  [
    'a peer with the maximum time',
    { high: { priority: 11, lastseen: '9999-12-31T23:59:59Z' } },
    { prioPeers: ['high'], until: 60 },
  ],
  ['a peer with an excessive lifetime', { high: record(11, 10, 1e9) }, { prioPeers: ['high'], until: 86_390 }],
  [
    'a peer with a lifetime beyond the numbers',
    { high: record(11, 10, 1e308) },
    { prioPeers: ['high'], until: 86_390 },
  ],
  ['a peer with an excessive lifetime that was seen long ago', { high: record(11, 86_400, 1e9) }, { dead: ['high'] }],
  ['a peer with a negative lifetime', { high: record(11, 0, -1e308) }, { dead: ['high'] }],
  [
    'a mix of peers',
    {
      a: record(11, 10),
      b: record(10, 30),
      c: record(9, 50),
      d: record(99, 1, 3600),
      e: record(12, 99),
      me: record(10),
    },
    { prioPeers: ['a', 'd'], samePeers: ['b'], dead: ['e'], until: 30 },
  ],
])(
  'an operator in a peering sees %s',
  (_, status, { dead = [], prioPeers = [], samePeers = [], until }, other = {}) => {
    const decision = decidePause(readAll(status), { ...self, ...other }, monotonicMs)
    const names = (peers: readonly Peer[]) => peers.map(({ identity }) => identity)
    expect(names(decision.dead)).toEqual(dead)
    expect(names(decision.prioPeers)).toEqual(prioPeers)
    expect(names(decision.samePeers)).toEqual(samePeers)
    expect(decision.untilMs).toBe(until === undefined ? undefined : monotonicMs + until * 1000)
  },
)

test('peers are described as in the log of Kopf', () => {
  expect(describePeers(read({ a: record(1), b: record(2, 0.5) }))).toBe(
    "[<Peer a: priority=1, lifetime=60, lastseen='2030-01-01T12:00:00.000000+00:00'>, " +
      "<Peer b: priority=2, lifetime=60, lastseen='2030-01-01T11:59:59.500000+00:00'>]",
  )
})

test('the description of many peers with long identities is cut', () => {
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${index}`.padEnd(1000, 'x'), record(1)]))
  const words = describePeers(read(many))
  expect(words).toContain('] and 990 more')
  expect(words.length).toBeLessThan(5000)
})

const hour = 3_600_000
const until = (status: unknown, before: Peers, passedMs: number) =>
  decidePause(readAll(status, before, passedMs), self, monotonicMs + passedMs).untilMs

test.each<[string, unknown]>([
  ['without a time', { priority: 11, lifetime: 60 }],
  ['with an invalid time', { priority: 11, lifetime: 60, lastseen: 'never' }],
  ['with a list for a time', { priority: 11, lifetime: 60, lastseen: [{}] }],
  ['from the far future', { priority: 11, lifetime: 60, lastseen: '9999-12-31T23:59:59Z' }],
])('a peering record %s expires after its lifetime, even if the object is written meanwhile', (_, forged) => {
  // Each reading parses the status again, with changes in other fields of the record.
  const at = (passedMs: number) => JSON.parse(JSON.stringify({ forged: { ...(forged as object), note: passedMs } }))
  const first = readAll(at(0))
  const second = readAll(at(30_000), first, 30_000)
  expect(decidePause(second, self, monotonicMs + 30_000).untilMs).toBe(monotonicMs + 60_000)
  expect(until(at(59_999), second, 59_999)).toBe(monotonicMs + 60_000)
  expect(until(at(60_000), second, 60_000)).toBeUndefined()
})

test('a new keep-alive restarts the lifetime of a peering record', () => {
  const first = readAll({ them: record(11) })
  const next = { them: { priority: 11, lifetime: 60, lastseen: new Date(nowMs + 50_000).toISOString() } }
  expect(until(next, first, 50_000)).toBe(monotonicMs + 110_000)
})

test('a change of the system time does not change when a peering record expires', () => {
  const status = { them: record(11) }
  const first = readAll(status)
  for (const jumpMs of [-24 * hour, 24 * hour]) {
    const jumped = { nowMs: nowMs + jumpMs, monotonicMs: monotonicMs + 1000, maxLifetimeMs: hour }
    const peers = readPeers(toObject(status), first, jumped)
    expect(decidePause(peers, self, monotonicMs + 1000).untilMs).toBe(monotonicMs + 60_000)
  }
})

test('a changed priority of a peering record is read again', () => {
  const first = readAll({ them: record(11) })
  expect(until({ them: record(9) }, first, 1000)).toBeUndefined()
})

test('the work of reading, evaluating and describing peers grows linearly with the number of records', async () => {
  await expectLinearGrowth({
    n: 4000,
    prepare: (n) =>
      Object.fromEntries(Array.from({ length: n }, (_, index) => [`p${index}`, { priority: 10 + (index % 2) }])),
    run: (status) => {
      const peers = readAll(status)
      const decision = decidePause(readAll(status, peers, 1), self, monotonicMs)
      describePeers([...decision.prioPeers, ...decision.samePeers])
      expect(decision.prioPeers.length + decision.samePeers.length).toBe(peers.size)
    },
  })
})
