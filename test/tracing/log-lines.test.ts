/** The ids of traces in log lines, for links from a log to its trace. */
import { trace } from '@opentelemetry/api'
import { configureLogging, Operator, PermanentError } from 'kopf'
import { afterAll, expect, test } from 'vitest'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { useTraces } from './traces.ts'

const lab = useCleanLab()
const traces = useTraces()
// Other test files of this process use the default.
afterAll(() => void Reflect.deleteProperty(globalThis, Symbol.for('kopf.logging')))

type Line = Readonly<Record<string, unknown>>

async function linesOf(kopf: Operator): Promise<readonly Line[]> {
  const lines: Line[] = []
  const write = (line: string) => void lines.push(JSON.parse(line) as Line)
  await lab.start(kopf, { logging: configureLogging({ format: 'json', write }) })
  await lab.create('a')
  await untilHandled(lab, 'a')
  await settle(lab)
  return lines
}

const line = (lines: readonly Line[], text: string) =>
  lines.find(({ message }) => String(message).includes(text)) ?? expect.fail(`No line "${text}"`)

test('the lines of a handler have the ids of its span, and those of its processing the ids of the root', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, ({ logger }) => logger.info('At work'))
  const lines = await linesOf(kopf)
  const call = traces.span('create c').spanContext()
  expect(line(lines, 'At work')).toMatchObject({ trace_id: call.traceId, span_id: call.spanId })
  expect(line(lines, 'succeeded.')).toMatchObject({ trace_id: call.traceId, span_id: call.spanId })
  const root = traces.span('create widgets').spanContext()
  expect(line(lines, 'is processed')).toMatchObject({ trace_id: root.traceId, span_id: root.spanId })
})

test('the lines of a span of the user have its ids', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, ({ logger }) => {
    trace.getTracer('user').startActiveSpan('own', (span) => {
      logger.info('At work')
      span.end()
    })
  })
  const lines = await linesOf(kopf)
  expect(line(lines, 'At work')['span_id']).toBe(traces.span('own').spanContext().spanId)
})

test('the lines of a daemon have the ids of the span of its call', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  kopf.daemon(lab.widgets, { id: 'd' }, ({ logger }) => {
    logger.info('At work')
    throw new PermanentError('No more')
  })
  const lines = await linesOf(kopf)
  const { traceId, spanId } = traces.span('daemon d').spanContext()
  expect(line(lines, 'At work')).toMatchObject({ trace_id: traceId, span_id: spanId })
})

test('a log line outside of spans has no ids, and creates no span', async () => {
  const kopf = new Operator()
  kopf.on.event(lab.widgets, { id: 'e', when: ({ name }) => name === 'b' }, () => {})
  kopf.on.startup(({ logger }) => logger.info('Starting'))
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  const lines = await linesOf(kopf)
  expect(line(lines, 'Starting')).toMatchObject({ trace_id: expect.any(String) })
  const without = lines.filter(({ message }) => !/Starting|Handler|Creation|succeeded/.test(String(message)))
  for (const one of without) expect(one).not.toHaveProperty('trace_id')
})

test('ids that a handler gives as fields have precedence', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, ({ logger }) => logger.info('At work', { trace_id: 'mine' }))
  const found = line(await linesOf(kopf), 'At work')
  expect(found).toMatchObject({ trace_id: 'mine' })
  expect(found).not.toHaveProperty('span_id')
})
