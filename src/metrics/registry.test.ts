/** The registry of metrics: series, limits, names, and what a second registration of a name does. */
import { expect, test } from 'vitest'
import { createLogger } from '../util/log/log.ts'
import { maxLabelLength } from './metric.ts'
import { MetricsRegistry } from './registry.ts'
import { UserMetrics } from './user-metrics.ts'

const help = 'Counts.'

function createRegistry() {
  const registry = new MetricsRegistry({ now: () => 1_700_000_000_500 })
  const lines: string[] = []
  registry.logger = createLogger({ minimumLevel: 'debug', log: ({ message }) => lines.push(message) }, 'test')
  return { registry, lines }
}

test('a counter adds amounts per combination of label values', () => {
  const { registry } = createRegistry()
  const orders = registry.counter('orders_total', { help, labels: ['kind', 'size'] })
  orders.inc({ kind: 'a', size: 1 })
  orders.inc({ size: 1, kind: 'a' }, 2.5)
  orders.labels({ kind: 'b', size: 1 }).inc()
  expect(registry.read('orders_total', { kind: 'a', size: '1' })).toBe(3.5)
  expect(registry.read('orders_total', { kind: 'b', size: 1 })).toBe(1)
  expect(registry.read('orders_total', { kind: 'c', size: 1 })).toBeUndefined()
})

test('a metric without labels exists with the value 0 from its registration', () => {
  const { registry } = createRegistry()
  const jobs = registry.counter('jobs_total', { help })
  expect(registry.read('jobs_total')).toBe(0)
  jobs.inc()
  expect(registry.read('jobs_total')).toBe(1)
})

test('a gauge is set, raised and lowered', () => {
  const { registry } = createRegistry()
  const gauge = registry.gauge('level', { help, labels: ['tank'] })
  gauge.set({ tank: 'a' }, 5)
  gauge.inc({ tank: 'a' }, -2)
  expect(registry.read('level', { tank: 'a' })).toBe(3)
  gauge.remove({ tank: 'a' })
  expect(registry.read('level', { tank: 'a' })).toBeUndefined()
})

test.each([
  [-1, 0],
  [0, 0],
  [0.1, 0],
  [0.100001, 1],
  [1, 1],
  [2, 2],
  [Infinity, 2],
])('a histogram counts %d in the bucket with index %i', (value, index) => {
  const { registry } = createRegistry()
  const histogram = registry.histogram('seconds', { help, buckets: [0.1, 1, Infinity] })
  histogram.observe(value)
  expect([...(histogram.labels() as unknown as { counts: Float64Array }).counts].indexOf(1)).toBe(index)
  expect(registry.read('seconds')).toBe(1)
})

test.each([-1, Number.NaN, Infinity, '1' as never])('a counter refuses %s', (amount) => {
  const { registry } = createRegistry()
  const counter = registry.counter('a_total', { help })
  expect(() => counter.inc(amount)).toThrow(/Cannot record .* in the metric "a_total": a counter only increases/)
})

test('a histogram refuses what is not a number', () => {
  const { registry } = createRegistry()
  expect(() => registry.histogram('h', { help }).observe(Number.NaN)).toThrow('Cannot record')
})

test('a second registration of a name returns the same metric', () => {
  const { registry } = createRegistry()
  registry.counter('a_total', { help, labels: ['x', 'y'] }).inc({ x: '1', y: '2' })
  registry.counter('a_total', { help: 'Other words.', labels: ['y', 'x'] }).inc({ x: '1', y: '2' })
  expect(registry.read('a_total', { x: '1', y: '2' })).toBe(2)
  expect(registry.histogram('h', { help, buckets: [1, 2] })).toBe(registry.histogram('h', { help, buckets: [1, 2] }))
  expect(registry.histogram('h', { help })).toBe(registry.histogram('h', { help, buckets: [1, 2] }))
})

test.each<[string, (registry: MetricsRegistry) => unknown, string]>([
  ['the type of another one', (one) => one.gauge('a_total', { help }), 'it exists as a counter'],
  [
    '_total that is no counter',
    (one) => one.gauge('b_total', { help }),
    'only the names of counters end with "_total"',
  ],
  ['another type', (one) => one.histogram('level', { help }), 'it exists as a gauge; use another name'],
  ['other labels', (one) => one.counter('a_total', { help }), 'it exists with the labels x; give it the same labels'],
  ['other labels', (one) => one.gauge('level', { help, labels: ['x'] }), 'it exists with no labels'],
  ['other buckets', (one) => one.histogram('h', { help, buckets: [1, 3] }), 'it exists with the buckets 1, 2'],
  [
    'a counter without _total',
    (one) => one.counter('b', { help }),
    'the name of a counter ends with "_total": "b_total"',
  ],
  ['a colon', (one) => one.gauge('a:b', { help }), 'letters, digits and underscores'],
  ['a digit at the start', (one) => one.gauge('1a', { help }), 'does not begin with a digit'],
  ['an empty name', (one) => one.gauge('', { help }), 'letters, digits and underscores'],
  ['a label with a dash', (one) => one.gauge('b', { help, labels: ['a-b'] }), 'the label "a-b" is no name'],
  ['a label of Prometheus', (one) => one.gauge('b', { help, labels: ['__name__'] }), 'two underscores'],
  ['le', (one) => one.histogram('b', { help, labels: ['le'] as string[] }), 'is the one of the buckets'],
  ['a repeated label', (one) => one.gauge('b', { help, labels: ['a', 'a'] }), 'a label occurs twice'],
  ['no help', (one) => one.gauge('b', {} as never), '"help" is missing'],
  ['no buckets', (one) => one.histogram('b', { help, buckets: [] }), 'it has no buckets'],
  ['unordered buckets', (one) => one.histogram('b', { help, buckets: [2, 1] }), 'do not ascend'],
  ['a limit of 0', (one) => one.gauge('b', { help, maxSeries: 0 }), '"maxSeries" is no positive integer'],
  ['a name of a bucket', (one) => one.gauge('h_bucket', { help }), 'the metric "h" has samples of the same name'],
  ['the name of a counter in OpenMetrics', (one) => one.gauge('a', { help }), 'the metric "a_total" has samples'],
])('a registration with %s is refused', (_, register, message) => {
  const { registry } = createRegistry()
  registry.counter('a_total', { help, labels: ['x'] })
  registry.gauge('level', { help })
  registry.histogram('h', { help, buckets: [1, 2] })
  let error: unknown
  try {
    register(registry)
  } catch (thrown) {
    error = thrown
  }
  expect(error).toMatchObject({ code: 'KOPF_METRICS', message: expect.stringContaining(message) })
})

