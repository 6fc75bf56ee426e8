/** Start and stop of an operator. */
import { once } from 'node:events'
import { type Observer, Operator, PermanentError, type RunningOperator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { progressOf, settle, untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

/** The result or error of a promise, while the clock of the lab advances. */
async function outcome(promise: Promise<unknown>): Promise<unknown> {
  let result: { value: unknown } | undefined
  promise.then(
    (value) => {
      result = { value }
    },
    (error: unknown) => {
      result = { value: error }
    },
  )
  await lab.until(() => result !== undefined)
  return result!.value
}

test('startup handlers finish before the first request, and their settings are used', async () => {
  const order: string[] = []
  const wire = lab.record()
  const kopf = new Operator()
  kopf.on.startup({ id: 'first' }, async ({ settings, retry }) => {
    await lab.clock.sleep(50)
    order.push(`first ${retry} ${wire.requests.length}`)
    settings.persistence.finalizer = 'example.com/ours'
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.1 })
  })
  kopf.on.startup({ id: 'second' }, () => void order.push(`second ${wire.requests.length}`))
  kopf.on.delete(lab.widgets, { id: 'd' }, () => {})
  const starting = kopf.start({
    namespaces: [lab.namespace],
    clock: lab.clock,
    transport: wire,
    logging: { debug() {}, info() {}, warn() {}, error() {} } as never,
  })
  const running = (await outcome(starting)) as RunningOperator
  try {
    expect([...order].sort()).toEqual(['first 0 0', 'first 1 0', 'second 0'])
    await outcome(running.ready)
    await lab.create('one')
    const body = await lab.untilObject('one', ({ metadata }) => metadata.finalizers !== undefined)
    expect(body.metadata.finalizers).toEqual(['example.com/ours'])
  } finally {
    await outcome(running.stop())
  }
})

test('start rejects with the error of a failed startup handler, without a request to the cluster', async () => {
  const wire = lab.record()
  const kopf = new Operator()
  const cleaned: string[] = []
  kopf.on.startup({ id: 'broken' }, () => {
    throw new PermanentError('no database')
  })
  kopf.on.cleanup(() => void cleaned.push('cleanup'))
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  const error = await outcome(lab.start(kopf, { transport: wire }))
  expect(error).toBeInstanceOf(Error)
  expect(String(error)).toContain('no database')
  expect(wire.requests).toEqual([])
  expect(cleaned).toEqual(['cleanup'])
})

test('run() with a failed startup handler leaves no signal listeners behind', async () => {
  const kopf = new Operator()
  kopf.on.startup(() => {
    throw new PermanentError('no database')
  })
  const before = process.listenerCount('SIGTERM')
  await expect(kopf.run({ transport: lab.record(), clock: lab.clock })).rejects.toThrow('no database')
  expect(process.listenerCount('SIGTERM')).toBe(before)
})

test('a stop waits for running handlers, writes their results, and runs cleanup handlers last', async () => {
  const order: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'slow' }, async ({ signal }) => {
    order.push('begins')
    await lab.clock.sleep(500)
    order.push(`ends ${signal.aborted}`)
    return 'finished'
  })
  kopf.on.create(lab.widgets, { id: 'next' }, () => void order.push('next'))
  kopf.on.cleanup(() => void order.push('cleanup'))
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => order.length === 1)
  await lab.stop(running)
  expect(order).toEqual(['begins', 'ends false', 'cleanup'])
  const body = await lab.get('one')
  expect(body['status']).toEqual({ slow: 'finished' })
  expect(progressOf(body, 'slow')).toMatchObject({ success: true })
  expect(progressOf(body, 'next')).toMatchObject({ success: false, failure: false })
  await lab.start(kopf)
  await untilHandled(lab, 'one')
  expect(order).toEqual(['begins', 'ends false', 'cleanup', 'next'])
})

