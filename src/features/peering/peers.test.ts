import { expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { describePeers, judge, type Peer, readPeers, type Self } from './peers.ts'

const nowMs = Date.UTC(2030, 0, 1, 12)
const at = (secondsAgo: number) => new Date(nowMs - secondsAgo * 1000).toISOString()

function read(status: unknown): Peer[] {
  return readPeers(
    { apiVersion: 'kopf.dev/v1', kind: 'KopfPeering', metadata: { name: 'x' }, status } as KubeObject,
    nowMs,
  )
}

const justNow = { priority: 0, lifetime: 60, lastSeenMs: nowMs }

test.each<[string, unknown, Partial<Peer>]>([
  [
    'all that there is',
    { priority: 7, lifetime: 30, lastseen: at(10) },
    { priority: 7, lifetime: 30, lastSeenMs: nowMs - 10_000 },
  ],
  ['nothing', {}, justNow],
  ['unknown keys', { namespace: 'a', message: [1] }, justNow],
  ['a time as Python writes it', { lastseen: '2030-01-01T11:59:00.500000+00:00' }, { lastSeenMs: nowMs - 59_500 }],
  ['a time without microseconds', { lastseen: '2030-01-01T11:59:00+00:00' }, { lastSeenMs: nowMs - 60_000 }],
  ['a time of another zone', { lastseen: '2030-01-01T13:59:00+02:00' }, { lastSeenMs: nowMs - 60_000 }],
  ['a time without a zone', { lastseen: '2030-01-01T11:59:00' }, { lastSeenMs: nowMs - 60_000 }],
  ['a time that is none', { lastseen: 'yesterday' }, justNow],
  ['a time of the wrong type', { lastseen: 1_893_499_200 }, justNow],
  ['numbers as text', { priority: '7', lifetime: '30' }, { priority: 7, lifetime: 30 }],
  ['large numbers', { priority: 2n ** 60n }, { priority: 2 ** 60 }],
  ['no numbers', { priority: 'high', lifetime: null }, justNow],
  ['lists', { priority: [1], lifetime: {}, lastseen: [] }, justNow],
  ['a fraction of a second', { lifetime: 1.9 }, { lifetime: 1 }],
])('a record is read that has %s', (_, record, expected) => {
  expect(read({ them: record })).toEqual([expect.objectContaining({ identity: 'them', ...expected })])
})

test.each([undefined, null, 'text', 7, [], {}, { them: null }, { them: 'text' }, { them: [] }])(
  'nobody is there where the status is %j',
  (status) => {
    expect(read(status)).toEqual([])
  },
)

test('names are names, whatever they are', () => {
  const status = JSON.parse('{"__proto__": {"priority": 1}, "constructor": {"priority": 2}, "": {"priority": 3}}')
  expect(read(status).map(({ identity, priority }) => [identity, priority])).toEqual([
    ['__proto__', 1],
    ['constructor', 2],
    ['', 3],
  ])
})

const self: Self = { identity: 'me', priority: 10, isSharded: false }
const record = (priority: number, secondsAgo = 0, lifetime = 60) => ({ priority, lifetime, lastseen: at(secondsAgo) })

interface Verdict {
  readonly dead?: string[]
  readonly superiors?: string[]
  readonly rivals?: string[]
  /** Seconds from now. */
  readonly until?: number
}

test.each<[string, Record<string, unknown>, Verdict, Partial<Self>?]>([
  ['nobody', {}, {}],
  ['ourselves', { me: record(10) }, {}],
  ['ourselves, out of date', { me: record(10, 100) }, {}],
  ['a lower one', { low: record(9) }, {}],
  ['a higher one', { high: record(11) }, { superiors: ['high'], until: 60 }],
  ['one of the same priority', { same: record(10) }, { rivals: ['same'], until: 60 }],
  ['one of the same priority, with shares', { same: record(10) }, {}, { isSharded: true }],
  ['a higher one, with shares', { high: record(11) }, { superiors: ['high'], until: 60 }, { isSharded: true }],
  ['a dead one', { high: record(11, 61) }, { dead: ['high'] }],
  ['one that has died just now', { high: record(11, 60) }, { dead: ['high'] }],
  ['one that is about to die', { high: record(11, 59.5) }, { superiors: ['high'], until: 0.5 }],
  ['a dead one of low priority', { low: record(0, 100) }, { dead: ['low'] }],
  ['one with no life at all', { high: record(11, 0, 0) }, { dead: ['high'] }],
  ['one that has no time', { high: { priority: 11 } }, { superiors: ['high'], until: 60 }],
  ['one from the future', { high: record(11, -100) }, { superiors: ['high'], until: 160 }],
  [
    'all of them',
    {
      a: record(11, 10),
      b: record(10, 30),
      c: record(9, 50),
      d: record(99, 1, 3600),
      e: record(12, 99),
      me: record(10),
    },
    { superiors: ['a', 'd'], rivals: ['b'], dead: ['e'], until: 30 },
  ],
])('whoever sees %s', (_, status, { dead = [], superiors = [], rivals = [], until }, other = {}) => {
  const judgement = judge(read(status), { ...self, ...other }, nowMs)
  const names = (peers: readonly Peer[]) => peers.map(({ identity }) => identity)
  expect(names(judgement.dead)).toEqual(dead)
  expect(names(judgement.superiors)).toEqual(superiors)
  expect(names(judgement.rivals)).toEqual(rivals)
  expect(judgement.untilMs).toBe(until === undefined ? undefined : nowMs + until * 1000)
})

test('peers are described as in the logs of Kopf', () => {
  expect(describePeers(read({ a: record(1), b: record(2, 0.5) }))).toBe(
    "[<Peer a: priority=1, lifetime=60, lastseen='2030-01-01T12:00:00.000000+00:00'>, " +
      "<Peer b: priority=2, lifetime=60, lastseen='2030-01-01T11:59:59.500000+00:00'>]",
  )
})
