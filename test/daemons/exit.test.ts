/** When the operator stops: daemons are told, given their time, and the objects are left as they are for the next process. */
import { Operator, type RunningOperator, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { finalizer, settle, useCleanLab } from '../support/handled.ts'
import { gate, refusal } from '../support/recording.ts'
import { isAbout, Stubborn } from './support.ts'

const lab = useCleanLab()

const orphaned = "Daemon 'd' did not exit in time. Leaving it orphaned."

/** How long it took, in milliseconds. */
async function stop(running: RunningOperator): Promise<number> {
  const sinceMs = lab.clock.now()
  await lab.stop(running)
  return lab.clock.now() - sinceMs
}

async function expectKept(): Promise<void> {
  expect((await lab.get('one')).metadata).toMatchObject({ finalizers: [finalizer] })
}

test('before it was ever called: it is not, and the next process begins its delay anew', async () => {
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

test('while it runs: it is told why, its last words are written, and the next process starts it again', async () => {
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

test('while it waits for its next attempt: there is none, and the next process begins with the first', async () => {
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

test('while it is tried again without a pause', async () => {
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

describe('while it ends for a deletion', () => {
  test('it is told of the new reason, and the next process lets the object go', async () => {
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

  test('what is left of its time is all that it gets', async () => {
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
    'one that ignores everything gets five seconds, and one more (both are skipped)',
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

describe('one that takes its time', () => {
  const cases = [
    { options: { cancellationTimeout: 0.3 }, cancelledMs: 0, endMs: 300 },
    { options: { cancellationBackoff: 0.2, cancellationTimeout: 0.3 }, cancelledMs: 200, endMs: 500 },
    { options: { cancellationTimeout: 0 }, cancelledMs: 0, endMs: 0 },
  ] as const

  test.each(cases)('is given what it asked for: $options', async ({ options, cancelledMs, endMs }) => {
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

  test.skipIf(lab.isReal)(
    'and asked for nothing gets five seconds, then one more, after its backoff (all are skipped)',
    async () => {
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
    },
  )

  test.skipIf(lab.isReal)(
    'and ends when it is cancelled after five seconds, is no orphan (they are skipped)',
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

  test('is not cancelled if it needs less than that', async () => {
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

test('all of them end at the same time, not one after the other', async () => {
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

test('what is being written is written to the end', async () => {
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

test.skipIf(lab.isReal)(
  'a server that is away does not keep the operator from stopping (the time is skipped)',
  async () => {
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
  },
)
