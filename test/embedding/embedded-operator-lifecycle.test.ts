/** Start and stop of an operator inside a program, its promises, and its restart. */
import { getEventListeners, once } from 'node:events'
import { defineResource, Operator, PermanentError, TemporaryError } from 'kopf'
import { startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import type { Transport } from '../../src/util/transport.ts'
import { realOrNot } from '../testing/real-or-embedded.ts'

const Widget = defineResource({ group: 'embedding.example.com', version: 'v1', kind: 'Widget' })
const real = realOrNot()

function createOperator(): { kopf: Operator; ends: string[] } {
  const ends: string[] = []
  const kopf = new Operator()
  kopf.on.create(Widget, () => {})
  kopf.on.cleanup(() => void ends.push('cleaned'))
  return { kopf, ends }
}

test('an operator is stopped by its signal, and removes its listener from the signal', async () => {
  await using cluster = await startCluster({ resources: [Widget], real })
  const { kopf, ends } = createOperator()
  const controller = new AbortController()
  const { signal } = controller
  const running = await kopf.start({ ...cluster, signal })
  await running.ready
  controller.abort()
  await running.done
  expect(ends).toEqual(['cleaned'])
  expect(running.stopping.aborted).toBe(true)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('an operator that was stopped by stop() removes its listener from the signal', async () => {
  await using cluster = await startCluster({ resources: [Widget], real })
  const { kopf } = createOperator()
  const { signal } = new AbortController()
  const running = await kopf.start({ ...cluster, signal })
  await running.stop()
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('an operator whose signal is aborted during the startup does not start', async () => {
  await using cluster = await startCluster({ resources: [Widget], real })
  const { kopf, ends } = createOperator()
  const controller = new AbortController()
  kopf.on.startup(() => {
    queueMicrotask(() => controller.abort())
    throw new TemporaryError('Not yet', { delay: '1h' })
  })
  await expect(kopf.start({ ...cluster, signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' })
  expect(ends).toEqual(['cleaned'])
})

test('an operator whose signal is already aborted does not start, and sends no request', async () => {
  await using cluster = await startCluster({ resources: [Widget], real })
  const { kopf } = createOperator()
  let requests = 0
  const transport = {
    send: () => {
      requests += 1
      return Promise.reject(new Error('nobody is to ask'))
    },
  }
  await expect(kopf.start({ ...cluster, transport, signal: AbortSignal.abort() })).rejects.toMatchObject({
    name: 'AbortError',
  })
  expect(requests).toBe(0)
})

test('ready resolves when all existing objects were seen', async () => {
  await using cluster = await startCluster({ resources: [Widget], real })
  const { kopf } = createOperator()
  const seen: string[] = []
  kopf.index(Widget, ({ name }) => void seen.push(name))
  for (const name of ['a', 'b', 'c']) await cluster.create(Widget, { name })
  await using running = await kopf.start(cluster)
  await running.ready
  expect(seen.toSorted()).toEqual(['a', 'b', 'c'])
})

test('ready rejects if the operator is stopped before', async () => {
  await using cluster = await startCluster({ resources: [Widget], real })
  const { kopf } = createOperator()
  // A cluster that never answers.
  const transport: Transport = { send: (_, signal) => untilAborted(signal!) }
  const running = await kopf.start({ ...cluster, transport })
  const ready = running.ready.catch((error: unknown) => error)
  await running.stop()
  expect(await ready).toMatchObject({ code: 'KOPF_STOPPED' })
  await running.done
})

test('ready and done reject with the reason if the operator fails', async () => {
  await using cluster = await startCluster({ resources: [Widget], real })
  const { kopf, ends } = createOperator()
  const body = JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 403, reason: 'Forbidden' })
  const transport = {
    send: async () => ({ status: 403, headers: { 'content-type': 'application/json' }, body: streamOf(body) }),
  }
  const running = await kopf.start({ ...cluster, transport })
  await expect(running.ready).rejects.toThrow('403')
  await expect(running.done).rejects.toThrow('403')
  expect(ends).toEqual(['cleaned'])
})

async function untilAborted(signal: AbortSignal): Promise<never> {
  signal.throwIfAborted()
  await once(signal, 'abort')
  throw signal.reason
}

async function* streamOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

test('done and stop reject if a cleanup handler fails', async () => {
  await using cluster = await startCluster({ resources: [Widget], real })
  const { kopf } = createOperator()
  kopf.on.cleanup(() => {
    throw new PermanentError('Stuck')
  })
  const running = await kopf.start(cluster)
  await expect(running.stop()).rejects.toThrow('Stuck')
  await expect(running.done).rejects.toThrow('Stuck')
})

test('stop called twice runs the cleanup once', async () => {
  await using cluster = await startCluster({ resources: [Widget], real })
  const { kopf, ends } = createOperator()
  const running = await kopf.start(cluster)
  await Promise.all([running.stop(), running.stop(), running[Symbol.asyncDispose]()])
  expect(ends).toEqual(['cleaned'])
})

test('an operator that is started again has a new memo and empty indices', async () => {
  await using cluster = await startCluster({ resources: [Widget], real })
  const kopf = new Operator({ memo: () => ({ lives: 0 }) })
  const calls: string[] = []
  const names = kopf.index(Widget, ({ name }) => [['all', name]])
  kopf.on.startup(({ memo }) => {
    memo.lives += 1
    calls.push(`life ${memo.lives}`)
  })
  kopf.on.create(Widget, ({ name, memo }) => void calls.push(`created ${name} in life ${memo.lives}`))
  kopf.on.resume(Widget, ({ name, memo }) => void calls.push(`resumed ${name} in life ${memo.lives}`))
  for (const name of ['a', 'b']) {
    const running = await kopf.start(cluster)
    await cluster.create(Widget, { name })
    await cluster.until(Widget, name, ({ metadata }) => metadata.annotations !== undefined)
    await running.stop()
    expect([...names.keys()]).toEqual([])
  }
  expect(calls).toEqual(['life 1', 'created a in life 1', 'life 1', expect.any(String), expect.any(String)])
  expect(calls.slice(3).toSorted()).toEqual(['created b in life 1', 'resumed a in life 1'])
})

test('an operator leaves no process listeners and no unhandled rejections behind', async () => {
  const unheard: unknown[] = []
  const hear = (error: unknown) => void unheard.push(error)
  process.on('unhandledRejection', hear)
  const before = listeners()
  {
    await using cluster = await startCluster({ resources: [Widget], real })
    const { kopf } = createOperator()
    kopf.daemon(Widget, async ({ stopped }) => void (await stopped.wait()))
    await using running = await kopf.start(cluster)
    await running.ready
    await cluster.create(Widget, { name: 'w' })
    await cluster.until(Widget, 'w', ({ metadata }) => metadata.finalizers?.length === 1)
    expect(listeners()).toEqual(before)
  }
  expect(listeners()).toEqual(before)
  process.off('unhandledRejection', hear)
  expect(unheard).toEqual([])
})

function listeners(): Record<string, number> {
  return Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)]))
}
