/** Stop of the operator: daemons get their time to end, and the objects keep their finalizers for the next process. */
import { Operator, type RunningOperator, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { finalizer, settle, useCleanLab } from '../support/handled.ts'
import { gate, refusal } from '../support/recording.ts'
import { isAbout, Stubborn } from './daemon-support.ts'

const lab = useCleanLab()

const orphaned = "Daemon 'd' did not exit in time. Leaving it orphaned."

/** Stops the operator and returns how long it took, in milliseconds. */
async function stop(running: RunningOperator): Promise<number> {
  const sinceMs = lab.clock.now()
  await lab.stop(running)
  return lab.clock.now() - sinceMs
}

async function expectKept(): Promise<void> {
  expect((await lab.get('one')).metadata).toMatchObject({ finalizers: [finalizer] })
}

test('a daemon in its initial delay is not called when the operator stops, and waits again in the next process', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.daemon(lab.widgets, { id: 'd', initialDelay: 0.5 }, async ({ stopped }) => {
    calls += 1
    await stopped.wait()
  })
  const first = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', ({ metadata }) => metadata.finalizers?.length === 1)
  expect(await stop(first)).toSatisfy((ms: number) => isAbout(lab, ms, 0))
  await lab.elapse(0.7)
  expect(calls).toBe(0)
  await expectKept()
  await lab.start(kopf)
  await lab.elapse(0.3)
  expect(calls).toBe(0)
  await lab.until(() => calls === 1)
})

test('a running daemon gets the reason operator-exiting, and its result and patch are written', async () => {
  const kopf = new Operator()
  const seen: string[] = []
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped, patch, retry }) => {
    seen.push(`starts ${retry}`)
    await stopped.wait()
    seen.push(`stops: ${stopped.reason}`)
    patch.spec['seen'] = seen.length
    patch.fns.push((body) => Object.assign(body, { list: ['a'] }))
    return { reason: stopped.reason }
  })
  const first = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => seen.length === 1)
  await settle(lab)
  expect(await stop(first)).toSatisfy((ms: number) => isAbout(lab, ms, 0))
  const { spec, list, status } = await lab.get('one')
  expect({ spec, list, status }).toEqual({
    spec: { seen: 2 },
    list: ['a'],
    status: { d: { reason: 'operator-exiting' } },
  })
  await expectKept()
  await lab.start(kopf)
  await lab.until(() => seen.length === 3)
  expect(seen).toEqual(['starts 0', 'stops: operator-exiting', 'starts 0'])
})

test('a daemon that waits for a retry is not retried when the operator stops, and starts over in the next process', async () => {
  const kopf = new Operator()
  const retries: number[] = []
  kopf.daemon(lab.widgets, { id: 'd' }, ({ retry }) => {
    retries.push(retry)
    throw new TemporaryError('Not yet', { delay: retry < 1 ? 0.1 : 0.6 })
  })
  const first = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => retries.length === 2)
  expect(await stop(first)).toSatisfy((ms: number) => isAbout(lab, ms, 0))
  await lab.elapse(1)
  expect(retries).toEqual([0, 1])
  await expectKept()
  await lab.start(kopf)
  await lab.until(() => retries.length === 3)
  expect(retries).toEqual([0, 1, 0])
})

test('a daemon that is retried without a delay ends when the operator stops', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.daemon(lab.widgets, { id: 'd' }, async () => {
    calls += 1
    await lab.clock.sleep(10)
    throw new TemporaryError('At once', { delay: null })
  })
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => calls >= 3)
  await lab.stop(running)
  const { length } = lab.logs
  const before = calls
  await settle(lab)
  expect(calls).toBe(before)
  expect(lab.logs).toHaveLength(length)
})

