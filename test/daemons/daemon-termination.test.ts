/** Termination of daemons in stages: stopped, cancelled, orphaned; or polled without a limit. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Operator } from 'kopf'
import { describe, expect, test } from 'vitest'
import { finalizer, settle, useCleanLab } from '../support/handled.ts'
import { gate } from '../support/recording.ts'
import { isAbout, msUntilGone, Stubborn } from './daemon-support.ts'

const lab = useCleanLab()

const orphaned = "Daemon 'd' did not exit in time. Leaving it orphaned."
const gracefully = "Daemon 'd' is signalled to exit gracefully."
const byForce = "Daemon 'd' is signalled to exit by force."
const stillExiting = (seconds: number) => `Daemon 'd' is still exiting. The next check is in ${seconds} seconds.`

function countLogged(text: string): number {
  return lab.logs.filter((line) => line.includes(text)).length
}

async function untilStarted(daemon: Stubborn): Promise<void> {
  await lab.until(() => daemon.isRunning)
  await lab.until(async () => !(await hasNews()))
}

/** Whether the operator still logs: if not, it has processed all events, and only the test causes further ones. */
async function hasNews(): Promise<boolean> {
  const before = lab.logs.length
  await lab.elapse(0.05)
  return lab.logs.length !== before
}

describe('termination with a timeout', () => {
  test.each([
    { cancellationTimeout: 0.4 },
    { cancellationBackoff: 0.3, cancellationTimeout: 0.4 },
    { cancellationBackoff: '300ms', cancellationTimeout: '400ms', cancellationPolling: 0.1 },
    { cancellationBackoff: 0, cancellationTimeout: 0.4 },
    { cancellationBackoff: 0.3, cancellationTimeout: 0 },
    { cancellationTimeout: 0 },
  ] as const)('a stuck daemon is orphaned after its timeouts, and the object is released: %j', async (options) => {
    const kopf = new Operator()
    const daemon = new Stubborn(lab)
    kopf.daemon(lab.widgets, { id: 'd', ...options }, daemon.fn)
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await untilStarted(daemon)
    const backoffMs = 'cancellationBackoff' in options && options.cancellationBackoff !== 0 ? 300 : 0
    const timeoutMs = options.cancellationTimeout === 0 ? 0 : 400
    const deletedMs = lab.clock.now()
    await lab.delete('one')
    const goneMs = await msUntilGone(lab, 'one')
    expect(daemon.reason).toBe('resource-deleted')
    expect(daemon.atMs.stopped! - deletedMs).toSatisfy((ms: number) => isAbout(lab, ms, 0))
    expect(daemon.atMs.cancelled! - deletedMs).toSatisfy((ms: number) => isAbout(lab, ms, backoffMs))
    expect(goneMs).toSatisfy((ms: number) => isAbout(lab, ms, backoffMs + timeoutMs))
    expect(daemon.isRunning).toBe(true)
    expect(lab.logs.filter((line) => line.includes('exit')).map((line) => line.slice(line.indexOf('Daemon')))).toEqual([
      ...('cancellationBackoff' in options ? [gracefully] : []),
      byForce,
      orphaned,
    ])
    daemon.letGo()
    await lab.untilLogged("Daemon 'd' has exited on request and will not be retried or restarted.")
  })
})

