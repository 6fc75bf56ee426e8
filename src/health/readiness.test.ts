import { expect, test } from 'vitest'
import { decideReadiness, type ReadinessFacts } from './readiness.ts'

const nowMs = 1_000_000
const healthy: ReadinessFacts = {
  nowMs,
  phase: 'running',
  isPaused: false,
  streams: [
    { scope: 'widgets in "a"', downSinceMs: undefined },
    { scope: 'widgets in "b"', downSinceMs: undefined },
  ],
  webhooks: undefined,
  election: undefined,
  credentials: 'accepted',
  queue: { objects: 5, waiting: 0, waitingSinceMs: undefined, starvedSinceMs: undefined },
  lagMs: 3,
}
const down = (ms: number) => [healthy.streams[0]!, { scope: 'widgets in "b"', downSinceMs: nowMs - ms }]
const waited = (ms: number, starvedMs = ms) => ({
  ...{ objects: 70, waiting: 6 },
  ...{ waitingSinceMs: nowMs - ms, starvedSinceMs: nowMs - starvedMs },
})

test.each<[string, Partial<ReadinessFacts>, string[]]>([
  ['all is well', {}, []],
  ['nothing is watched', { streams: [] }, []],
  ['not all objects were seen yet', { phase: 'starting' }, ['streams']],
  ['the operator is stopping', { phase: 'stopping', streams: [] }, ['streams']],
  ['a stream is down for less than a minute', { streams: down(59_999) }, []],
  ['a stream is down for a minute', { streams: down(60_000) }, ['streams']],
  ['the operator is paused and watches nothing', { isPaused: true, streams: down(1e6) }, []],
  ['the operator was paused before it could start', { phase: 'starting', isPaused: true }, ['streams']],
  ['the operator is not logged in yet', { phase: 'starting', credentials: 'awaited' }, ['streams', 'credentials']],
  ['the credentials are refused', { credentials: 'refused' }, ['credentials']],
  ['webhooks are served', { webhooks: 'serving' }, []],
  ['the webhooks are not configured in the cluster yet', { webhooks: 'starting' }, ['webhooks']],
  ['the operator leads', { election: 'leading' }, []],
  ['the operator is a candidate and all objects wait', { election: 'standing-by', queue: waited(1e7) }, []],
  ['the leader is not known yet', { election: 'awaited' }, ['election']],
  ['the leadership was lost', { election: 'lost' }, ['election']],
  ['objects wait for a minute', { queue: waited(60_000) }, []],
  ['objects wait for more than a minute', { queue: waited(60_001) }, ['queue']],
  ['objects wait for more than a minute behind other objects of their namespace', { queue: waited(1e6, 0) }, []],
  ['the event loop is slow', { lagMs: 1000 }, []],
  ['the event loop is blocked', { lagMs: 1001 }, ['loop']],
  [
    'everything fails at once',
    { streams: down(1e6), credentials: 'refused', lagMs: 9e3 },
    ['streams', 'credentials', 'loop'],
  ],
])('the readiness checks report the state if %s', (_, facts, bad) => {
  const { ready, checks } = decideReadiness({ ...healthy, ...facts })
  const found = Object.entries(checks).filter(([, { ok }]) => !ok)
  expect(found.map(([name]) => name)).toEqual(bad)
  expect(ready).toBe(bad.length === 0)
})

test('readiness describes its failed checks, in seconds', () => {
  const { checks } = decideReadiness({ ...healthy, streams: down(75_040), queue: waited(1260), lagMs: 2345 })
  expect(checks).toEqual({
    streams: {
      ok: false,
      state: 'down',
      total: 2,
      watching: 1,
      down: [{ scope: 'widgets in "b"', downSeconds: 75 }],
    },
    credentials: { ok: true, state: 'accepted' },
    queue: { ok: true, objects: 70, waiting: 6, longestWaitSeconds: 1.3 },
    loop: { ok: false, lagSeconds: 2.3 },
  })
})