test('a handler that exceeds exitTimeout is aborted by its signal, and its patch is written', async () => {
  const kopf = new Operator({ settings: { queueing: { exitTimeout: 0.3 } } })
  const order: string[] = []
  kopf.on.create(lab.widgets, { id: 'endless' }, async ({ signal }) => {
    order.push('begins')
    await lab.clock.sleep(3_000_000, signal).catch(() => {})
    order.push(`aborted ${signal.aborted}`)
    throw new TemporaryError('interrupted', { delay: 0 })
  })
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => order.length === 1)
  await lab.stop(running)
  expect(order).toEqual(['begins', 'aborted true'])
  expect(progressOf(await lab.get('one'), 'endless')).toMatchObject({ retries: 1, message: 'interrupted' })
})

test.each([
  ['an API that accepts it', (signal: AbortSignal) => once(new EventTarget(), 'never', { signal })],
  ['throwIfAborted', (signal: AbortSignal) => lab.clock.sleep(3_000_000, signal).catch(() => signal.throwIfAborted())],
])('a handler that is aborted via %s has not failed, and uses up no retry', async (_, wait) => {
  const kopf = new Operator({ settings: { queueing: { exitTimeout: 0.2 } } })
  const calls: number[] = []
  kopf.on.create(lab.widgets, { id: 'fn', errors: 'permanent', retries: 1 }, async ({ signal, retry, patch }) => {
    calls.push(retry)
    patch.status['calls'] = calls.length
    if (calls.length === 1) await wait(signal)
  })
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => calls.length === 1)
  await lab.stop(running)
  const stopped = await lab.get('one')
  expect(stopped['status']).toEqual({ calls: 1 })
  expect(progressOf(stopped, 'fn')).toMatchObject({ success: false, failure: false, retries: 0 })
  await lab.start(kopf)
  const { status } = await untilHandled(lab, 'one')
  expect(status).toEqual({ calls: 2 })
  expect(calls).toEqual([0, 0])
})

test('a handler that never returns does not keep the operator from stopping', async () => {
  const kopf = new Operator({ settings: { queueing: { exitTimeout: 0.2 } } })
  let begun = false
  kopf.on.create(lab.widgets, { id: 'lost' }, () => {
    begun = true
    return new Promise(() => {})
  })
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => begun)
  await lab.stop(running)
  expect(progressOf(await lab.get('one'), 'lost')).toBeUndefined()
})

test('a stop logs the handlers that it waits for and those that it abandons, with their objects', async () => {
  const kopf = new Operator({ settings: { queueing: { exitTimeout: 0.2 } } })
  const begun: string[] = []
  kopf.on.create(lab.widgets, { id: 'lost' }, async ({ name, signal }) => {
    begun.push(name)
    if (name === 'quick') await lab.clock.sleep(50, signal)
    else await new Promise(() => {})
  })
  const cutOff: string[] = []
  const observer: Observer = {
    handlerCutOff: ({ handler, object }) => void cutOff.push(`${handler.type} ${handler.id} of ${object?.name}`),
  }
  const running = await lab.start(kopf, { observer, stopHint: 'Ctrl-C again to end at once' })
  for (const name of ['quick', 'slow-1', 'slow-2']) await lab.create(name, { spec: {} })
  await lab.until(() => begun.length === 3)
  const since = lab.logs.length
  await lab.stop(running)
  const logs = lab.logs.slice(since)
  expect(logs.filter((line) => line.includes('Stopping: '))).toEqual([
    expect.stringMatching(
      /Stopping: [23] handlers at work, at most 0\.2 s; Ctrl-C again to end at once\. Waiting for Handler 'lost' \([23]\)\.$/,
    ),
  ])
  const cut = logs.filter((line) => line.includes('is cut off'))
  const why = 'it has not ended within 0.2 seconds of the stop (settings.queueing.exitTimeout).'
  expect(cut.sort()).toEqual(
    ['slow-1', 'slow-2'].map((name) => `[${lab.namespace}/${name}] Handler 'lost' is cut off: ${why}`),
  )
  expect(cutOff.sort()).toEqual(['create lost of slow-1', 'create lost of slow-2'])
})

