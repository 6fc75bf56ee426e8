import { expect, test } from 'vitest'
import { type Facts, judgeReadiness } from './readiness.ts'

const nowMs = 1_000_000
const healthy: Facts = {
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

test.each<[string, Partial<Facts>, string[]]>([
  ['all is well', {}, []],
  ['nothing to watch', { streams: [] }, []],
  ['not all was seen yet', { phase: 'starting' }, ['streams']],
  ['it is stopping', { phase: 'stopping', streams: [] }, ['streams']],
  ['a stream is down', { streams: down(59_999) }, []],
  ['a stream is down for a minute', { streams: down(60_000) }, ['streams']],
  ['it is paused, and watches nothing', { isPaused: true, streams: down(1e6) }, []],
  ['it was paused before it could begin', { phase: 'starting', isPaused: true }, ['streams']],
  ['not logged in yet', { phase: 'starting', credentials: 'awaited' }, ['streams', 'credentials']],
  ['the credentials are refused', { credentials: 'refused' }, ['credentials']],
  ['webhooks are served', { webhooks: 'serving' }, []],
  ['the cluster does not know of the webhooks yet', { webhooks: 'starting' }, ['webhooks']],
  ['it leads', { election: 'leading' }, []],
  ['it stands by, and all objects wait', { election: 'standing-by', queue: waited(1e7) }, []],
  ['it is not known yet who leads', { election: 'awaited' }, ['election']],
  ['it leads no more', { election: 'lost' }, ['election']],
  ['objects wait', { queue: waited(60_000) }, []],
  ['objects wait for more than a minute', { queue: waited(60_001) }, ['queue']],
  ['objects wait for more than a minute behind others of their namespace', { queue: waited(1e6, 0) }, []],
  ['the event loop is slow', { lagMs: 1000 }, []],
  ['the event loop is blocked', { lagMs: 1001 }, ['loop']],
  [
    'everything at once',
    { streams: down(1e6), credentials: 'refused', lagMs: 9e3 },
    ['streams', 'credentials', 'loop'],
  ],
])('%s', (_, facts, bad) => {
  const { ready, checks } = judgeReadiness({ ...healthy, ...facts })
  const found = Object.entries(checks).filter(([, { ok }]) => !ok)
  expect(found.map(([name]) => name)).toEqual(bad)
  expect(ready).toBe(bad.length === 0)
})

test('it says what is wrong, in seconds', () => {
  const { checks } = judgeReadiness({ ...healthy, streams: down(75_040), queue: waited(1260), lagMs: 2345 })
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
