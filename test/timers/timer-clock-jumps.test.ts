/** Changes of the system time and suspensions: timers follow the elapsed time and never run in bursts. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { useCleanLab } from '../support/handled.ts'
import { JumpingClock } from '../support/jumping-clock.ts'

const lab = useCleanLab()

const hourMs = 3_600_000

/** Disturbances of the clock after 15 seconds; each returns the seconds in which no timer could fire. */
const jumps: readonly (readonly [string, (clock: JumpingClock) => number])[] = [
  ['the clock is undisturbed', () => 0],
  ['the system time is set forward by an hour', (clock) => jump(clock, hourMs)],
  ['the system time is set back by an hour', (clock) => jump(clock, -hourMs)],
  [
    'the process is suspended for ten minutes in which the monotonic clock stands still',
    (clock) => jump(clock, 600_000),
  ],
  ['the process is suspended for ten minutes in which the monotonic clock goes on', () => oversleep(600)],
]

function jump(clock: JumpingClock, byMs: number): number {
  clock.jump(byMs)
  return 0
}

/** Advances the clock without firing timers in between. */
function oversleep(seconds: number): number {
  const clock = lab.skippingClock
  clock.set(clock.now() + seconds * 1000)
  return seconds
}

/** Reads the monotonic clock in seconds. */
interface Watch {
  readonly clock: JumpingClock
  now(): number
}

function createWatch(): Watch {
  const clock = new JumpingClock(lab.clock)
  return { clock, now: () => clock.monotonic() / 1000 }
}

/** The clock of a real cluster can be neither set nor stopped. */
const embedded = test.skipIf(lab.isReal)

embedded.each(jumps)('timers keep their intervals if %s', async (_, happen) => {
  const kopf = new Operator()
  const { clock, now } = createWatch()
  const calls: Record<'plain' | 'sharp' | 'idle', number[]> = { plain: [], sharp: [], idle: [] }
  const note = (kind: keyof typeof calls) => void calls[kind].push(now() - beganAt)
  kopf.timer(lab.widgets, { id: 'plain', interval: 10 }, () => note('plain'))
  kopf.timer(lab.widgets, { id: 'sharp', interval: 10, sharp: true }, () => note('sharp'))
  kopf.timer(lab.widgets, { id: 'idle', interval: 10, idle: 20 }, () => note('idle'))
  const beganAt = now()
  await lab.start(kopf, { clock })
  await lab.create('one', { spec: {} })
  await lab.elapse(15)
  const asleep = happen(clock)
  await lab.elapse(30)
  // Missed calls are made up for by one call, and a sharp timer keeps its grid.
  const expected =
    asleep === 0
      ? { plain: [0, 10, 20, 30, 40], sharp: [0, 10, 20, 30, 40], idle: [20, 30, 40] }
      : { plain: [0, 10, 615, 625, 635, 645], sharp: [0, 10, 615, 620, 630, 640], idle: [615, 625, 635, 645] }
  expect(calls).toEqual(expected)
})

embedded.each(jumps)('timers keep their initial delay, retries and timeout if %s', async (_, happen) => {
  const kopf = new Operator()
  const { clock, now } = createWatch()
  const calls: { readonly at: number; readonly retry: number; readonly runtime: number }[] = []
  const options = { id: 't', interval: 100, initialDelay: 10, backoff: 20, timeout: 700 }
  kopf.timer(lab.widgets, options, ({ retry, runtime }) => {
    calls.push({ at: now() - beganAt, retry, runtime })
    if (retry === 0) throw new Error('Not yet')
  })
  const beganAt = now()
  await lab.start(kopf, { clock })
  await lab.create('one', { spec: {} })
  await lab.elapse(15)
  const asleep = happen(clock)
  await lab.elapse(40)
  const second = Math.max(30, asleep > 0 ? 15 + asleep : 0)
  expect(calls).toEqual([
    { at: 10, retry: 0, runtime: 0 },
    { at: second, retry: 1, runtime: second - 10 },
  ])
})

embedded.each(jumps)('daemons that wait keep their waiting time if %s', async (_, happen) => {
  const kopf = new Operator()
  const { clock, now } = createWatch()
  const turns: number[] = []
  kopf.daemon(lab.widgets, async ({ stopped }) => {
    while (!(await stopped.wait(10))) turns.push(now() - beganAt)
  })
  const beganAt = now()
  await lab.start(kopf, { clock })
  await lab.create('one', { spec: {} })
  await lab.elapse(15)
  const asleep = happen(clock)
  await lab.elapse(30)
  const second = Math.max(20, asleep > 0 ? 15 + asleep : 0)
  const rest = asleep === 0 ? [30, 40] : [second + 10, second + 20, second + 30]
  expect(turns).toEqual([10, second, ...rest])
})

embedded.each(jumps)('throttled objects are processed again after their delay if %s', async (_, happen) => {
  const kopf = new Operator({ settings: { queueing: { errorDelays: [20] }, networking: { errorBackoffs: [] } } })
  const { clock, now } = createWatch()
  const calls: number[] = []
  const failures: number[] = []
  kopf.timer(lab.widgets, { id: 't', interval: 1000 }, () => void calls.push(now() - beganAt))
  const wire = lab.record()
  wire.meddle = (request, send) => {
    if (request.method !== 'PATCH' || failures.length > 0) return send()
    failures.push(now() - beganAt)
    throw new Error('Nobody listens')
  }
  const beganAt = now()
  await lab.start(kopf, { clock, transport: wire })
  await lab.create('one', { spec: {} })
  await lab.elapse(15)
  const asleep = happen(clock)
  await lab.elapse(40)
  expect(failures).toEqual([0])
  expect(calls).toEqual([Math.max(20, asleep > 0 ? 15 + asleep : 0)])
})
