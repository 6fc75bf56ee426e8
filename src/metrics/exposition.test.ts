/** The text of the metrics: Prometheus 0.0.4 and OpenMetrics 1.0. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type contentTypes, negotiateFormat } from './negotiation.ts'
import { parseExposition } from './parse-exposition.ts'
import { MetricsRegistry } from './registry.ts'

const openMetrics = 'application/openmetrics-text'

function createSample(): MetricsRegistry {
  const registry = new MetricsRegistry({ now: () => 1_700_000_000_500 })
  const seconds = registry.histogram('job_seconds', { help: 'Durations of jobs.', labels: ['job'], buckets: [0.1, 1] })
  registry.traceSource = () => ({ traceId: '0123456789abcdef0123456789abcdef', spanId: '0123456789abcdef' })
  seconds.observe({ job: 'a' }, 0.05)
  registry.traceSource = undefined
  seconds.observe({ job: 'a' }, 0.5)
  seconds.observe({ job: 'a' }, 5)
  const orders = registry.counter('orders_total', {
    help: 'Orders, with a \\ and a\nline break and a ".',
    labels: ['kind'],
  })
  orders.inc({ kind: 'b' }, 2)
  orders.inc({ kind: 'a\\b"c\nd' })
  registry.gauge('level', { help: 'Level.' }).set(-Infinity)
  registry.gauge('unused', { help: 'No series.', labels: ['a'] })
  return registry
}

test('the text format has help, type and samples in a fixed order', async () => {
  expect(await createSample().render(undefined)).toEqual({
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    body: [
      '# HELP job_seconds Durations of jobs.',
      '# TYPE job_seconds histogram',
      'job_seconds_bucket{job="a",le="0.1"} 1',
      'job_seconds_bucket{job="a",le="1"} 2',
      'job_seconds_bucket{job="a",le="+Inf"} 3',
      'job_seconds_sum{job="a"} 5.55',
      'job_seconds_count{job="a"} 3',
      '# HELP level Level.',
      '# TYPE level gauge',
      'level -Inf',
      '# HELP orders_total Orders, with a \\\\ and a\\nline break and a ".',
      '# TYPE orders_total counter',
      'orders_total{kind="a\\\\b\\"c\\nd"} 1',
      'orders_total{kind="b"} 2',
      '',
    ].join('\n'),
  })
})

test('OpenMetrics has counters without _total in their type, exemplars, and an end', async () => {
  expect(await createSample().render(openMetrics)).toEqual({
    contentType: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
    body: [
      '# TYPE job_seconds histogram',
      '# HELP job_seconds Durations of jobs.',
      'job_seconds_bucket{job="a",le="0.1"} 1 # {trace_id="0123456789abcdef0123456789abcdef",span_id="0123456789abcdef"} 0.05 1700000000.5',
      'job_seconds_bucket{job="a",le="1.0"} 2',
      'job_seconds_bucket{job="a",le="+Inf"} 3',
      'job_seconds_sum{job="a"} 5.55',
      'job_seconds_count{job="a"} 3',
      '# TYPE level gauge',
      '# HELP level Level.',
      'level -Inf',
      '# TYPE orders counter',
      '# HELP orders Orders, with a \\\\ and a\\nline break and a \\".',
      'orders_total{kind="a\\\\b\\"c\\nd"} 1',
      'orders_total{kind="b"} 2',
      '# EOF',
      '',
    ].join('\n'),
  })
})

test('a counter has the trace of its last addition that was in one as its exemplar', async () => {
  const registry = new MetricsRegistry({ now: () => 2000 })
  const counter = registry.counter('a_total', { help: 'A.' })
  let trace: { traceId: string; spanId: string } | undefined = { traceId: 'aa', spanId: 'bb' }
  registry.traceSource = () => trace
  counter.inc(3)
  trace = undefined
  counter.inc(4)
  const { body } = await registry.render(openMetrics)
  expect(body).toContain('a_total 7 # {trace_id="aa",span_id="bb"} 3 2\n')
})

test('an empty registry has an empty text, and in OpenMetrics only the end', async () => {
  const registry = new MetricsRegistry()
  expect((await registry.render(undefined)).body).toBe('')
  expect((await registry.render(openMetrics)).body).toBe('# EOF\n')
})

test.each<[string | undefined, keyof typeof contentTypes]>([
  [undefined, 'text'],
  ['', 'text'],
  ['*/*', 'text'],
  ['text/html', 'text'],
  ['text/plain', 'text'],
  ['application/openmetrics-text', 'openmetrics'],
  ['application/openmetrics-text; version=1.0.0; charset=utf-8', 'openmetrics'],
  ['application/openmetrics-text; version="1.0.0"', 'openmetrics'],
  ['application/openmetrics-text; version=2.0.0, text/plain', 'text'],
  ['application/openmetrics-text;version=2.0.0', 'text'],
  ['application/openmetrics-text;q=0.5, text/plain;q=0.5', 'text'],
  ['application/openmetrics-text;q=0.5, text/plain;q=0.6', 'text'],
  ['application/openmetrics-text;q=0.6, */*;q=0.5', 'openmetrics'],
  ['application/openmetrics-text;q=0, */*', 'text'],
  ['text/plain;q=0, */*', 'openmetrics'],
  ['application/*', 'openmetrics'],
  ['application/openmetrics-text;q=nonsense', 'text'],
  // Prometheus 3.
  [
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
    'openmetrics',
  ],
  // Prometheus with native histograms asks for protobuf first.
  [
    'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1',
    'openmetrics',
  ],
])('the header Accept: %s is answered with %s', (accept, format) => {
  expect(negotiateFormat(accept)).toBe(format)
})