test.each([
  ['has the time that the last steps leave', {}, '5 seconds of the stop (the grace period is 10 seconds)'],
  ['is not longer than that', { exitTimeout: 300 }, '5 seconds of the stop (the grace period is 10 seconds)'],
  ['can be shorter', { exitTimeout: 0.2 }, '0.2 seconds of the stop (settings.queueing.exitTimeout)'],
])('a handler at work in a stop with a grace period %s', async (_, queueing, expected) => {
  const kopf = new Operator({ settings: { process: { gracePeriod: 10 }, queueing } })
  let begun = false
  kopf.on.create(lab.widgets, { id: 'lost' }, () => {
    begun = true
    return new Promise(() => {})
  })
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => begun)
  await lab.stop(running)
  const cut = lab.logs.filter((line) => line.includes('is cut off'))
  expect(cut).toEqual([`[${lab.namespace}/one] Handler 'lost' is cut off: it has not ended within ${expected}.`])
})

test('a stop without running handlers logs nothing about handlers', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'done' }, () => {})
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  const since = lab.logs.length
  await lab.stop(running)
  expect(lab.logs.slice(since).filter((line) => /Stopping:|cut off/.test(line))).toEqual([])
})

test('a stopped operator handles no object and sends no request', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, ({ name }) => void calls.push(name))
  const wire = lab.record()
  const running = await lab.start(kopf, { transport: wire })
  await lab.stop(running)
  await running.done
  const { length } = wire.requests
  await lab.create('late')
  await settle(lab)
  expect(calls).toEqual([])
  expect(wire.requests).toHaveLength(length)
  await running.stop()
})

test('an operator is stopped by its signal', async () => {
  const cleaned: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  kopf.on.cleanup(() => void cleaned.push('cleanup'))
  const controller = new AbortController()
  const running = await lab.start(kopf, { signal: controller.signal })
  controller.abort()
  await outcome(running.done)
  expect(cleaned).toEqual(['cleanup'])
})

test.skipIf(lab.isReal)('a stopped operator leaves no timer and no watch behind', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, ({ retry }) => {
    if (retry === 0) throw new TemporaryError('later', { delay: 3600 })
  })
  kopf.on.delete(lab.widgets, { id: 'd' }, () => {})
  kopf.on.event(lab.widgets, () => {})
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', (body) => progressOf(body, 'c') !== undefined)
  await lab.stop(running)
  await lab.elapse(0)
  expect(lab.skippingClock.sleeping).toBe(0)
  expect(lab.server.openWatches).toBe(0)
})

test('cleanup handlers can use the client after all other handlers have ended', async () => {
  const kopf = new Operator()
  const found: unknown[] = []
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  kopf.on.cleanup(async ({ client }) => {
    const [group, version, plural] = lab.widgets
    const all = await client.list({ group, version, plural }, { namespace: lab.namespace })
    found.push(all.some(({ metadata }) => metadata.name === 'left-behind'))
  })
  const running = await lab.start(kopf)
  await lab.create('left-behind')
  await lab.stop(running)
  expect(found).toEqual([true])
})

test('pending Kubernetes events are posted before the operator has ended', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'last-words' }, ({ recorder }) =>
    recorder.info('Parting', 'these are the last words'),
  )
  const running = await lab.start(kopf)
  await lab.create('parting')
  await lab.untilLogged("Handler 'last-words' succeeded")
  await lab.stop(running)
  const { body } = await lab.call('GET', `/api/v1/namespaces/${lab.namespace}/events`)
  const events = (body as unknown as { items: { reason: string; message: string }[] }).items
  expect(events.filter(({ reason }) => reason === 'Parting').map(({ message }) => message)).toEqual([
    'these are the last words',
  ])
})
