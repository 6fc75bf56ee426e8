/** The end of timers: deleted objects and stopped operators in every phase of a timer. */
import { Operator, type RunningOperator } from 'kopf'
import { expect, test } from 'vitest'
import { finalizer, settle, useCleanLab } from '../support/handled.ts'
import { cutBy, gate, refusal } from '../support/recording.ts'

const lab = useCleanLab()

/** A phase of a timer and the options that lead to it. */
interface Phase {
  readonly options: { readonly interval: number; readonly [option: string]: unknown }
  /** Number of calls before the phase. */
  readonly calls: number
  /** Duration of each call in seconds. */
  readonly takes?: number
  readonly fails?: boolean
  /** The result in the status. */
  readonly result?: number
}

const phases: Readonly<Record<string, Phase>> = {
  'the delay before the first call': { options: { interval: 1, initialDelay: 100 }, calls: 0 },
  'a call': { options: { interval: 1 }, takes: 0.5, calls: 1, result: 1 },
  'a call, without a finalizer': { options: { interval: 1, finalizer: false }, takes: 0.5, calls: 1, result: 1 },
  'the time between two calls': { options: { interval: 100 }, calls: 1, result: 1 },
  'the time between two sharp calls': { options: { interval: 100, sharp: true }, calls: 1, result: 1 },
  'the time until it is tried again': { options: { interval: 1, backoff: 100 }, fails: true, calls: 1 },
  'the time until changes have settled': { options: { interval: 1, idle: 100 }, calls: 0 },
}

interface Trial {
  readonly operator: Operator
  /** Number of calls that were started and that have ended. */
  readonly calls: { begun: number; ended: number }
}

function setUp({ options, takes = 0, fails = false }: Phase): Trial {
  const operator = new Operator()
  const calls = { begun: 0, ended: 0 }
  operator.timer(lab.widgets, { id: 't', ...options }, async () => {
    calls.begun += 1
    if (takes > 0) await lab.clock.sleep(takes * 1000)
    calls.ended += 1
    if (fails) throw new Error('Not yet')
    return calls.ended
  })
  return { operator, calls }
}

/** Starts the operator and waits until the timer is in the phase. */
async function begin({ operator, calls }: Trial, phase: Phase): Promise<RunningOperator> {
  const running = await lab.start(operator)
  await lab.create('one', { spec: {} })
  const isHeld = phase.options['finalizer'] !== false
  await lab.untilObject('one', ({ metadata, status }) => {
    if (isHeld && metadata.finalizers?.[0] !== finalizer) return false
    return calls.begun === phase.calls && (phase.takes !== undefined || status?.['t'] === phase.result)
  })
  return running
}

test.each(Object.entries(phases))(
  'an object deleted during %s of a timer is released when no call is running',
  async (_, phase) => {
    const trial = setUp(phase)
    await begin(trial, phase)
    const deletedMs = lab.clock.now()
    await lab.delete('one')
    const isHeld = phase.options['finalizer'] !== false
    await lab.until(async () => {
      const isThere = await lab.exists('one')
      // The object is not deleted while a call is running.
      if (!isThere && isHeld) expect(trial.calls.ended).toBe(trial.calls.begun)
      return !isThere
    })
    if (!lab.isReal && phase.takes === undefined) expect(lab.clock.now()).toBe(deletedMs)
    await lab.until(() => trial.calls.ended === trial.calls.begun)
    await settle(lab)
    expect(trial.calls).toEqual({ begun: phase.calls, ended: phase.calls })
  },
)

test.each(Object.entries(phases))(
  'an operator stopped during %s of a timer writes the result and makes no more calls',
  async (_, phase) => {
    const before = sleeping()
    const trial = setUp(phase)
    const running = await begin(trial, phase)
    await lab.stop(running)
    expect((await lab.get('one'))['status']).toEqual(phase.result === undefined ? undefined : { t: phase.result })
    expect(trial.calls).toEqual({ begun: phase.calls, ended: phase.calls })
    expect(sleeping()).toBe(before)
    await settle(lab)
    expect(trial.calls).toEqual({ begun: phase.calls, ended: phase.calls })
  },
)

/** Number of sleeping timers of the embedded lab. */
function sleeping(): number {
  return lab.isReal ? 0 : lab.skippingClock.sleeping
}

test('an object deleted while the result of a timer is being written is released after the write', async () => {
  const kopf = new Operator()
  kopf.timer(lab.widgets, { id: 't', interval: 100 }, () => 'done')
  const wire = lab.record()
  const written = gate()
  wire.meddle = async ({ path }, send) => {
    if (path.endsWith('/status')) await written.opened
    return send()
  }
  await lab.start(kopf, { transport: wire })
  await lab.create('one', { spec: {} })
  await lab.until(() => wire.writes('/status').length === 1)
  await lab.delete('one')
  await settle(lab)
  expect(await lab.exists('one')).toBe(true)
  written.open()
  await lab.untilGone('one')
  // The finalizer is added, the result is written (again if the deletion came first), and the finalizer is removed.
  const isStatus = wire.writes('/one').map(({ path }) => path.endsWith('/status'))
  expect([isStatus.at(0), isStatus.at(-2), isStatus.at(-1)]).toEqual([false, true, false])
})

