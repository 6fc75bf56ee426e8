/** Errors of timers: retries, their limits, and the end of a timer. */
import { Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { finalizer, settle, useCleanLab } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'

const lab = useCleanLab()

const isReleased = ({ metadata }: Body) => metadata.finalizers === undefined

test('a timer counts its retries until a success, and ends with a PermanentError', async () => {
  const kopf = new Operator()
  const retries: number[] = []
  kopf.timer(lab.widgets, { id: 't', interval: 0.2, backoff: 0.1 }, ({ retry }) => {
    retries.push(retry)
    if (retries.length === 1) throw new Error('Any')
    if (retries.length === 2) throw new TemporaryError('Later', { delay: 0.1 })
    if (retries.length === 5) throw new PermanentError('No more')
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', (body) => retries.length === 5 && isReleased(body))
  await settle(lab)
  expect(retries).toEqual([0, 1, 2, 0, 0])
})

test('a timer with errors: permanent ends with any error, for this object only', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.timer(lab.widgets, { id: 't', interval: 0.1, errors: 'permanent' }, ({ name, spec }) => {
    calls.push(name)
    if (spec['bad'] && calls.length > 4) throw new Error('Any')
  })
  await lab.start(kopf)
  await lab.create('good', { spec: {} })
  await lab.create('bad', { spec: { bad: true } })
  await lab.untilObject('bad', (body) => calls.length > 4 && isReleased(body))
  const { length } = calls
  await lab.until(() => calls.length >= length + 4)
  expect(new Set(calls.slice(length))).toEqual(new Set(['good']))
  expect((await lab.get('good')).metadata.finalizers).toEqual([finalizer])
  await lab.patch('bad', { spec: { bad: false } })
  await settle(lab)
  expect(calls.lastIndexOf('bad')).toBeLessThan(length)
})

test('a timer with errors: ignored treats an error as a success, with the interval and new retries', async () => {
  const kopf = new Operator()
  const calls: { readonly retry: number; readonly atMs: number }[] = []
  kopf.timer(lab.widgets, { id: 't', interval: 0.3, errors: 'ignored', backoff: 0.01 }, ({ retry }) => {
    calls.push({ retry, atMs: lab.clock.now() })
    throw new Error('Any')
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => calls.length === 3)
  expect(calls.map(({ retry }) => retry)).toEqual([0, 0, 0])
  expect(calls[1]!.atMs - calls[0]!.atMs).toBeGreaterThanOrEqual(300)
})

test('a timer that has used up its retries ends for this object and releases it', async () => {
  const kopf = new Operator()
  const retries: number[] = []
  kopf.timer(lab.widgets, { id: 't', interval: 0.1, backoff: 0.1, retries: 3 }, ({ retry }) => {
    retries.push(retry)
    if (retries.length > 1) throw new Error('Any')
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', (body) => retries.length === 4 && isReleased(body))
  await lab.patch('one', { spec: { n: 1 } })
  await settle(lab)
  expect(retries).toEqual([0, 0, 1, 2])
})

test('a timer that has used up its timeout ends for this object, and each success renews the timeout', async () => {
  const kopf = new Operator()
  const runtimes: number[] = []
  kopf.timer(lab.widgets, { id: 't', interval: 1, backoff: 0.4, timeout: 1 }, ({ retry, runtime }) => {
    runtimes.push(runtime)
    // The first series of retries succeeds within the timeout, the second never succeeds.
    if (runtimes.length > 2 || retry === 0) throw new Error('Any')
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', (body) => runtimes.length > 2 && isReleased(body))
  await settle(lab)
  if (lab.isReal) expect(runtimes.every((seconds) => seconds < 1)).toBe(true)
  else expect(runtimes).toEqual([0, 0.4, 0, 0.4, 0.8])
})

test('a timer gets its retry, its start and its runtime', async () => {
  const kopf = new Operator()
  const seen: { readonly retry: number; readonly startedMs: number; readonly runtime: number }[] = []
  kopf.timer(lab.widgets, { id: 't', interval: 0.1, backoff: 0.2 }, ({ retry, started, runtime }) => {
    seen.push({ retry, startedMs: started.getTime(), runtime })
    if (retry < 2) throw new Error('Any')
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => seen.length === 4)
  const [first, second, third, next] = seen
  expect(seen.map(({ retry }) => retry)).toEqual([0, 1, 2, 0])
  expect([second!.startedMs, third!.startedMs]).toEqual([first!.startedMs, first!.startedMs])
  expect(next!.startedMs).toBeGreaterThan(first!.startedMs)
  expect(third!.runtime).toBeGreaterThanOrEqual(0.4)
  expect(next!.runtime).toBeLessThan(third!.runtime)
})

test('a sharp timer returns to its grid after errors', async () => {
  const kopf = new Operator()
  const times: number[] = []
  kopf.timer(lab.widgets, { id: 't', interval: 1, sharp: true, backoff: 0.3, finalizer: false }, ({ retry }) => {
    times.push(lab.clock.now())
    if (times.length < 6 && retry === 0) throw new Error('Any')
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => times.length === 5)
  const onGrid = times.filter((_, index) => index % 2 === 0).map((atMs) => atMs - times[0]!)
  if (lab.isReal) expect(onGrid.map((ms) => Math.floor((ms + 10) / 1000))).toEqual([0, 1, 2])
  else expect(times.map((atMs) => atMs - times[0]!)).toEqual([0, 300, 1000, 1300, 2000])
})

test('the patch of a failed timer call is written', async () => {
  const kopf = new Operator()
  kopf.timer(lab.widgets, { id: 't', interval: 100, backoff: 100 }, ({ patch }) => {
    patch.status['seen'] = true
    throw new Error('Any')
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', ({ status }) => JSON.stringify(status) === '{"seen":true}')
})

test('a timer with a result that cannot be stored logs an error and ends', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.timer(lab.widgets, { id: 't', interval: 0.1 }, ({ name }) => {
    calls.push(name)
    return { never: () => {} }
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilLogged(`Timer 't' failed permanently: Cannot store what handler "t" returned under status`)
  await lab.untilObject('one', isReleased)
  await settle(lab)
  expect(calls).toEqual(['one'])
})

test('a timer that throws any value is retried', async () => {
  const kopf = new Operator()
  const thrown: unknown[] = [undefined, null, 'text', 0, Object.create(null), new Proxy({}, { get: () => fail() })]
  const calls: number[] = []
  kopf.timer(lab.widgets, { id: 't', interval: 100, backoff: 0.05 }, ({ retry }) => {
    calls.push(retry)
    if (retry < thrown.length) throw thrown[retry]
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => calls.length === thrown.length + 1)
  expect(calls).toEqual([...calls.keys()])
})

function fail(): never {
  throw new Error('Nobody looks into this')
}
