/** The metrics of another library in the answer for a scrape, with the real prom-client. */
import fc from 'fast-check'
import { Counter, Gauge, Histogram, Registry, Summary } from 'prom-client'
import { expect, test } from 'vitest'
import type { ForeignRegistry } from '../settings/groups.ts'
import { systemClock } from '../util/async/clock.ts'
import { createLogger } from '../util/log/log.ts'
import { ForeignMetrics } from './foreign-registry.ts'
import { parseExposition } from './parse-exposition.ts'
import { MetricsRegistry } from './registry.ts'

const openMetrics = 'application/openmetrics-text'

function createMerged(foreign: ForeignRegistry) {
  const registry = new MetricsRegistry()
  const lines: string[] = []
  const logger = createLogger({ minimumLevel: 'debug', log: ({ message }) => lines.push(message) }, 'test')
  registry.foreign = new ForeignMetrics({ registry: () => foreign, clock: systemClock, logger })
  registry.gauge('kopf_level', { help: 'Ours.' }).set(1)
  return { registry, lines }
}

function fill(registry: Registry): Registry {
  const registers = [registry]
  new Counter({ name: 'jobs_total', help: 'Jobs.', labelNames: ['a'], registers }).inc({ a: 'x"\\\ny' }, 2)
  new Gauge({ name: 'level', help: 'Level.', registers }).set(1.5)
  new Histogram({ name: 'seconds', help: 'Seconds.', buckets: [1, 2], registers }).observe(1.5)
  new Summary({ name: 'sizes', help: 'Sizes.', percentiles: [0.5], registers }).observe(3)
  return registry
}

test('the metrics of a registry of prom-client are served together with those of the operator', async () => {
  const { registry, lines } = createMerged(fill(new Registry()))
  const { body } = await registry.render(undefined)
  expect(body).toBe(
    [
      '# HELP jobs_total Jobs.',
      '# TYPE jobs_total counter',
      'jobs_total{a="x\\"\\\\\\ny"} 2',
      '# HELP kopf_level Ours.',
      '# TYPE kopf_level gauge',
      'kopf_level 1',
      '# HELP level Level.',
      '# TYPE level gauge',
      'level 1.5',
      '# HELP seconds Seconds.',
      '# TYPE seconds histogram',
      'seconds_bucket{le="1"} 0',
      'seconds_bucket{le="2"} 1',
      'seconds_bucket{le="+Inf"} 1',
      'seconds_sum 1.5',
      'seconds_count 1',
      '# HELP sizes Sizes.',
      '# TYPE sizes summary',
      'sizes{quantile="0.5"} 3',
      'sizes_sum 3',
      'sizes_count 1',
      '',
    ].join('\n'),
  )
  expect(lines).toEqual([])
})

