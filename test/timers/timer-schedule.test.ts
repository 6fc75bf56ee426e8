/** The schedule of timers: interval, sharp, idle, initialDelay, and their combinations. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { finalizer, settle, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

/** Seconds per unit: time is skipped in the embedded lab; on a real cluster it is short, but longer than the delays of the server. */
const unit = lab.isReal ? 0.4 : 10

test('a timer is called an interval after the end of its last call, until the object is deleted', async () => {
  const kopf = new Operator()
  const times: number[] = []
  kopf.timer(lab.widgets, { id: 'tick', interval: 0.5 }, () => {
    times.push(lab.clock.now())
    return { ticks: times.length }
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => times.length === 3)
  expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(500)
  const body = await lab.untilObject('one', ({ status }) => status !== undefined)
  expect(body.metadata.finalizers).toEqual([finalizer])
  await lab.delete('one')
  await lab.untilGone('one')
  const { length } = times
  await settle(lab)
  expect(times.length).toBe(length)
})

/** Times in units since the creation of the object. */
interface Row {
  readonly interval?: number
  readonly sharp?: boolean
  readonly idle?: number
  readonly initialDelay?: number
  /** Durations of the first call, the second, and so on; the last value repeats. */
  readonly takes?: readonly number[]
  readonly changes?: readonly number[]
  readonly calls: readonly number[]
}

const end = 10.75

const table: Readonly<Record<string, Row>> = {
  interval: { interval: 3, calls: [0, 3, 6, 9] },
  'interval, calls take time': { interval: 3, takes: [2], calls: [0, 5, 10] },
  'interval, one call takes longer': { interval: 3, takes: [5, 0], calls: [0, 8] },
  sharp: { interval: 3, sharp: true, calls: [0, 3, 6, 9] },
  'sharp, calls take time': { interval: 3, sharp: true, takes: [2], calls: [0, 3, 6, 9] },
  'sharp, calls take longer than the interval': { interval: 3, sharp: true, takes: [4], calls: [0, 6] },
  'sharp, one call takes longer than two intervals': { interval: 2, sharp: true, takes: [5, 0], calls: [0, 6, 8, 10] },
  'sharp, calls of any length': { interval: 2, sharp: true, takes: [1, 0.5, 1.5, 0], calls: [0, 2, 4, 6, 8, 10] },
  'delay and interval': { initialDelay: 2, interval: 3, calls: [2, 5, 8] },
  'delay and sharp': { initialDelay: 2, interval: 3, sharp: true, takes: [1], calls: [2, 5, 8] },
  idle: { idle: 3, calls: [3] },
  'idle, changes before it has settled': { idle: 3, changes: [1, 2], calls: [5] },
  'idle, changes after it has settled': { idle: 3, changes: [1, 5, 7], calls: [4, 10] },
  'idle, a change during a call': { idle: 3, takes: [2, 0], changes: [4], calls: [3, 7] },
  'idle, a change that has settled during a call': { idle: 2, takes: [5, 0], changes: [3], calls: [2, 7] },
  'delay longer than idle': { initialDelay: 4, idle: 2, calls: [4] },
  'delay shorter than idle': { initialDelay: 1, idle: 2, calls: [2] },
  'delay and idle, a change before the call': { initialDelay: 4, idle: 2, changes: [3], calls: [5] },
  'idle and interval': { idle: 3, interval: 2, calls: [3, 5, 7, 9] },
  'idle and interval, a change restarts the idle time': { idle: 3, interval: 2, changes: [6], calls: [3, 5, 9] },
  'idle shorter than the interval, a change': { idle: 1, interval: 4, changes: [3], calls: [1, 5, 9] },
  'idle and interval, a change during a call': { idle: 3, interval: 2, takes: [2, 0], changes: [5], calls: [3, 8, 10] },
  'idle and sharp': { idle: 3, interval: 2, sharp: true, takes: [1], calls: [3, 5, 7, 9] },
  'idle and sharp, a change moves the grid': {
    idle: 3,
    interval: 2,
    sharp: true,
    takes: [1],
    changes: [5.5],
    calls: [3, 5, 8.5, 10.5],
  },
  'delay, idle and interval': { initialDelay: 4, idle: 2, interval: 2, changes: [6.5], calls: [4, 6, 8.5, 10.5] },
}

/** One row of the table: its timer, its object, and the times of its calls. */
class Trial {
  readonly name: string
  readonly calls: number[] = []
  readonly #row: Row
  #createdMs = 0

  constructor(row: Row, index: number) {
    this.name = `row-${index}`
    this.#row = row
  }

  register(kopf: Operator): void {
    const { interval, sharp, idle, initialDelay } = this.#row
    const schedule = {
      ...(interval !== undefined && { interval: interval * unit }),
      ...(idle !== undefined && { idle: idle * unit }),
      ...(sharp && { sharp }),
    } as { interval: number }
    const options = {
      ...schedule,
      initialDelay: (initialDelay ?? 0) * unit,
      labels: { row: this.name },
      finalizer: false,
    }
    kopf.timer(lab.widgets, { id: this.name, ...options }, () => this.#call())
  }

  async create(): Promise<void> {
    this.#createdMs = lab.clock.now()
    await lab.create(this.name, { metadata: { labels: { row: this.name } }, spec: {} })
  }

  /** Clock times at which the test changes the object. */
  get changesMs(): number[] {
    return (this.#row.changes ?? []).map((at) => this.#createdMs + at * unit * 1000)
  }

  async #call(): Promise<void> {
    const { takes = [0] } = this.#row
    const units = takes[this.calls.length] ?? takes.at(-1)!
    this.calls.push((lab.clock.now() - this.#createdMs) / 1000 / unit)
    if (units > 0) await lab.clock.sleep(units * unit * 1000)
  }
}

test('timers follow their schedule for all combinations of interval, sharp, idle and initialDelay', async () => {
  const kopf = new Operator()
  const trials = Object.values(table).map((row, index) => new Trial(row, index))
  for (const trial of trials) trial.register(kopf)
  let isSeen = false
  kopf.on.event(lab.widgets, { labels: { row: 'none' } }, () => {
    isSeen = true
  })
  await lab.start(kopf)
  // A real API server reports the first events of a new kind late.
  await lab.create('none', { metadata: { labels: { row: 'none' } } })
  await lab.until(() => isSeen)
  for (const trial of trials) await trial.create()
  const createdMs = lab.clock.now()
  const changes = trials.flatMap(({ name, changesMs }) => changesMs.map((atMs) => ({ name, atMs })))
  for (const { name, atMs } of changes.sort((one, other) => one.atMs - other.atMs)) {
    await lab.elapse(Math.max(0, atMs - lab.clock.now()) / 1000)
    await lab.patch(name, { spec: { changedMs: atMs } })
  }
  await lab.elapse(end * unit - (lab.clock.now() - createdMs) / 1000)
  const titles = Object.keys(table)
  const called = trials.map((trial, index) => [titles[index], judge(trial, table[titles[index]!]!.calls)])
  const expected = titles.map((title) => [title, table[title]!.calls])
  expect(Object.fromEntries(called)).toEqual(Object.fromEntries(expected))
})

/** Exact to the millisecond in the embedded lab; a real cluster may be late by less than a unit, but never early. */
function judge(trial: Trial, expected: readonly number[]): readonly number[] {
  const calls = trial.calls.filter((at) => at < end)
  if (!lab.isReal) return calls
  const isLateOnly = calls.every((at, index) => at > expected[index]! - 0.02 && at < expected[index]! + 0.9)
  const isComplete = expected.slice(calls.length).every((at) => at > end - 1.5)
  return isLateOnly && isComplete ? expected : calls
}

test('a timer with three failures, a backoff of 5 and an interval of 10 takes 25 seconds, and then starts new retries', async () => {
  const kopf = new Operator()
  const calls: { readonly retry: number; readonly at: number }[] = []
  const second = lab.isReal ? 0.02 : 1
  kopf.timer(
    lab.widgets,
    { id: 'monitor', errors: 'temporary', interval: 10 * second, backoff: 5 * second },
    (args) => {
      calls.push({ retry: args.retry, at: lab.clock.now() / 1000 / second })
      if (args.retry < 3) throw new Error('Not yet')
    },
  )
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => calls.length === 5)
  expect(calls.map(({ retry }) => retry)).toEqual([0, 1, 2, 3, 0])
  const [first, , , , last] = calls
  expect(last!.at - first!.at).toBeGreaterThanOrEqual(25)
  if (!lab.isReal) expect(calls.map(({ at }) => at - first!.at)).toEqual([0, 5, 10, 15, 25])
})

test('a timer with an initial delay of a minute and an idle time of ten minutes is first called after ten minutes', async () => {
  const kopf = new Operator()
  const second = lab.isReal ? 0.005 : 1
  const calls: number[] = []
  const options = { initialDelay: 60 * second, interval: 10 * second, idle: 600 * second }
  kopf.timer(lab.widgets, { id: 'ping', ...options }, () => void calls.push(lab.clock.now() / 1000 / second))
  await lab.start(kopf)
  const createdAt = lab.clock.now() / 1000 / second
  await lab.create('one', { spec: {} })
  await lab.until(() => calls.length === 3)
  await lab.patch('one', { spec: { n: 1 } })
  await lab.until(() => calls.some((at, index) => index > 0 && at - calls[index - 1]! >= 600))
  expect(calls[0]! - createdAt).toBeGreaterThanOrEqual(600)
  if (!lab.isReal) expect(calls.map((at) => at - createdAt)).toEqual([600, 610, 620, 1220])
})

test('a timer can compute its initial delay per object', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  const initialDelay = ({ spec }: { spec: { readonly delay?: number } }) => spec.delay ?? 0
  kopf.timer(lab.widgets, { id: 't', interval: 1000, initialDelay }, ({ name }) => void calls.push(name))
  await lab.start(kopf)
  await lab.create('late', { spec: { delay: 3 * unit } })
  await lab.create('later', { spec: { delay: 6 * unit } })
  await lab.create('now', { spec: {} })
  await lab.until(() => calls.length === 3)
  expect(calls).toEqual(['now', 'late', 'later'])
})

test('a timer whose initial delay fails is not started for the object, which is logged', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  const initialDelay = ({ name }: { name: string }) => {
    if (name === 'bad') throw new Error('Who knows')
    return name === 'worse' ? ('soon' as never) : 0
  }
  kopf.timer(lab.widgets, { id: 't', interval: 1000, initialDelay }, ({ name }) => void calls.push(name))
  await lab.start(kopf)
  for (const name of ['bad', 'worse', 'good']) await lab.create(name, { spec: {} })
  await lab.until(() => calls.length === 1)
  for (const name of ['bad', 'worse']) await lab.untilObject(name, ({ metadata }) => metadata.finalizers === undefined)
  await settle(lab)
  expect(calls).toEqual(['good'])
  await lab.untilLogged("Timer 't' is not started: its initialDelay failed: Who knows")
  await lab.untilLogged('Timer \'t\' is not started: its initialDelay failed: Cannot use "soon" as the initialDelay')
})

test('a timer gets the current object at each call', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.timer(lab.widgets, { id: 't', interval: unit, param: 'p' }, ({ spec, body, status, param, stopped, patch }) => {
    seen.push([spec['n'], body.metadata.generation, status['t'], param, stopped.isSet()])
    patch.status['calls'] = seen.length
    return seen.length
  })
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => seen.length === 1)
  await lab.patch('one', { spec: { n: 2 } })
  await lab.until(() => seen.length === 2)
  expect(seen).toEqual([
    [1, 1, undefined, 'p', false],
    [2, 2, 1, 'p', false],
  ])
  await lab.untilObject('one', ({ status }) => JSON.stringify(status) === '{"calls":2,"t":2}')
})