describe('termination without a timeout', () => {
  test.each([
    { options: { cancellationPolling: 0.3 }, settings: {}, pollingMs: 300 },
    { options: {}, settings: { cancellationPolling: 0.3 }, pollingMs: 300 },
    { options: { cancellationPolling: '300ms' }, settings: { cancellationPolling: 20 }, pollingMs: 300 },
  ] as const)('a stuck daemon is polled: $options, $settings', async ({ options, settings, pollingMs }) => {
    const kopf = new Operator({ settings: { background: settings } })
    const daemon = new Stubborn(lab)
    kopf.daemon(lab.widgets, { id: 'd', ...options }, daemon.fn)
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await untilStarted(daemon)
    await lab.delete('one')
    await lab.until(() => daemon.atMs.stopped !== undefined)
    await lab.elapse(1)
    const times = countLogged(stillExiting(pollingMs / 1000))
    if (lab.isReal) expect(times).toSatisfy((count: number) => count >= 2 && count <= 5)
    else expect(times).toBe(4)
    expect(daemon.atMs.cancelled).toBeUndefined()
    expect(await lab.exists('one')).toBe(true)
    daemon.letGo()
    await lab.untilGone('one')
    expect(countLogged(orphaned)).toBe(0)
  })

  test.skipIf(lab.isReal)('a stuck daemon without a timeout is logged once a minute', async () => {
    const kopf = new Operator()
    const daemon = new Stubborn(lab)
    kopf.daemon(lab.widgets, { id: 'd', cancellationBackoff: 30 }, daemon.fn)
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await untilStarted(daemon)
    await lab.delete('one')
    await lab.elapse(30 + 3600 * 2)
    expect(countLogged(gracefully)).toBe(1)
    expect(countLogged(stillExiting(60))).toBe(121)
    expect(daemon.atMs.cancelled).toBeUndefined()
    expect((await lab.get('one')).metadata.finalizers).toEqual([finalizer])
    daemon.letGo()
    await lab.untilGone('one')
  })
})

test('a polling interval of zero does not flood the log', async () => {
  const kopf = new Operator({ settings: { background: { cancellationPolling: 0 } } })
  const daemon = new Stubborn(lab)
  kopf.daemon(lab.widgets, { id: 'd' }, daemon.fn)
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilStarted(daemon)
  await lab.delete('one')
  await lab.elapse(1)
  expect(countLogged("Daemon 'd' is still exiting.")).toSatisfy((count: number) => count > 0 && count < 15)
  daemon.letGo()
  await lab.untilGone('one')
})

