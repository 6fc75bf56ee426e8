import { Operator, PermanentError, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { handledOf, progressOf, untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

interface Attempted {
  /** Seconds since the first attempt. */
  readonly at: number[]
  readonly retries: number[]
}

/** One handler that always does so, and when it was called, until the object counts as handled. */
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

describe('the next attempt comes', () => {
  const cases: readonly [string, object, (retry: number) => void, readonly number[]][] = [
    ['after the delay of a temporary error', {}, later(0.2, 2), [0, 0.2, 0.4]],
    ['at once for a delay of 0', {}, later(0, 2), [0, 0, 0]],
    ['at once for a delay of null', {}, later(null, 1), [0, 0]],
    ['after the default back-off for any other error', {}, (retry) => retry < 1 && oops(), [0, 0.4]],
    ['after its own back-off for any other error', { backoff: '100ms' }, (retry) => retry < 2 && oops(), [0, 0.1, 0.2]],
    [
      'never for a permanent error',
      {},
      () => {
        throw new PermanentError('no')
      },
      [0],
    ],
    ['never where errors are permanent', { errors: 'permanent' }, oops, [0]],
    ['never where errors are ignored', { errors: 'ignored' }, oops, [0]],
    ['as long as there are retries, looking ahead', { retries: 2, backoff: 0 }, oops, [0, 0]],
    ['never where there is one retry', { retries: 1 }, later(60, 9), [0]],
    ['as long as there is time, looking ahead', { timeout: 0.5, backoff: 0.2 }, oops, [0, 0.2, 0.4]],
    ['never where the delay is longer than the time', { timeout: 1 }, later(2, 9), [0]],
  ]
  test.each(cases)('%s', async (_, options, fn, expected) => {
    const { at, retries } = await attempts(options, fn)
    expect(retries).toEqual(expected.map((__, index) => index))
    // Time passes by itself on a real cluster: there it may be later, never earlier.
    if (!lab.isReal) expect(at).toEqual(expected)
    for (const [index, time] of at.entries()) expect(time).toBeGreaterThanOrEqual(expected[index]! - 0.01)
  })

  test.skipIf(lab.isReal)('after a minute, where nothing else is said', async () => {
    expect((await attempts({}, later(undefined, 1))).at).toEqual([0, 60])
  })
})

test('a handler without any retries is not even called', async () => {
  const kopf = new Operator()
  const calls: number[] = []
  kopf.on.create(lab.widgets, { id: 'fn', retries: 0 }, ({ retry }) => void calls.push(retry))
  await lab.start(kopf)
  await lab.create('none', { spec: {} })
  await untilHandled(lab, 'none')
  expect(calls).toEqual([])
  await lab.untilLogged('Creation is processed: 0 succeeded; 1 failed.')
})

test('an attempt knows its number, when the first began, and how long that is ago', async () => {
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

test('number and start survive a restart of the operator', async () => {
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

test('waiting for a retry writes nothing but its own record', async () => {
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