test('the metrics of a registry in the text format are converted for OpenMetrics', async () => {
  const { registry } = createMerged(fill(new Registry()))
  const { body } = await registry.render(openMetrics)
  expect(body).toContain('# TYPE jobs counter\n# HELP jobs Jobs.\njobs_total{a="x\\"\\\\\\ny"} 2\n')
  expect(body.match(/# EOF\n/g)).toHaveLength(1)
  expect(body.endsWith('# EOF\n')).toBe(true)
})

test('the metrics of a registry in OpenMetrics are converted for the text format', async () => {
  const foreign = new Registry()
  foreign.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never)
  const { registry } = createMerged(fill(foreign) as never)
  const { body } = await registry.render(undefined)
  expect(body).toContain('# HELP jobs_total Jobs.\n# TYPE jobs_total counter\njobs_total{a="x\\"\\\\\\ny"} 2\n')
  expect(body).not.toContain('EOF')
  expect((await registry.render(openMetrics)).body).toContain('# TYPE jobs counter\n')
})

test('a metric that the operator has too is served once, as that of the operator, and logged once', async () => {
  const foreign = new Registry()
  new Gauge({ name: 'kopf_level', help: 'Theirs.', registers: [foreign] }).set(2)
  new Gauge({ name: 'other', help: 'Theirs.', registers: [foreign] }).set(3)
  const { registry, lines } = createMerged(foreign)
  await registry.render(undefined)
  const { body } = await registry.render(undefined)
  expect(body).toContain('kopf_level 1\n')
  expect(body).not.toContain('kopf_level 2')
  expect(body).toContain('other 3\n')
  expect(lines).toEqual([
    'Cannot serve all metrics of settings.metrics.registry: the operator itself has the metric "kopf_level", which is served instead of the one of the registry',
  ])
})

test.each<[string, () => unknown, string]>([
  ['rejects', () => Promise.reject(new Error('no database')), 'it has failed: no database'],
  [
    'throws',
    () => {
      throw new Error('no database')
    },
    'it has failed: no database',
  ],
  ['returns no text', () => 5, 'it has failed: "metrics()" has not returned a text'],
  ['returns malformed lines', () => 'a 1\nb{c=d} 1\ne one\n{} 1\n', '3 lines of it are malformed and are left out'],
])('a registry that %s does not spoil the scrape, and is logged once', async (_, metrics, problem) => {
  const { registry, lines } = createMerged({ metrics, contentType: 'text/plain' } as ForeignRegistry)
  for (const _ of [1, 2]) expect((await registry.render(undefined)).body).toContain('kopf_level 1\n')
  expect(lines).toEqual([`Cannot serve all metrics of settings.metrics.registry: ${problem}`])
})

test('a registry that never answers is called once, and does not delay later scrapes', async () => {
  let calls = 0
  const hanging = {
    contentType: 'text/plain',
    metrics: () => {
      calls += 1
      return new Promise<string>(() => {})
    },
  }
  const registry = new MetricsRegistry()
  const lines: string[] = []
  const logger = createLogger({ minimumLevel: 'debug', log: ({ message }) => lines.push(message) }, 'test')
  const clock = { ...systemClock, sleep: () => Promise.resolve() }
  registry.foreign = new ForeignMetrics({ registry: () => hanging, clock, logger })
  registry.gauge('kopf_level', { help: 'Ours.' }).set(1)
  for (const _ of [1, 2]) expect((await registry.render(undefined)).body).toContain('kopf_level 1\n')
  expect(calls).toBe(1)
  expect(lines).toEqual([
    'Cannot serve all metrics of settings.metrics.registry: it has not answered within 3 seconds, and is left out until it does',
  ])
})

test.each<[string, boolean, string]>([
  ['a sample without a header', false, '# HELP a \n# TYPE a untyped\na 1\n'],
  ['a counter without _total', false, '# HELP jobs Jobs.\n# TYPE jobs counter\njobs 1\n'],
  ['a time', false, '# HELP a A.\n# TYPE a gauge\na{b="c"} 1 1700000000000\n'],
])('%s is read and written again', async (_, isOpenMetrics, text) => {
  const { families } = parseExposition(text, { isOpenMetrics })
  const { registry } = createMerged({ metrics: () => text, contentType: 'text/plain' })
  expect(families).toHaveLength(1)
  expect((await registry.render(undefined)).body).toContain(text)
})

test('exemplars and times of a registry in OpenMetrics are kept', async () => {
  const text = '# TYPE a counter\n# HELP a A.\na_total{b="c"} 1 1.5 # {trace_id="x"} 0.5 1.25\n# EOF\n'
  const { registry } = createMerged({ metrics: () => text, contentType: openMetrics })
  expect((await registry.render(openMetrics)).body).toContain(text.replace('# EOF\n', ''))
})

test('any text of a registry gives an answer whose lines are all well-formed', async () => {
  const part = fc.constantFrom(
    'a',
    '_total',
    '{',
    '}',
    'b="c"',
    '"',
    '\\',
    ' ',
    '1',
    'NaN',
    '\n',
    '# TYPE a counter',
    '# ',
    ',',
    '=',
    'é',
  )
  const text = fc.oneof(
    fc.string(),
    fc.array(part, { maxLength: 40 }).map((parts) => parts.join('')),
  )
  const line =
    /^(# (HELP [a-zA-Z_:][\w:]* [^\n]*|TYPE [a-zA-Z_:][\w:]* \w+|EOF)|[a-zA-Z_:][\w:]*(\{([a-zA-Z_]\w*="([^"\\\n]|\\[\\"n])*",?)*\})? (NaN|[+-]Inf|[-+.e\d]+)( [-+.e\d]+)?( # [^\n]*)?)$/
  await fc.assert(
    fc.asyncProperty(text, fc.boolean(), async (metrics, isOpenMetrics) => {
      const contentType = isOpenMetrics ? openMetrics : 'text/plain'
      const { registry } = createMerged({ metrics: () => metrics, contentType })
      for (const accept of [undefined, openMetrics]) {
        const { body } = await registry.render(accept)
        const bad = body.split('\n').filter((one) => one !== '' && !line.test(one))
        expect(bad).toEqual([])
      }
    }),
    { numRuns: 200 },
  )
})
