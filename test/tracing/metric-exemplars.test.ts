/** Exemplars of metrics: the way from a slow bucket of a histogram to a trace. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { metricsAddressIn, scrape } from '../metrics/metrics-support.ts'
import { untilHandled, useCleanLab } from '../support/handled.ts'
import { useTraces } from './traces.ts'

const lab = useCleanLab({ hasSockets: true })
const traces = useTraces()

test('the duration of a handler has the trace of its call as an exemplar', async () => {
  const kopf = new Operator({ settings: { metrics: { address: 'http://127.0.0.1:0' } } })
  kopf.on.create(lab.widgets, { id: 'provision' }, () => {})
  await lab.start(kopf)
  await lab.create('a')
  await untilHandled(lab, 'a')
  await lab.until(() => traces.names.includes('create provision'))
  const headers = { accept: 'application/openmetrics-text; version=1.0.0' }
  const { text } = await scrape(metricsAddressIn(lab.logs), { headers })
  const { traceId, spanId } = traces.span('create provision').spanContext()
  const lines = text.split('\n').filter((line) => line.startsWith('kopf_handler_duration_seconds_bucket'))
  expect(lines.join('\n')).toContain(`# {trace_id="${traceId}",span_id="${spanId}"}`)
})
