/** Errors of daemons: handled like errors of other handlers, except that no progress is stored on the object. */
import { Operator, PermanentError, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { annotationsOf, settle, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

interface Attempted {
  /** Seconds since the first attempt. */
  readonly at: number[]
  readonly retries: number[]
}

/** Runs one daemon with this function and records its attempts until there are no more. */
async function attempts(options: object, fn: (retry: number) => unknown): Promise<Attempted> {
  const at: number[] = []
  const retries: number[] = []
  const kopf = new Operator({ settings: { execution: { defaultBackoff: 0.4 } } })
  kopf.daemon(lab.widgets, { id: 'd', ...options }, ({ retry }) => {
    at.push(lab.clock.now() / 1000)
    retries.push(retry)
    return fn(retry)
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilLogged("Daemon 'd' has exited on its own and will not be retried or restarted.")
  await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
  await lab.patch('one', { spec: { n: 2 } })
  await settle(lab)
  expect(annotationsOf(await lab.get('one'))).toEqual({})
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
  const cases: readonly [string, object, (retry: number) => unknown, readonly number[]][] = [
    ['after the delay of a TemporaryError', {}, later(0.2, 2), [0, 0.2, 0.4]],
    ['at once for a delay of 0', {}, later(0, 3), [0, 0, 0, 0]],
    ['at once for a delay of null', {}, later(null, 2), [0, 0, 0]],
    ['after the default backoff for any other error', {}, (retry) => retry < 1 && oops(), [0, 0.4]],
    ['after its own backoff for any other error', { backoff: '100ms' }, (retry) => retry < 2 && oops(), [0, 0.1, 0.2]],
    ['after a rejection', { backoff: 0.1 }, async (retry) => retry < 1 && oops(), [0, 0.1]],
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
    ['after a TemporaryError with errors ignored', { errors: 'ignored' }, later(0.1, 1), [0, 0.1]],
    ['while there are retries left', { retries: 3, backoff: 0.1 }, oops, [0, 0.1, 0.2]],
    ['never with retries 1', { retries: 1 }, later(60, 9), [0]],
    ['while the next attempt is within the timeout', { timeout: 0.5, backoff: 0.2 }, oops, [0, 0.2, 0.4]],
    ['never if the delay exceeds the timeout', { timeout: 1 }, later(2, 9), [0]],
    ['never for a result that is not JSON', {}, () => ({ broken: () => {} }), [0]],
  ]
  test.each(cases)('a daemon is retried %s', async (_, options, fn, expected) => {
    const { at, retries } = await attempts(options, fn)
    expect(retries).toEqual(expected.map((__, index) => index))
    // On a real cluster an attempt may be later than expected, but never earlier.
    if (!lab.isReal) expect(at).toEqual(expected)
    for (const [index, time] of at.entries()) expect(time).toBeGreaterThanOrEqual(expected[index]! - 0.02)
  })

  test.skipIf(lab.isReal)('a daemon is retried after a minute by default', async () => {
    expect((await attempts({}, later(undefined, 1))).at).toEqual([0, 60])
  })
})

test('each attempt of a daemon gets its number, the time of the first attempt, and the runtime since', async () => {
  const kopf = new Operator()
  const seen: { retry: number; started: Date; runtime: number; nowMs: number }[] = []
  kopf.daemon(lab.widgets, { id: 'd', backoff: 0.2 }, async ({ retry, started, runtime, stopped }) => {
    seen.push({ retry, started, runtime, nowMs: lab.clock.now() })
    if (retry < 2) throw new Error('Again')
    await stopped.wait()
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => seen.length === 3)
  expect(seen.map(({ retry }) => retry)).toEqual([0, 1, 2])
  for (const { started, runtime, nowMs } of seen) {
    expect(started.getTime()).toBe(seen[0]!.started.getTime())
    expect(Math.abs(nowMs - started.getTime() - runtime * 1000)).toBeLessThan(50)
  }
  expect(seen[0]!.runtime).toBeLessThan(0.05)
  expect(seen[2]!.runtime).toBeGreaterThanOrEqual(0.38)
})

test('the timeout of a daemon limits its retries but not its runtime', async () => {
  const kopf = new Operator()
  const seen: string[] = []
  kopf.daemon(lab.widgets, { id: 'd', timeout: 0.3 }, async ({ stopped, signal }) => {
    seen.push('starts')
    await stopped.wait(0.6)
    seen.push(`goes on: ${stopped.isSet()} ${signal.aborted}`)
    await stopped.wait()
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => seen.length === 2)
  expect(seen).toEqual(['starts', 'goes on: false false'])
})

describe('ended daemons', () => {
  const ends: readonly [string, object, () => unknown][] = [
    ['by returning', {}, () => 'done'],
    [
      'by a PermanentError',
      {},
      () => {
        throw new PermanentError('never')
      },
    ],
    ['by exhausting its retries', { retries: 2, backoff: 0.05 }, oops],
    ['by an ignored error', { errors: 'ignored' }, oops],
  ]

  test.each(ends)('a daemon that ended %s is started again only by the next process', async (_, options, fn) => {
    const kopf = new Operator()
    let starts = 0
    kopf.daemon(lab.widgets, { id: 'd', ...options, annotations: { on: 'yes' } }, ({ retry }) => {
      if (retry === 0) starts += 1
      return fn()
    })
    const first = await lab.start(kopf)
    await lab.create('one', { metadata: { annotations: { on: 'yes' } } })
    await lab.untilLogged("Daemon 'd' has exited on its own")
    await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
    for (const on of ['no', 'yes']) await lab.patch('one', { metadata: { annotations: { on } }, spec: { on } })
    await settle(lab)
    expect(starts).toBe(1)
    await lab.stop(first)
    await lab.start(kopf)
    await lab.untilLogged("Daemon 'd' has exited on its own")
    expect(starts).toBe(2)
  })

  test('a daemon that failed permanently is started for other objects, and for a new object of the same name', async () => {
    const kopf = new Operator()
    const seen: string[] = []
    kopf.daemon(lab.widgets, { id: 'd' }, ({ name }) => {
      seen.push(name)
      throw new PermanentError('never')
    })
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.create('two', { spec: {} })
    await lab.until(() => seen.length === 2)
    await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
    await lab.delete('one')
    await lab.untilGone('one')
    await lab.create('one', { spec: {} })
    await lab.until(() => seen.length === 3)
    expect(seen.toSorted()).toEqual(['one', 'one', 'two'])
  })
})

test('errors of daemons are logged like those of other handlers, with the next attempt', async () => {
  const kopf = new Operator()
  kopf.daemon(lab.widgets, { id: 'd', backoff: 0.1 }, ({ retry }) => {
    if (retry === 0) throw new TemporaryError('Soon', { delay: 0.1 })
    if (retry === 1) throw new Error('Oh')
    throw new PermanentError('No')
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilLogged('has exited on its own')
  const lines = lab.logs.filter((line) => line.includes("Daemon 'd'")).map((line) => line.slice(line.indexOf('Daemon')))
  expect(lines.map((line) => line.split('\n')[0])).toEqual([
    "Daemon 'd' is invoked.",
    "Daemon 'd' failed temporarily: Soon",
    "Daemon 'd' is invoked.",
    "Daemon 'd' failed with an exception and will try again in 0.1 seconds: Oh",
    "Daemon 'd' is invoked.",
    "Daemon 'd' failed permanently: No",
    "Daemon 'd' has exited on its own and will not be retried or restarted.",
  ])
})

test('a failing daemon does not affect other daemons and handlers of its object', async () => {
  const kopf = new Operator()
  const seen: string[] = []
  kopf.daemon(lab.widgets, { id: 'bad', backoff: 0.05 }, () => oops())
  kopf.daemon(lab.widgets, { id: 'good' }, async ({ stopped }) => {
    seen.push('good')
    await stopped.wait()
  })
  kopf.on.update(lab.widgets, { id: 'u' }, () => void seen.push('updated'))
  kopf.on.create(lab.widgets, { id: 'c' }, () => void seen.push('created'))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => seen.length === 2)
  await lab.elapse(0.3)
  await lab.patch('one', { spec: { n: 2 } })
  await lab.until(() => seen.length === 3)
  expect(seen.toSorted()).toEqual(['created', 'good', 'updated'])
  await lab.delete('one')
  await lab.untilGone('one')
})
