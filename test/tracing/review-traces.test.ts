/** The spans of admission and conversion reviews. */
import { SpanKind } from '@opentelemetry/api'
import { AdmissionError, Operator } from 'kopf'
import { expect, test } from 'vitest'
import { Door, reviewOf } from '../admission/admission-support.ts'
import { useCleanLab } from '../support/handled.ts'
import { useTraces } from './traces.ts'

const lab = useCleanLab()
const traces = useTraces()

const server = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
const headers = { traceparent: `00-${server.traceId}-${server.spanId}-01`, baggage: 'secret=1' }

async function open(register: (kopf: Operator) => void): Promise<Door> {
  const kopf = new Operator()
  register(kopf)
  const door = new Door(lab, kopf)
  await lab.start(kopf)
  traces.reset()
  return door
}

test('a review continues the trace of the API server, with the handlers below', async () => {
  const door = await open((kopf) => kopf.on.validate(lab.widgets, { id: 'v' }, () => {}))
  expect(await door.ask({}, { headers })).toMatchObject({ allowed: true })
  const review = traces.span('admission review')
  expect(traces.tree(lab, [review])).toEqual(['admission review widgets.example.com', '  validate v'])
  expect(review.kind).toBe(SpanKind.SERVER)
  expect(review.spanContext().traceId).toBe(server.traceId)
  expect(review.parentSpanContext).toMatchObject({ ...server, isRemote: true })
  expect(review.attributes).toEqual({
    'kopf.resource': `widgets.v1.${lab.group}`,
    'k8s.namespace.name': lab.namespace,
    'kopf.object.name': 'one',
    'kopf.admission.operation': 'CREATE',
    'kopf.handler.id': 'v',
    'kopf.admission.allowed': true,
  })
})

test('a review without a valid trace context is a trace of its own', async () => {
  const door = await open((kopf) => kopf.on.validate(lab.widgets, { id: 'v' }, () => {}))
  await door.ask({ dryRun: true }, { headers: { traceparent: 'x'.repeat(100_000) } })
  const review = traces.span('admission review')
  expect(review.parentSpanContext).toBeUndefined()
  expect(review.attributes['kopf.admission.dry_run']).toBe(true)
})

test('a denial is not a failed span', async () => {
  const door = await open((kopf) =>
    kopf.on.validate(lab.widgets, { id: 'v' }, () => {
      throw new AdmissionError('Too large')
    }),
  )
  await door.ask({}, { headers })
  expect(traces.span('admission review')).toMatchObject({ status: { code: 0 } })
  expect(traces.span('admission review').attributes['kopf.admission.allowed']).toBe(false)
  expect(traces.span('validate v')).toMatchObject({ status: { code: 0 }, attributes: { 'kopf.outcome': 'failed' } })
})

test('an unexpected error of an admission handler makes the spans failed ones', async () => {
  const door = await open((kopf) =>
    kopf.on.mutate(lab.widgets, { id: 'm' }, () => {
      throw new RangeError('Out of luck')
    }),
  )
  await door.ask({}, { headers })
  expect(traces.tree(lab, [traces.span('admission review')])).toEqual([
    'admission review widgets.example.com !',
    '  mutate m !',
  ])
})

test('the text of a review that no handler is for does not get into the names of spans', async () => {
  const door = await open((kopf) => kopf.on.validate(lab.widgets, { id: 'v' }, () => {}))
  const resource = { group: 'hostile.example.com', version: 'v1', resource: 'x'.repeat(50) }
  await expect(door.post(reviewOf(lab, { resource, requestResource: resource }))).rejects.toThrow('Cannot review')
  expect(traces.names).toEqual(['admission review'])
  expect(traces.span('admission review').attributes).toEqual({ 'error.type': 'WebhookError' })
})