test('the signal of a daemon is aborted even if it is first read after the cancellation', async () => {
  const kopf = new Operator()
  let args: { readonly signal: AbortSignal } | undefined
  const ending = gate()
  kopf.daemon(lab.widgets, { id: 'd', cancellationTimeout: 60 }, async (given) => {
    args = given
    await ending.opened
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => args !== undefined)
  await lab.delete('one')
  await lab.untilLogged(byForce)
  expect(args!.signal.aborted).toBe(true)
  expect(() => args!.signal.throwIfAborted()).toThrow('There is no more time')
  ending.open()
  await lab.untilGone('one')
})

test('a daemon that ends when it is stopped is neither cancelled nor polled', async () => {
  const kopf = new Operator()
  let isRunning = false
  let isAborted: boolean | undefined
  const options = { id: 'd', cancellationBackoff: 60, cancellationTimeout: 60, cancellationPolling: 60 } as const
  kopf.daemon(lab.widgets, options, async ({ stopped, signal }) => {
    isRunning = true
    await stopped.wait()
    isAborted = signal.aborted
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => isRunning)
  await lab.delete('one')
  expect(await msUntilGone(lab, 'one')).toSatisfy((ms: number) => isAbout(lab, ms, 0))
  expect(isAborted).toBe(false)
  for (const text of [gracefully, byForce, orphaned, 'is still exiting']) expect(countLogged(text)).toBe(0)
})

test('a daemon that ends during its backoff or its timeout releases the object at once', async () => {
  const kopf = new Operator()
  let running = 0
  const options = { cancellationBackoff: 0.4, cancellationTimeout: 20 } as const
  kopf.daemon(lab.widgets, { id: 'd', ...options, labels: { at: 'backoff' } }, async ({ stopped }) => {
    running += 1
    await stopped.wait()
    await lab.clock.sleep(200)
  })
  kopf.daemon(lab.widgets, { id: 'late', ...options, labels: { at: 'cancelling' } }, async ({ signal }) => {
    running += 1
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    await lab.clock.sleep(200)
  })
  await lab.start(kopf)
  await lab.create('one', { metadata: { labels: { at: 'backoff' } } })
  await lab.create('two', { metadata: { labels: { at: 'cancelling' } } })
  await lab.until(() => running === 2)
  await lab.delete('one')
  expect(await msUntilGone(lab, 'one')).toSatisfy((ms: number) => isAbout(lab, ms, 200))
  await lab.delete('two')
  expect(await msUntilGone(lab, 'two')).toSatisfy((ms: number) => isAbout(lab, ms, 600))
  expect(countLogged('did not exit in time')).toBe(0)
})

describe('orphaned daemons', () => {
  test('an orphaned daemon that ends after its object was deleted does not change a new object of the same name', async () => {
    const kopf = new Operator()
    const ending = gate()
    const uids: string[] = []
    const options = { id: 'd', cancellationTimeout: 0.1, labels: { daemon: 'yes' } } as const
    kopf.daemon(lab.widgets, options, async ({ uid, patch }) => {
      uids.push(uid)
      await ending.opened
      patch.metadata.labels['from'] = 'orphan'
      patch.fns.push((body) => {
        body.metadata.annotations = { from: 'orphan' }
      })
      return { from: 'orphan' }
    })
    kopf.on.event(lab.widgets, () => {})
    await lab.start(kopf)
    await lab.create('one', { metadata: { labels: { daemon: 'yes' } } })
    await lab.until(() => uids.length === 1)
    await lab.delete('one')
    await lab.untilGone('one')
    expect(countLogged(orphaned)).toBe(1)
    const successor = await lab.create('one', { spec: {} })
    ending.open()
    await lab.untilLogged("Daemon 'd' has exited on request")
    await settle(lab)
    expect((await lab.get('one')).metadata.resourceVersion).toBe(successor.metadata.resourceVersion)
    expect(uids).toHaveLength(1)
    expect(countLogged('Throttling')).toBe(0)
  })

  test('an orphaned daemon is not joined by a second one: the new one starts after its end', async () => {
    const kopf = new Operator()
    const daemon = new Stubborn(lab)
    kopf.daemon(lab.widgets, { id: 'd', cancellationTimeout: 0.1, annotations: { on: 'yes' } }, daemon.fn)
    await lab.start(kopf)
    await lab.create('one', { metadata: { annotations: { on: 'yes' } } })
    await untilStarted(daemon)
    await lab.patch('one', { metadata: { annotations: { on: 'no' } } })
    await lab.untilLogged(orphaned)
    await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
    expect(daemon.reason).toBe('filters-mismatch')
    await lab.patch('one', { metadata: { annotations: { on: 'yes' } } })
    await lab.untilObject('one', ({ metadata }) => metadata.finalizers?.length === 1)
    await settle(lab)
    expect(daemon.calls).toBe(1)
    daemon.letGo()
    await lab.until(() => daemon.calls === 2)
    await settle(lab)
    expect(daemon.most).toBe(1)
    expect(daemon.isRunning).toBe(true)
    await lab.delete('one')
    await lab.untilGone('one')
  })
})

describe('instant exit', () => {
  const late = 'Deletion is processed: 1 succeeded; 0 failed.'

  /** The number of writes of a deletion whose daemon ends after these turns of the event loop or milliseconds. */
  async function writesOf(background: object, toEnd: () => Promise<unknown>): Promise<number> {
    const kopf = new Operator({ settings: { background } })
    let isRunning = false
    kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped }) => {
      isRunning = true
      await stopped.wait()
      await toEnd()
    })
    kopf.on.delete(lab.widgets, { id: 'cleanup' }, () => {})
    const wire = lab.record()
    const running = await lab.start(kopf, { transport: wire })
    await lab.create('one', { spec: {} })
    await lab.until(() => isRunning)
    await settle(lab)
    wire.requests.length = 0
    await lab.delete('one')
    await lab.untilGone('one')
    await lab.untilLogged(late)
    await lab.stop(running)
    return wire.writes().length
  }

  const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }

  test('a daemon that ends within instantExitZeroTimeCycles costs no extra write for the deletion', async () => {
    expect(await writesOf({}, () => turns(5))).toBe(1)
    expect(await writesOf({ instantExitZeroTimeCycles: 3 }, () => turns(5))).toBe(2)
    expect(await writesOf({ instantExitZeroTimeCycles: 20 }, () => turns(15))).toBe(1)
    expect(await writesOf({ instantExitZeroTimeCycles: 0 }, () => turns(5))).toBe(2)
    expect(await writesOf({ instantExitZeroTimeCycles: null }, () => turns(5))).toBe(2)
  })

  test('a daemon that ends within instantExitTimeout costs no extra write for the deletion', async () => {
    expect(await writesOf({ instantExitTimeout: 0.5 }, () => lab.clock.sleep(200))).toBe(1)
    expect(await writesOf({ instantExitTimeout: '100ms' }, () => lab.clock.sleep(300))).toBe(2)
    expect(await writesOf({ instantExitTimeout: 0 }, () => lab.clock.sleep(100))).toBe(2)
  })

  test('the instant exit of a daemon is awaited once, however often the object changes meanwhile', async () => {
    const kopf = new Operator({ settings: { background: { instantExitTimeout: 0.5 } } })
    const daemon = new Stubborn(lab)
    const seen: number[] = []
    kopf.daemon(lab.widgets, { id: 'd' }, daemon.fn)
    kopf.on.delete(lab.widgets, { id: 'cleanup' }, () => {})
    kopf.on.event(lab.widgets, { id: 'spy' }, ({ spec }) => void seen.push(spec['n'] as number))
    await lab.start(kopf)
    await lab.create('one', { spec: { n: 0 } })
    await untilStarted(daemon)
    await lab.delete('one')
    await lab.untilLogged(late)
    for (const n of [1, 2, 3]) {
      await lab.patch('one', { spec: { n } })
      await lab.elapse(0.2)
      expect(seen).toContain(n)
    }
    daemon.letGo()
    await lab.untilGone('one')
  })
})