describe('deleted objects', () => {
  test('a daemon that ends for a deletion gets the new reason, and the next process releases the object', async () => {
    const kopf = new Operator()
    const seen: unknown[] = []
    kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped }) => {
      seen.push('starts')
      await stopped.wait()
      while (stopped.reason === 'resource-deleted') await lab.clock.sleep(50)
      seen.push(stopped.reason)
    })
    const first = await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.until(() => seen.length === 1)
    await lab.delete('one')
    await lab.untilLogged("Daemon 'd' is still exiting.")
    expect(await stop(first)).toSatisfy((ms: number) => isAbout(lab, ms, 50))
    expect(seen).toEqual(['starts', 'operator-exiting'])
    await expectKept()
    await lab.start(kopf)
    await lab.untilGone('one')
    expect(seen).toHaveLength(2)
  })

  test('a daemon that ends for a deletion gets only the rest of its timeout when the operator stops', async () => {
    const kopf = new Operator()
    const daemon = new Stubborn(lab)
    kopf.daemon(lab.widgets, { id: 'd', cancellationBackoff: 0.4, cancellationTimeout: 0.4 }, daemon.fn)
    const running = await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.until(() => daemon.isRunning)
    await settle(lab)
    await lab.delete('one')
    await lab.until(() => daemon.atMs.stopped !== undefined)
    await lab.elapse(0.3)
    expect(await stop(running)).toSatisfy((ms: number) => isAbout(lab, ms, 500))
    expect(daemon.atMs.cancelled! - daemon.atMs.stopped!).toSatisfy((ms: number) => isAbout(lab, ms, 400))
    await lab.untilLogged(orphaned)
    daemon.letGo()
  })

  test.skipIf(lab.isReal)(
    'a stuck daemon of a deleted object gets five seconds and one more when the operator stops',
    async () => {
      const kopf = new Operator()
      const daemon = new Stubborn(lab)
      kopf.daemon(lab.widgets, { id: 'd' }, daemon.fn)
      const running = await lab.start(kopf)
      await lab.create('one', { spec: {} })
      await lab.until(() => daemon.isRunning)
      await settle(lab)
      await lab.delete('one')
      await lab.untilLogged("Daemon 'd' is still exiting.")
      const sinceMs = lab.clock.now()
      expect(await stop(running)).toBe(6000)
      expect(daemon.atMs.cancelled! - sinceMs).toBe(5000)
      await expectKept()
      daemon.letGo()
    },
  )
})