test('an operator stopped while the result of a timer is being written waits for the write', async () => {
  const kopf = new Operator()
  kopf.timer(lab.widgets, { id: 't', interval: 100 }, () => 'done')
  const wire = lab.record()
  wire.meddle = async ({ path }, send) => {
    if (path.endsWith('/status')) await lab.clock.sleep(1000)
    return send()
  }
  const running = await lab.start(kopf, { transport: wire })
  await lab.create('one', { spec: {} })
  await lab.until(() => wire.writes('/status').length === 1)
  await lab.stop(running)
  expect((await lab.get('one'))['status']).toEqual({ t: 'done' })
})

test('an operator stopped before the finalizer is added calls no timer', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.timer(lab.widgets, { id: 't', interval: 0.1 }, ({ name }) => void calls.push(name))
  const wire = lab.record()
  wire.meddle = async ({ method }, send) => {
    if (method === 'PATCH') await lab.clock.sleep(500)
    return send()
  }
  const running = await lab.start(kopf, { transport: wire })
  await lab.create('one', { spec: {} })
  await lab.until(() => wire.writes('/one').length === 1)
  await lab.stop(running)
  await settle(lab)
  expect(calls).toEqual([])
})

test('timers of a stopped operator continue in another operator, which releases the objects', async () => {
  const phase = phases['the time between two calls']!
  const first = setUp(phase)
  await lab.stop(await begin(first, phase))
  expect((await lab.get('one')).metadata.finalizers).toEqual([finalizer])
  const second = setUp(phase)
  await lab.start(second.operator)
  await lab.until(() => second.calls.ended === 1)
  await lab.delete('one')
  await lab.untilGone('one')
})

test('a timer with finalizer: false does not hold a deleted object, which is reported once', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  const events: unknown[] = []
  kopf.timer(lab.widgets, { id: 'a', interval: 0.2, finalizer: false }, () => void calls.push('a'))
  kopf.timer(lab.widgets, { id: 'b', idle: 100, finalizer: false }, () => void calls.push('b'))
  kopf.on.event(lab.widgets, ({ event }) => void events.push(event.type))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => calls.length === 2)
  expect((await lab.get('one')).metadata.finalizers).toBeUndefined()
  await lab.delete('one')
  expect(await lab.exists('one')).toBe(false)
  await lab.until(() => events.includes('DELETED'))
  const { length } = calls
  await settle(lab)
  expect(calls.length).toBe(length)
  expect(events.filter((type) => type === 'DELETED').length).toBe(1)
})

test('a timer that fails permanently does not affect other timers of the object, which keep the finalizer', async () => {
  const kopf = new Operator()
  const calls = { good: 0, bad: 0 }
  kopf.timer(lab.widgets, { id: 'bad', interval: 0.1, errors: 'permanent' }, () => {
    calls.bad += 1
    throw new Error('No more')
  })
  kopf.timer(lab.widgets, { id: 'good', interval: 0.1 }, () => {
    calls.good += 1
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => calls.good > 3)
  expect(calls.bad).toBe(1)
  expect((await lab.get('one')).metadata.finalizers).toEqual([finalizer])
  await lab.delete('one')
  await lab.untilGone('one')
})

test('an object that was created again while the watch was down gets a timer of its own', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  const options = { id: 't', interval: 0.2, finalizer: false, errors: 'permanent' } as const
  kopf.timer(lab.widgets, options, ({ uid, spec }) => {
    calls.push(uid)
    if (spec['fails']) throw new Error('No more')
  })
  const wire = lab.record()
  const [cut, goOn] = [gate(), gate()]
  let isFirst = true
  wire.meddle = async ({ path, query }, send) => {
    if (path !== lab.path() || query.get('watch') !== 'true') return send()
    if (isFirst) {
      isFirst = false
      const response = await send()
      return { ...response, body: cutBy(response.body, cut.opened) }
    }
    await goOn.opened
    // The version of the first watch has expired.
    return query.get('sendInitialEvents') === 'true' ? send() : refusal(410)
  }
  await lab.start(kopf, { transport: wire })
  const old = await lab.create('ticking', { spec: {} })
  const failed = await lab.create('failed', { spec: { fails: true } })
  await lab.until(() => calls.includes(old.metadata.uid!) && calls.includes(failed.metadata.uid!))
  cut.open()
  await lab.elapse(0.2)
  for (const name of ['ticking', 'failed']) await lab.delete(name)
  const successor = await lab.create('ticking', { spec: {} })
  const another = await lab.create('failed', { spec: {} })
  goOn.open()
  const uids = [successor, another].map(({ metadata }) => metadata.uid!)
  await lab.until(() => uids.every((uid) => calls.filter((one) => one === uid).length > 1))
  calls.length = 0
  await lab.until(() => calls.length > 5)
  expect(new Set(calls)).toEqual(new Set(uids))
})
