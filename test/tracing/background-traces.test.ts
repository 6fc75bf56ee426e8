/** The traces of daemons, timers and handlers in worker threads. */
import { trace } from '@opentelemetry/api'
import { inWorker, Operator, PermanentError } from 'kopf'
import { expect, test } from 'vitest'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { useTraces } from './traces.ts'

const lab = useCleanLab()
const traces = useTraces()

const objectPatch = 'PATCH /apis/example.com/v1/namespaces/{namespace}/widgets/{name}'
const author = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const annotations = { 'tracing.k8s.io/traceparent': `00-${author.traceId}-${author.spanId}-00` }

test('each call of a timer is a trace of its own, with the write of its patch and the link to the author of the object', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.timer(lab.widgets, { id: 't', interval: 0.2 }, ({ patch }) => {
    calls += 1
    patch.status.calls = calls
  })
  await lab.start(kopf)
  await lab.create('a', { metadata: { annotations } })
  await lab.untilObject('a', ({ status }) => Number((status as { calls?: number } | undefined)?.calls) >= 2)
  const timers = traces.roots.filter(({ name }) => name === 'timer t')
  expect(traces.tree(lab, timers.slice(0, 2))).toEqual([
    'timer t',
    `  ${objectPatch}/status`,
    'timer t',
    `  ${objectPatch}/status`,
  ])
  expect(timers[0]!.spanContext().traceId).not.toBe(timers[1]!.spanContext().traceId)
  expect(timers[0]!.links).toMatchObject([{ context: author }])
  expect(timers[0]!.attributes).toMatchObject({
    'kopf.handler.id': 't',
    'kopf.handler.type': 'timer',
    'kopf.object.name': 'a',
    'kopf.outcome': 'succeeded',
  })
})

test('the requests of a daemon are traces of their own, with a link to the span of its call', async () => {
  const kopf = new Operator()
  let rounds = 0
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ client, stopped }) => {
    while (!stopped.isSet()) {
      await client.list('configmaps')
      rounds += 1
      await stopped.wait(0.1)
    }
  })
  await lab.start(kopf)
  await lab.create('a', { metadata: { annotations } })
  await lab.cluster.until(() => rounds >= 2)
  await lab.stopAll()
  const call = traces.span('daemon d')
  expect(call.parentSpanContext).toBeUndefined()
  expect(call.links).toMatchObject([{ context: author }])
  const requests = traces.roots.filter(({ name }) => name === 'GET /api/v1/namespaces/{namespace}/configmaps')
  expect(requests.length).toBeGreaterThanOrEqual(2)
  const [first, second] = requests
  expect(first!.spanContext().traceId).not.toBe(second!.spanContext().traceId)
  expect(first!.links).toMatchObject([{ context: call.spanContext() }, { context: author }])
})

test('a span of the user in a daemon is a trace of its own, with its requests below', async () => {
  const kopf = new Operator()
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ client }) => {
    await trace.getTracer('user').startActiveSpan('round', async (span) => {
      await client.list('configmaps')
      span.end()
    })
    throw new PermanentError('No more')
  })
  await lab.start(kopf)
  await lab.create('a')
  await lab.cluster.until(() => traces.names.includes('daemon d'))
  const [round] = traces.roots.filter(({ name }) => name === 'round')
  expect(traces.tree(lab, [round!]).at(-1)).toBe('  GET /api/v1/namespaces/{namespace}/configmaps')
  expect(traces.span('daemon d').status).toEqual({ code: 2, message: 'No more' })
})

test('a daemon is started outside of the trace of the processing', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  const initialDelay = () => {
    seen.push(trace.getActiveSpan())
    return 0
  }
  kopf.daemon(lab.widgets, { id: 'd', initialDelay }, () => {})
  await lab.start(kopf)
  await lab.create('a')
  await lab.cluster.until(() => traces.names.includes('daemon d'))
  expect(seen).toEqual([undefined])
})

test('a handler in a worker thread has a span, and its log lines have the ids of that span', async () => {
  const kopf = new Operator({ settings: { execution: { maxWorkers: 1 } } })
  const heavy = inWorker(new URL('../handlers/workers/handlers.ts', import.meta.url), { name: 'compute' })
  const called = Object.defineProperty((args: object) => lab.outside(heavy(args)), 'name', { value: 'compute' })
  kopf.on.create(lab.widgets, called)
  const begins: (string | undefined)[] = []
  const log = ({ message }: { readonly message: string }) => {
    if (message === 'begins') begins.push(trace.getActiveSpan()?.spanContext().spanId)
  }
  await lab.start(kopf, { logging: { minimumLevel: 'info', log } })
  // One thread runs both calls.
  for (const name of ['a', 'b']) {
    await lab.create(name, { spec: { size: 2 }, metadata: { labels: { app: 'web' } } })
    await untilHandled(lab, name)
  }
  await settle(lab)
  const calls = traces.spans.filter(({ name }) => name === 'create compute')
  expect(calls).toHaveLength(2)
  expect(begins).toEqual(calls.map((span) => span.spanContext().spanId))
})