describe('slow daemons', () => {
  const cases = [
    { options: { cancellationTimeout: 0.3 }, cancelledMs: 0, endMs: 300 },
    { options: { cancellationBackoff: 0.2, cancellationTimeout: 0.3 }, cancelledMs: 200, endMs: 500 },
    { options: { cancellationTimeout: 0 }, cancelledMs: 0, endMs: 0 },
  ] as const

  test.each(cases)('a slow daemon gets the times of its options: $options', async ({ options, cancelledMs, endMs }) => {
    const kopf = new Operator()
    const daemon = new Stubborn(lab)
    kopf.daemon(lab.widgets, { id: 'd', ...options }, daemon.fn)
    const running = await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.until(() => daemon.isRunning)
    await settle(lab)
    const sinceMs = lab.clock.now()
    expect(await stop(running)).toSatisfy((ms: number) => isAbout(lab, ms, endMs))
    expect(daemon.reason).toBe('operator-exiting')
    expect(daemon.atMs.stopped! - sinceMs).toSatisfy((ms: number) => isAbout(lab, ms, 0))
    expect(daemon.atMs.cancelled! - sinceMs).toSatisfy((ms: number) => isAbout(lab, ms, cancelledMs))
    expect(lab.logs.filter((line) => line.includes(orphaned))).toHaveLength(1)
    await expectKept()
    daemon.letGo()
  })

  test.skipIf(lab.isReal)('a slow daemon without options gets its backoff, five seconds, and one more', async () => {
    for (const [options, waitMs] of [
      [{}, 0],
      [{ cancellationBackoff: 30 }, 30_000],
      [{ cancellationPolling: 1 }, 0],
    ] as const) {
      const kopf = new Operator()
      const daemon = new Stubborn(lab)
      kopf.daemon(lab.widgets, { id: 'd', ...options }, daemon.fn)
      const running = await lab.start(kopf)
      if (!(await lab.exists('one'))) await lab.create('one', { spec: {} })
      await lab.until(() => daemon.isRunning)
      await settle(lab)
      const sinceMs = lab.clock.now()
      expect(await stop(running)).toBe(waitMs + 6000)
      expect(daemon.atMs.cancelled! - sinceMs).toBe(waitMs + 5000)
      expect(lab.logs.filter((line) => line.includes(orphaned))).toHaveLength(1)
      daemon.letGo()
    }
  })

  test.skipIf(lab.isReal)(
    'a slow daemon that ends when it is cancelled after five seconds is not orphaned',
    async () => {
      const kopf = new Operator()
      let isRunning = false
      kopf.daemon(lab.widgets, { id: 'd' }, async ({ signal }) => {
        isRunning = true
        await lab.clock.sleep(3_600_000, signal)
      })
      const running = await lab.start(kopf)
      await lab.create('one', { spec: {} })
      await lab.until(() => isRunning)
      await settle(lab)
      expect(await stop(running)).toBe(5000)
      expect(lab.logs.filter((line) => line.includes("Daemon 'd' is cancelled."))).toHaveLength(1)
      expect(lab.logs.filter((line) => line.includes(orphaned))).toEqual([])
    },
  )

  test('a slow daemon that needs less than five seconds is not cancelled', async () => {
    const kopf = new Operator()
    let isAborted: boolean | undefined
    let isRunning = false
    kopf.daemon(lab.widgets, { id: 'd' }, async ({ signal, stopped }) => {
      isRunning = true
      await stopped.wait()
      await lab.clock.sleep(500)
      isAborted = signal.aborted
      return { done: true }
    })
    const running = await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.until(() => isRunning)
    await settle(lab)
    expect(await stop(running)).toSatisfy((ms: number) => isAbout(lab, ms, 500))
    expect(isAborted).toBe(false)
    expect((await lab.get('one'))['status']).toEqual({ d: { done: true } })
  })
})

test('all daemons end at the same time when the operator stops', async () => {
  const kopf = new Operator()
  let running = 0
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped }) => {
    running += 1
    await stopped.wait()
    await lab.clock.sleep(300)
    running -= 1
  })
  const operator = await lab.start(kopf)
  for (let index = 0; index < 10; index += 1) await lab.create(`n${index}`, { spec: {} })
  await lab.until(() => running === 10)
  await settle(lab)
  expect(await stop(operator)).toSatisfy((ms: number) => isAbout(lab, ms, 300))
  expect(running).toBe(0)
})

test('a write of a daemon that has begun is completed when the operator stops', async () => {
  const kopf = new Operator()
  const wire = lab.record()
  const writing = gate()
  let isWriting = false
  kopf.daemon(lab.widgets, { id: 'd' }, () => ({ done: true }))
  wire.meddle = async ({ path }, send) => {
    if (path.endsWith('/one/status')) {
      isWriting = true
      await writing.opened
    }
    return send()
  }
  const running = await lab.start(kopf, { transport: wire })
  await lab.create('one', { spec: {} })
  await lab.until(() => isWriting)
  const stopping = lab.stop(running)
  await lab.elapse(0.3)
  writing.open()
  await stopping
  expect((await lab.get('one'))['status']).toEqual({ d: { done: true } })
})

test.skipIf(lab.isReal)('an unreachable server does not keep an operator with daemons from stopping', async () => {
  const kopf = new Operator()
  const wire = lab.record()
  let isRunning = false
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped }) => {
    isRunning = true
    await stopped.wait()
    return { last: 'words' }
  })
  const running = await lab.start(kopf, { transport: wire })
  await lab.create('one', { spec: {} })
  await lab.until(() => isRunning)
  await settle(lab)
  wire.meddle = async () => refusal(503)
  expect(await stop(running)).toBeLessThan(10_000)
  expect(lab.logs.filter((line) => line.includes(orphaned))).toHaveLength(1)
  expect(lab.logs.at(-1)).toContain("Daemon 'd' has exited on request")
})