test.each<[string, unknown, string]>([
  ['an unknown label', { kind: 'a', size: '1' }, 'there is no label "size"'],
  ['a wrong name', { knd: 'a' }, 'the label "kind" is missing'],
  ['no labels', undefined, 'labels are missing'],
  ['a value of another type', { kind: {} }, 'the label "kind" is missing'],
])('the use of a metric with %s is refused', (_, labels, message) => {
  const { registry } = createRegistry()
  const counter = registry.counter('a_total', { help, labels: ['kind'] })
  expect(() => counter.labels(labels as never)).toThrow(message)
})

test('beyond its limit a metric counts all new combinations of label values as "other", and logs that once', () => {
  const { registry, lines } = createRegistry()
  const counter = registry.counter('a_total', { help, labels: ['kind', 'size'], maxSeries: 3 })
  for (let index = 0; index < 10; index += 1) counter.inc({ kind: `k${index}`, size: 's' })
  counter.inc({ kind: 'k0', size: 's' })
  expect(registry.read('a_total', { kind: 'k0', size: 's' })).toBe(2)
  expect(registry.read('a_total', { kind: 'k3', size: 's' })).toBeUndefined()
  expect(registry.read('a_total', { kind: 'other', size: 'other' })).toBe(7)
  expect(lines).toEqual([expect.stringMatching(/The metric "a_total" has 3 series: further combinations .* "other"/)])
})

test('a removed series makes room for another one', () => {
  const { registry } = createRegistry()
  const gauge = registry.gauge('level', { help, labels: ['a', 'b'], maxSeries: 2 })
  for (let index = 0; index < 5; index += 1) {
    gauge.set({ a: `${index}`, b: '' }, index)
    gauge.remove({ a: `${index}`, b: '' })
  }
  gauge.set({ a: 'x', b: 'y' }, 1)
  expect(registry.read('level', { a: 'x', b: 'y' })).toBe(1)
  expect(registry.read('level', { a: '4', b: '' })).toBeUndefined()
})

test('a long label value is cut, and one that cannot be encoded is replaced', () => {
  const { registry } = createRegistry()
  const gauge = registry.gauge('level', { help, labels: ['a'] })
  gauge.set({ a: 'x'.repeat(10_000) }, 1)
  gauge.set({ a: '\ud800' }, 2)
  expect(registry.read('level', { a: 'x'.repeat(maxLabelLength) })).toBe(1)
  expect(registry.read('level', { a: '\ufffd' })).toBe(2)
})

test('a label can have the name of a member of every object', () => {
  const { registry } = createRegistry()
  const gauge = registry.gauge('level', { help, labels: ['constructor', 'toString'] as string[] })
  expect(() => gauge.set({ a: 'b', c: 'd' }, 1)).toThrow('the label "constructor" is missing')
  gauge.set({ constructor: 'x', toString: 'y' } as never, 1)
  expect(registry.read('level', { constructor: 'x', toString: 'y' } as never)).toBe(1)
})

test.each([
  'kopf_a',
  'controller_runtime_a',
  'workqueue_a',
  'rest_client_a',
  'leader_election_a',
  'process_a',
  'nodejs_a',
])('a metric of the user cannot have the name %s', (name) => {
  const metrics = new UserMetrics()
  const message = /Cannot use ".*" as a gauge: names that begin with ".*_" belong to the framework/
  expect(() => metrics.gauge(name, { help })).toThrow(message)
  expect(() => new MetricsRegistry().gauge(name, { help })).not.toThrow()
})

test('a collector that throws is logged once, and the others still run', async () => {
  const { registry, lines } = createRegistry()
  const gauge = registry.gauge('level', { help })
  registry.onCollect(() => {
    throw new Error('no such file')
  })
  const stop = registry.onCollect(() => gauge.inc())
  await registry.collect()
  await registry.collect()
  stop()
  await registry.collect()
  expect(registry.read('level')).toBe(2)
  expect(lines).toEqual(['Some metrics could not be read: no such file'])
})
