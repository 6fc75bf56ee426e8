/** The traces of the processing of objects: their trees, attributes and links. */
import { context, SpanKind, trace } from '@opentelemetry/api'
import { Operator, PermanentError, type RunningOperator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { refusal } from '../support/recording.ts'
import { useTraces } from './traces.ts'

const lab = useCleanLab()
const traces = useTraces()

async function startAndHandle(kopf: Operator, name: string): Promise<RunningOperator> {
  const running = await lab.start(kopf)
  await untilHandled(lab, name)
  await settle(lab)
  return running
}

const objectPatch = 'PATCH /apis/example.com/v1/namespaces/{namespace}/widgets/{name}'

test('the trace of a creation has the handler, and the request that writes the result', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'provision' }, () => {})
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  expect(traces.tree(lab)).toEqual(['create widgets.example.com', '  create provision', `  ${objectPatch}`])
})

test('the root span names the object, and the request span its target', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'provision' }, () => {})
  await lab.start(kopf)
  const { metadata } = await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  expect(traces.span('create widgets')).toMatchObject({
    kind: SpanKind.INTERNAL,
    links: [],
    attributes: {
      'kopf.resource': `widgets.v1.${lab.group}`,
      'k8s.namespace.name': lab.namespace,
      'kopf.object.name': 'a',
      'kopf.object.uid': metadata.uid,
      'kopf.reason': 'create',
      'kopf.retry': 0,
    },
  })
  expect(traces.span('create provision')).toMatchObject({
    kind: SpanKind.INTERNAL,
    attributes: {
      'kopf.handler.id': 'provision',
      'kopf.handler.type': 'create',
      'kopf.retry': 0,
      'kopf.outcome': 'succeeded',
    },
  })
  const request = traces.span('PATCH')
  expect(request).toMatchObject({
    kind: SpanKind.CLIENT,
    attributes: {
      'http.request.method': 'PATCH',
      'http.response.status_code': 200,
      'url.template': `/apis/${lab.group}/v1/namespaces/{namespace}/widgets/{name}`,
    },
  })
  if (lab.isReal) {
    expect(request.attributes['server.address']).toMatch(/./)
    expect(request.attributes['url.full']).toMatch(new RegExp(`^https://.*${lab.path('a')}$`))
  } else expect(request.attributes['url.path']).toBe(lab.path('a'))
})

test('each attempt of a failing handler has a trace of its own, with the error and the number of the attempt', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'provision' }, ({ retry }) => {
    if (retry === 0) throw new TemporaryError('The disk is not ready', { delay: 0.1 })
  })
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  expect(traces.tree(lab)).toEqual([
    'create widgets.example.com !',
    '  create provision !',
    `  ${objectPatch}`,
    'create widgets.example.com',
    '  create provision',
    `  ${objectPatch}`,
  ])
  const [first, second] = traces.roots
  expect(first!.attributes['kopf.retry']).toBe(0)
  expect(second!.attributes['kopf.retry']).toBe(1)
  const failed = traces.span('create provision')
  expect(failed.attributes).toMatchObject({
    'kopf.outcome': 'retrying',
    'kopf.retry_delay': 0.1,
    'error.type': 'TemporaryError',
  })
  expect(failed.status.message).toBe('The disk is not ready')
  const [exception] = failed.events
  expect(exception!.attributes).toEqual({
    'exception.type': 'TemporaryError',
    'exception.message': 'The disk is not ready',
  })
})

test('the span of a handler that fails unexpectedly has the stack trace of the error', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'provision', errors: 'permanent' }, () => {
    throw new RangeError('Out of luck')
  })
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  const [exception] = traces.span('create provision').events
  expect(exception!.attributes!['exception.stacktrace']).toMatch(/^RangeError: Out of luck\n +at .*object-traces/)
})

test('an update, a resume and a deletion are named by their reasons', async () => {
  const kopf = new Operator()
  kopf.on.resume(lab.widgets, { id: 'r' }, () => {})
  kopf.on.update(lab.widgets, { id: 'u' }, () => {})
  kopf.on.delete(lab.widgets, { id: 'd' }, () => {})
  await lab.create('a', { spec: { size: 1 } })
  await lab.stop(await startAndHandle(kopf, 'a'))
  traces.reset()
  await startAndHandle(kopf, 'a')
  await lab.patch('a', { spec: { size: 2 } })
  await untilHandled(lab, 'a')
  await settle(lab)
  await lab.delete('a')
  await lab.untilGone('a')
  await settle(lab)
  const handlers = traces.tree(lab).filter((line) => !line.includes(objectPatch))
  expect(handlers).toEqual([
    'resume widgets.example.com',
    '  resume r',
    'update widgets.example.com',
    '  update u',
    'delete widgets.example.com',
    '  delete d',
  ])
})

