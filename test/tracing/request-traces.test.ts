/** The spans of requests: retries, failures, the headers for the server, and requests without spans. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { refusal } from '../support/recording.ts'
import { useTraces } from './traces.ts'

const lab = useCleanLab()
const traces = useTraces()

test('each attempt of a request has a span, with the number of attempts before it', async () => {
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [0.1, 0.1] } } })
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  const transport = lab.record()
  let refused = 0
  transport.meddle = ({ method }, send) => {
    if (method !== 'PATCH' || refused === 2) return send()
    refused += 1
    return Promise.resolve(refusal(503))
  }
  await lab.start(kopf, { transport })
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  const attempts = traces.spans.filter(({ name }) => name.startsWith('PATCH'))
  expect(attempts.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([503, 503, 200])
  expect(attempts.map(({ attributes }) => attributes['http.request.resend_count'])).toEqual([undefined, 1, 2])
  expect(attempts.map(({ attributes }) => attributes['error.type'])).toEqual(['503', '503', undefined])
})

test('a request without a response has the problem of its connection as the type of the error', async () => {
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [0.1] } } })
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  const transport = lab.record()
  let isBroken = true
  transport.meddle = ({ method }, send) => {
    if (method !== 'PATCH' || !isBroken) return send()
    isBroken = false
    return Promise.reject(Object.assign(new Error('secret text of the socket'), { code: 'ECONNREFUSED' }))
  }
  await lab.start(kopf, { transport })
  await lab.create('a')
  await untilHandled(lab, 'a')
  const failed = traces.span('PATCH')
  expect(failed.attributes['error.type']).toBe('refused')
  expect(JSON.stringify([failed.attributes, failed.status, failed.events])).not.toContain('secret')
})

test('the server gets the trace context of the span of the request', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  const [patch] = transport.writes('widgets')
  const { traceId, spanId } = traces.span('PATCH').spanContext()
  expect(patch!.headers['traceparent']).toBe(`00-${traceId}-${spanId}-01`)
})

test('watches, lists of the watch and Leases have no spans and no trace context', async () => {
  const kopf = new Operator({ name: 'traced', settings: { election: { enabled: true, namespace: lab.namespace } } })
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  const transport = lab.record()
  await lab.create('a')
  await lab.start(kopf, { transport })
  await untilHandled(lab, 'a')
  await settle(lab)
  const traced = transport.requests.filter(({ headers }) => 'traceparent' in headers)
  expect(traced.map(({ method, path }) => `${method} ${path}`)).toEqual([`PATCH ${lab.path('a')}`])
  expect(traces.names.filter((name) => name.startsWith('GET') || name.includes('leases'))).toEqual([])
  expect(transport.watches('widgets').length).toBeGreaterThan(0)
})
