/** Daemons and timers under stress: many due at the same time, a jumping clock, a blocked process, and the stop. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { type Clock, nextTurn } from '../../src/util/async/clock.ts'
import { useCleanLab } from '../support/handled.ts'
import { gate } from '../support/recording.ts'

const lab = useCleanLab()

/** Advances the clock without running anything in between, as a suspension does. */
function suspend(seconds: number): void {
  lab.skippingClock.set(lab.clock.now() + seconds * 1000)
}

test('hundreds of timers that are due after a suspension are called once each, with other work in between', async () => {
  const kopf = new Operator()
  const names = Array.from({ length: 350 }, (_, index) => `w${index}`)
  const called: string[] = []
  const perTurn = new Map<number, number>()
  let turns = 0
  kopf.timer(lab.widgets, { id: 'tick', interval: 60, finalizer: false }, ({ name }) => {
    called.push(name)
    perTurn.set(turns, (perTurn.get(turns) ?? 0) + 1)
  })
  for (const name of names) await lab.create(name, { spec: {} })
  await lab.start(kopf)
  await lab.until(() => called.length === names.length)
  called.length = 0
  perTurn.clear()
  suspend(600)
  let isOver = false
  const counting = (async () => {
    for (; !isOver; turns += 1) await nextTurn()
  })()
  await lab.until(() => called.length >= names.length)
  await lab.elapse(30)
  isOver = true
  await counting
  expect([...called].sort()).toEqual([...names].sort())
  expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(100)
})

test.each([
  ['forward', 3_600_000],
  ['back', -3_600_000],
])('a system time that is set %s by an hour neither delays nor advances timers', async (_direction, offsetMs) => {
  let jumpedMs = 0
  const { clock } = lab
  const jumping: Clock = {
    now: () => clock.now() + jumpedMs,
    monotonic: () => clock.now(),
    sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
  }
  const kopf = new Operator()
  const ticks: Record<string, number> = { plain: 0, sharp: 0, idle: 0 }
  for (const [id, options] of [
    ['plain', { interval: 10 }],
    ['sharp', { interval: 10, sharp: true }],
    ['idle', { interval: 10, idle: 5 }],
  ] as const) {
    kopf.timer(lab.widgets, { id, ...options }, () => {
      ticks[id]! += 1
    })
  }
  await lab.start(kopf, { clock: jumping })
  await lab.create('one', { spec: {} })
  await lab.elapse(25)
  expect(ticks).toEqual({ plain: 3, sharp: 3, idle: 3 })
  jumpedMs = offsetMs
  await lab.elapse(100)
  expect(ticks).toEqual({ plain: 13, sharp: 13, idle: 13 })
})

test('timers keep their schedule after a call that blocked the event loop, with one call for all missed ones', async () => {
  const kopf = new Operator()
  const began: Record<string, number[]> = { plain: [], sharp: [] }
  const note = (id: string) => began[id]!.push(Math.round((lab.clock.now() - startedMs) / 1000))
  kopf.timer(lab.widgets, { id: 'plain', interval: 10 }, () => {
    note('plain')
    if (began['plain']!.length === 2) suspend(33)
  })
  kopf.timer(lab.widgets, { id: 'sharp', interval: 10, sharp: true, initialDelay: 5 }, () => void note('sharp'))
  await lab.start(kopf)
  const startedMs = lab.clock.now()
  await lab.create('one', { spec: {} })
  await lab.elapse(70)
  expect(began).toEqual({ plain: [0, 10, 53, 63], sharp: [5, 43, 45, 55, 65] })
})

test.each([0, 50, 100])(
  'handlers and daemons finish when the operator is stopped at %i percent of their work',
  async (percent) => {
    const kopf = new Operator()
    const seen: string[] = []
    kopf.on.create(lab.widgets, { id: 'work' }, async () => {
      seen.push('work begins')
      await lab.clock.sleep(1000)
      seen.push('work ends')
      return { done: true }
    })
    kopf.daemon(lab.widgets, { id: 'watch' }, async ({ stopped }) => {
      await stopped.wait()
      seen.push(`watch is told: ${stopped.reason}`)
      await lab.clock.sleep(1000)
      return { done: true }
    })
    kopf.timer(lab.widgets, { id: 'tick', interval: 60 }, async ({ stopped }) => {
      await stopped.wait(1)
      return { stopped: stopped.isSet() }
    })
    const running = await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.until(() => seen.length === 1)
    await lab.elapse(percent / 100)
    const beganMs = lab.clock.now()
    await lab.stop(running)
    expect(lab.clock.now() - beganMs).toBeLessThanOrEqual(1500)
    expect(seen.sort()).toEqual(['watch is told: operator-exiting', 'work begins', 'work ends'])
    const { status } = await lab.get('one')
    expect(status).toEqual({ work: { done: true }, watch: { done: true }, tick: { stopped: percent < 100 } })
    await lab.start(kopf)
    await lab.elapse(5)
    expect(seen.filter((one) => one.startsWith('work'))).toHaveLength(2)
  },
)

test.each([
  ['without limits', {}, 6000],
  ['with limits', { cancellationBackoff: 1, cancellationTimeout: 2 }, 3000],
])(
  'a daemon that ignores its stop delays the end of the operator for a limited time: %s',
  async (_words, options, limitMs) => {
    const kopf = new Operator()
    const endless = gate()
    let calls = 0
    kopf.daemon(lab.widgets, { id: 'deaf', ...options }, async () => {
      calls += 1
      await endless.opened
    })
    const running = await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.until(() => calls === 1)
    const beganMs = lab.clock.now()
    // A second stop, for example by a second signal, has no further effect.
    await Promise.all([lab.stop(running), running.stop()])
    const tookMs = lab.clock.now() - beganMs
    expect(tookMs).toBeGreaterThanOrEqual(limitMs)
    expect(tookMs).toBeLessThanOrEqual(limitMs + 500)
    endless.open()
  },
)
