import { Operator, PermanentError, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { handledOf, progressOf, untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

interface Attempted {
  /** Seconds since the first attempt. */
  readonly at: number[]
  readonly retries: number[]
}

/** Runs one handler with this function and records its attempts until the object is handled. */
async function attempts(options: object, fn: (retry: number) => void): Promise<Attempted> {
  const at: number[] = []
  const retries: number[] = []
  const kopf = new Operator({ settings: { execution: { defaultBackoff: 0.4 } } })
  kopf.on.create(lab.widgets, { id: 'fn', ...options }, ({ retry }) => {
    at.push(lab.clock.now() / 1000)
    retries.push(retry)
    fn(retry)
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  return { at: at.map((time) => Math.round((time - at[0]!) * 1000) / 1000), retries }
}

function later(delay: number | null | undefined, tries: number) {
  return (retry: number) => {
    if (retry < tries) throw new TemporaryError('later', delay === undefined ? {} : { delay })
  }
}

function oops(): never {
  throw new Error('oops')
}

describe('retries', () => {
  const cases: readonly [string, object, (retry: number) => void, readonly number[]][] = [
    ['after the delay of a TemporaryError', {}, later(0.2, 2), [0, 0.2, 0.4]],
    ['at once for a delay of 0', {}, later(0, 2), [0, 0, 0]],
    ['at once for a delay of null', {}, later(null, 1), [0, 0]],
    ['after the default backoff for any other error', {}, (retry) => retry < 1 && oops(), [0, 0.4]],
    ['after its own backoff for any other error', { backoff: '100ms' }, (retry) => retry < 2 && oops(), [0, 0.1, 0.2]],
    [
      'never after a PermanentError',
      {},
      () => {
        throw new PermanentError('no')
      },
      [0],
    ],
    ['never with errors permanent', { errors: 'permanent' }, oops, [0]],
    ['never with errors ignored', { errors: 'ignored' }, oops, [0]],
    ['while there are retries left', { retries: 2, backoff: 0 }, oops, [0, 0]],
    ['never with retries 1', { retries: 1 }, later(60, 9), [0]],
    ['while the next attempt is within the timeout', { timeout: 0.5, backoff: 0.2 }, oops, [0, 0.2, 0.4]],
    ['never if the delay exceeds the timeout', { timeout: 1 }, later(2, 9), [0]],
  ]
  test.each(cases)('a handler is retried %s', async (_, options, fn, expected) => {
    const { at, retries } = await attempts(options, fn)
    expect(retries).toEqual(expected.map((__, index) => index))
    // On a real cluster an attempt may be later than expected, but never earlier.
    if (!lab.isReal) expect(at).toEqual(expected)
    for (const [index, time] of at.entries()) expect(time).toBeGreaterThanOrEqual(expected[index]! - 0.01)
  })

  test.skipIf(lab.isReal)('a handler is retried after a minute by default', async () => {
    expect((await attempts({}, later(undefined, 1))).at).toEqual([0, 60])
  })
})

test('a handler with retries 0 is not called', async () => {
  const kopf = new Operator()
  const calls: number[] = []
  kopf.on.create(lab.widgets, { id: 'fn', retries: 0 }, ({ retry }) => void calls.push(retry))
  await lab.start(kopf)
  await lab.create('none', { spec: {} })
  await untilHandled(lab, 'none')
  expect(calls).toEqual([])
  await lab.untilLogged('Creation is processed: 0 succeeded; 1 failed.')
})

test('each attempt of a handler gets its number, the time of the first attempt, and the runtime since', async () => {
  const kopf = new Operator()
  const attempted: { retry: number; started: number; runtime: number; now: number }[] = []
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ retry, started, runtime }) => {
    attempted.push({ retry, started: started.getTime(), runtime, now: lab.clock.now() })
    if (retry < 2) throw new TemporaryError('later', { delay: 0.3 })
  })
  await lab.start(kopf)
  await lab.create('counting', { spec: {} })
  await untilHandled(lab, 'counting')
  expect(attempted.map(({ retry }) => retry)).toEqual([0, 1, 2])
  for (const { started, runtime, now } of attempted) {
    expect(started).toBe(attempted[0]!.started)
    expect(Math.abs((now - started) / 1000 - runtime)).toBeLessThan(0.1)
  }
  expect(attempted[2]!.runtime).toBeGreaterThanOrEqual(0.6)
})

test('the number of retries and the time of the first attempt survive a restart', async () => {
  const attempted: string[] = []
  const make = () => {
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'fn' }, ({ retry, started }) => {
      attempted.push(`${retry} ${started.toISOString()}`)
      if (retry < 1) throw new TemporaryError('later', { delay: 0.5 })
    })
    return kopf
  }
  const first = await lab.start(make())
  await lab.create('handed', { spec: {} })
  const half = await lab.untilObject('handed', (body) => progressOf(body, 'fn') !== undefined)
  await lab.stop(first)
  await lab.start(make())
  await untilHandled(lab, 'handed')
  const started = new Date(progressOf(half, 'fn')!['started'] as string).toISOString()
  expect(attempted).toEqual([`0 ${started}`, `1 ${started}`])
})

test('a retry writes nothing but its own record', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ retry }) => {
    if (retry < 3) throw new TemporaryError('later', { delay: 0.2 })
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('silent', { spec: {} })
  const body = await untilHandled(lab, 'silent')
  expect(wire.writes('silent')).toHaveLength(4)
  expect(wire.writes('silent').some(({ text }) => text.includes('touch-dummy'))).toBe(false)
  expect(handledOf(body)).toEqual({ spec: {} })
})