describe('errors after the stop', () => {
  test('an AbortError of a stopped daemon is not logged as an error', async () => {
    const kopf = new Operator()
    let running = 0
    const options = { cancellationBackoff: 0.1, cancellationTimeout: 20 } as const
    const start = (fn: (given: { stopped: AbortSignal; signal: AbortSignal }) => unknown) => {
      running += 1
      kopf.daemon(lab.widgets, { ...options, id: `d${running}` }, async ({ stopped, signal }) => {
        running -= 1
        await fn({ stopped: stopped.signal, signal })
      })
    }
    const later = { ref: false }
    start(({ stopped }) => sleep(100_000, undefined, { ...later, signal: stopped }))
    start(({ signal }) => sleep(100_000, undefined, { ...later, signal }))
    start(({ stopped }) => new Promise((_, reject) => stopped.addEventListener('abort', () => reject(stopped.reason))))
    start(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      signal.throwIfAborted()
    })
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.until(() => running === 0)
    await lab.delete('one')
    await lab.untilGone('one')
    for (const id of ['d1', 'd2', 'd3', 'd4']) expect(countLogged(`Daemon '${id}' is cancelled.`)).toBe(1)
    expect(lab.logs.filter((line) => /fail|error/i.test(line))).toEqual([])
  })

  test('any other error of a stopped daemon is logged, and not retried', async () => {
    const kopf = new Operator()
    let calls = 0
    kopf.daemon(lab.widgets, { id: 'd', backoff: 0.1 }, async ({ stopped }) => {
      calls += 1
      await stopped.wait()
      throw new Error('Cannot hang up')
    })
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.until(() => calls === 1)
    await lab.delete('one')
    await lab.untilGone('one')
    expect(countLogged("Daemon 'd' failed with an exception")).toBe(1)
    expect(countLogged('Cannot hang up')).toBe(1)
    await settle(lab)
    expect(calls).toBe(1)
  })

  test('an AbortError of a daemon that is not stopped is an error', async () => {
    const kopf = new Operator()
    let calls = 0
    kopf.daemon(lab.widgets, { id: 'd', backoff: 0.1 }, async ({ stopped }) => {
      calls += 1
      if (calls === 1) await sleep(100_000, undefined, { signal: AbortSignal.abort() })
      await stopped.wait()
    })
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.until(() => calls === 2)
    expect(countLogged("Daemon 'd' failed with an exception and will try again in 0.1 seconds")).toBe(1)
  })
})