test('a trace with only the finalizer is named after it', async () => {
  const kopf = new Operator()
  kopf.daemon(lab.widgets, { id: 'd', initialDelay: '1h' }, () => {})
  await lab.start(kopf)
  await lab.create('a')
  await lab.untilObject('a', ({ metadata }) => (metadata.finalizers ?? []).length > 0)
  await settle(lab)
  expect(traces.tree(lab)).toEqual(['add-finalizer widgets.example.com', `  ${objectPatch}`])
})

test('processing that does nothing has no trace: neither a start with handled objects, nor the echoes of own writes', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  kopf.on.update(lab.widgets, { id: 'u', field: 'spec.size' }, () => {})
  const running = await lab.start(kopf)
  await lab.create('a', { spec: { size: 1 } })
  await untilHandled(lab, 'a')
  await settle(lab)
  await lab.stop(running)
  traces.reset()
  await lab.start(kopf)
  await lab.patch('a', { metadata: { managedFields: [{}] } })
  await settle(lab)
  expect(traces.names).toEqual([])
})

test('event handlers are a part of the trace of the processing, which is named after them if nothing else happens', async () => {
  const kopf = new Operator()
  kopf.on.event(lab.widgets, { id: 'e' }, () => {})
  await lab.start(kopf)
  await lab.create('a')
  await settle(lab)
  expect(traces.tree(lab)).toEqual(['event widgets.example.com', '  event e'])
})

test('index handlers and the first list have no spans', async () => {
  const kopf = new Operator()
  kopf.index(lab.widgets, { id: 'i' }, ({ name }) => [[name, 1]])
  await lab.create('a')
  await lab.start(kopf)
  await lab.create('b')
  await settle(lab)
  expect(traces.names).toEqual([])
})

test('sub-handlers are children of their parent, and steps of their handler', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'provision' }, async ({ subhandler, step }) => {
    await step('network', () => 'n-1')
    subhandler('disk', () => {})
  })
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  const tree = traces.tree(lab).filter((line) => !/PATCH|GET|POST/.test(line))
  expect(tree).toEqual([
    'create widgets.example.com',
    '  create provision',
    '    step network',
    '    subhandler provision/disk',
  ])
  expect(traces.span('step network').attributes).toEqual({
    'kopf.step.id': 'network',
    'kopf.handler.id': 'provision',
  })
})

test('a step whose result is known has no span at the next attempt', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'provision' }, async ({ step, retry }) => {
    await step('network', () => 'n-1')
    if (retry === 0) throw new TemporaryError('Once more', { delay: 0.1 })
  })
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  expect(traces.names.filter((name) => name === 'step network')).toHaveLength(1)
  expect(traces.names.filter((name) => name === 'create provision')).toHaveLength(2)
})

test('unfinished sub-handlers do not make the span of their parent a failed one', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'provision' }, ({ subhandler }) => {
    subhandler('disk', ({ retry }) => {
      if (retry === 0) throw new TemporaryError('Not yet', { delay: 0.1 })
    })
  })
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  expect(traces.span('create provision').status.code).toBe(0)
  expect(traces.span('create provision').attributes['kopf.outcome']).toBe('retrying')
  expect(traces.span('subhandler provision/disk').status.code).toBe(2)
})

test('spans and requests of user code are below the span of its handler', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'provision' }, async ({ client }) => {
    await trace.getTracer('user').startActiveSpan('own', async (span) => {
      await client.list('configmaps')
      span.end()
    })
  })
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  // The first use of a resource may discover the API of the cluster.
  expect(traces.tree(lab).filter((line) => !/GET \/apis?(\/[^/]+\/\w+)?$/.test(line))).toEqual([
    'create widgets.example.com',
    '  create provision',
    '    own',
    '      GET /api/v1/namespaces/{namespace}/configmaps',
    `  ${objectPatch}`,
  ])
})

test('a refused request is a failed span with its status, and without the message of the server', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'provision' }, async ({ client }) => {
    await client.get('configmaps', 'missing').catch(() => {})
  })
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  const request = traces.span('GET /api/v1/namespaces/{namespace}/configmaps/{name}')
  expect(request.attributes).toMatchObject({ 'http.response.status_code': 404, 'error.type': '404' })
  expect(request.status).toEqual({ code: 2 })
  expect(request.events).toEqual([])
})

test('a reconciler has one span, with the requests for its children below', async () => {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { id: 'web', owns: ['configmaps'] }, ({ name }) => ({
    children: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }],
  }))
  await lab.start(kopf)
  await lab.create('a')
  await lab.cluster.until(() => traces.names.includes('reconcile web'))
  await settle(lab)
  expect(traces.tree(lab, [traces.span('reconcile widgets')]).slice(0, 3)).toEqual([
    'reconcile widgets.example.com',
    '  reconcile web',
    '    PATCH /api/v1/namespaces/{namespace}/configmaps/{name}',
  ])
})

const author = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }

test('a trace has a link to the trace in the annotation of the object, which is not its parent', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  await lab.start(kopf)
  const annotations = { 'tracing.k8s.io/traceparent': `00-${author.traceId}-${author.spanId}-01` }
  await lab.create('a', { metadata: { annotations } })
  await untilHandled(lab, 'a')
  const root = traces.span('create widgets')
  expect(root.links).toMatchObject([{ context: { ...author, traceFlags: 1, isRemote: true } }])
  expect(root.spanContext().traceId).not.toBe(author.traceId)
  expect(root.parentSpanContext).toBeUndefined()
  expect((await lab.get('a')).metadata.annotations).toMatchObject(annotations)
})

test('an annotation that is no valid trace context makes no link', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  await lab.start(kopf)
  for (const [index, value] of ['', 'x'.repeat(10_000), `00-${'0'.repeat(32)}-${author.spanId}-01`].entries()) {
    await lab.create(`a${index}`, { metadata: { annotations: { 'tracing.k8s.io/traceparent': value } } })
    await untilHandled(lab, `a${index}`)
  }
  await settle(lab)
  expect(traces.roots).toHaveLength(3)
  expect(traces.roots.flatMap(({ links }) => links)).toEqual([])
})

test('the span in which the operator was started is not the parent of its traces', async () => {
  const kopf = new Operator()
  kopf.on.startup({ id: 's' }, () => {})
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  const main = trace.getTracer('user').startSpan('main')
  await context.with(trace.setSpan(context.active(), main), () => lab.start(kopf))
  main.end()
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  expect(traces.roots.map(({ name }) => name.replace(lab.group, 'example.com'))).toEqual([
    'main',
    'startup s',
    'create widgets.example.com',
  ])
  expect(new Set(traces.roots.map((root) => root.spanContext().traceId)).size).toBe(3)
})

test('the processing of one object is not a part of the trace of another one whose handler has changed it', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'first', when: ({ name }) => name === 'a' }, async ({ client, namespace }) => {
    await client.create({ apiVersion: `${lab.group}/v1`, kind: 'Widget', metadata: { name: 'b', namespace } })
  })
  kopf.on.create(lab.widgets, { id: 'second', when: ({ name }) => name === 'b' }, () => {})
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'b')
  await untilHandled(lab, 'a')
  await settle(lab)
  expect(traces.span('create second').spanContext().traceId).not.toBe(traces.span('create first').spanContext().traceId)
  expect(traces.roots).toHaveLength(2)
})

test('a permanent failure makes the whole trace a failed one', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'good' }, () => {})
  kopf.on.create(lab.widgets, { id: 'bad' }, () => {
    throw new PermanentError('Never')
  })
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  expect(traces.tree(lab).slice(0, 3)).toEqual(['create widgets.example.com !', '  create good', '  create bad !'])
})

test('an error that stops the processing is in the root span', async () => {
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [] }, queueing: { errorDelays: [0.1] } } })
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  const transport = lab.record()
  let isRefused = false
  transport.meddle = ({ method }, send) => {
    if (method !== 'PATCH' || isRefused) return send()
    isRefused = true
    return Promise.resolve(refusal(500))
  }
  await lab.start(kopf, { transport })
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  expect(traces.tree(lab)).toEqual([
    'create widgets.example.com !',
    '  create c',
    `  ${objectPatch} !`,
    'process widgets.example.com',
    `  ${objectPatch}`,
  ])
  expect(traces.roots[0]!.events[0]!.attributes!['exception.message']).toContain('refused by the test')
})

test('the names of spans are bounded, also if a handler computes the ids of its sub-handlers', async () => {
  const kopf = new Operator()
  const ids = Array.from({ length: 250 }, (_, index) => `s${index}`)
  kopf.on.create(lab.widgets, { id: 'c' }, ({ subhandler }) => {
    for (const id of ids) subhandler(id, () => {})
  })
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  const calls = traces.spans.filter(({ name }) => name.startsWith('subhandler'))
  expect(calls).toHaveLength(250)
  expect(new Set(calls.map(({ name }) => name)).size).toBe(201)
  expect(calls.at(-1)).toMatchObject({ name: 'subhandler *', attributes: { 'kopf.handler.id': 'c/s249' } })
})

test('the lists and watches of an operator that a handler starts have no spans', async () => {
  const kopf = new Operator()
  const inner = new Operator()
  inner.on.event('configmaps', { id: 'e' }, () => {})
  kopf.on.create(lab.widgets, { id: 'c' }, async () => {
    await lab.start(inner)
  })
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  expect(traces.names.filter((name) => name.startsWith('GET'))).toEqual([])
})

test('Kubernetes events that a handler records are no part of its trace', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, ({ recorder }) => {
    recorder.info('Provisioned', 'The widget is there')
  })
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  expect(traces.names.filter((name) => name.includes('events'))).toEqual([])
})