const name = fc.stringMatching(/^[a-z_][a-z0-9_]{0,20}$/).filter((one) => !/_total$|^__|^le$/.test(one))
// Minus zero equals zero.
const number = fc.oneof(fc.double({ noNaN: true }), fc.integer()).map((one) => one + 0)
const text = fc.string({ unit: 'binary', maxLength: 30 })
const metric = fc.record({
  name: name.map((one) => `m_${one}`),
  help: text.filter((one) => one !== ''),
  labels: fc.uniqueArray(name, { maxLength: 3 }),
  rows: fc.array(fc.record({ values: fc.array(text, { minLength: 3, maxLength: 3 }), value: number }), {
    maxLength: 5,
  }),
})

test.each([
  ['text', undefined],
  ['openmetrics', openMetrics],
] as const)('the %s form of any labels, values and help texts can be read back', async (format, accept) => {
  await fc.assert(
    fc.asyncProperty(fc.array(metric, { maxLength: 4 }), async (metrics) => {
      const registry = new MetricsRegistry({ now: () => 0 })
      for (const { name, help, labels, rows } of metrics) {
        if (registry.names.includes(name)) continue
        const gauge = registry.gauge(name, { help, labels: labels as string[] })
        for (const { values, value } of rows) {
          const labelValues = Object.fromEntries(labels.map((label, index) => [label, values[index]!]))
          if (labels.length === 0) (gauge as unknown as { set(value: number): void }).set(value)
          else gauge.set(labelValues, value)
        }
      }
      const { body } = await registry.render(accept)
      const parsed = parseExposition(body, { isOpenMetrics: format === 'openmetrics' })
      expect(parsed.malformed).toBe(0)
      for (const { name, help, samples } of parsed.families) {
        expect(registry.names).toContain(name)
        expect(metrics.find((one) => one.name === name)!.help).toBe(help)
        for (const { labels, value } of samples) {
          const pairs = [...labels.matchAll(/([a-z_][a-z0-9_]*)="((?:[^"\\]|\\.)*)"/gs)]
          const values = Object.fromEntries(pairs.map(([, key, quoted]) => [key!, unescapeValue(quoted!)]))
          expect(registry.read(name, values)).toBe(value)
        }
      }
      const lines = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
      expect(lines.length).toBe(parsed.families.flatMap(({ samples }) => samples).length)
    }),
    { numRuns: 150 },
  )
})

function unescapeValue(quoted: string): string {
  return quoted.replace(/\\(.)/gs, (_, character: string) => (character === 'n' ? '\n' : character))
}
