/** The mirror of the metrics to OpenTelemetry, with the real SDK. */
import { metrics } from '@opentelemetry/api'
import {
  AggregationTemporality,
  DataPointType,
  type HistogramMetricData,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { Operator } from 'kopf'
import { afterEach, expect, test } from 'vitest'
import { untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

class Collected {
  readonly #exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  readonly #provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter: this.#exporter, exportIntervalMillis: 2 ** 31 - 1 })],
  })

  register(): this {
    metrics.setGlobalMeterProvider(this.#provider)
    return this
  }

  /** The metrics at this moment, by name. */
  async read(): Promise<Map<string, MetricData>> {
    this.#exporter.reset()
    await this.#provider.forceFlush()
    const scopes = this.#exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
    return new Map(scopes.flatMap((scope) => scope.metrics).map((metric) => [metric.descriptor.name, metric]))
  }

  async end(): Promise<void> {
    metrics.disable()
    await this.#provider.shutdown()
  }
}

let collected: Collected | undefined
afterEach(async () => {
  await lab.stopAll()
  await collected?.end()
  collected = undefined
})

function valuesOf(metric: MetricData | undefined): unknown[] {
  return metric?.dataPoints.map(({ attributes, value }) => [attributes, value]) ?? []
}

async function handleOne(kopf: Operator): Promise<void> {
  kopf.on.create(lab.widgets, { id: 'make' }, ({ metrics }) => {
    metrics.counter('orders_total', { help: 'Orders.', labels: ['kind'] }).inc({ kind: 'express' }, 2)
    metrics.gauge('level', { help: 'Level.' }).set(1.5)
    metrics.histogram('sizes', { help: 'Sizes.', labels: ['kind'], buckets: [1, 10] }).observe({ kind: 'box' }, 5)
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
}

test('with a registered provider, counters, gauges and histograms have the same values in OpenTelemetry', async () => {
  collected = new Collected().register()
  await handleOne(new Operator())
  const read = await collected.read()
  expect(read.get('orders_total')).toMatchObject({ dataPointType: DataPointType.SUM, isMonotonic: true })
  expect(valuesOf(read.get('orders_total'))).toEqual([[{ kind: 'express' }, 2]])
  expect(valuesOf(read.get('level'))).toEqual([[{}, 1.5]])
  const sizes = read.get('sizes') as HistogramMetricData
  expect(sizes.dataPoints).toMatchObject([
    { attributes: { kind: 'box' }, value: { count: 1, sum: 5, buckets: { boundaries: [1, 10], counts: [0, 1, 0] } } },
  ])
})

test('with a registered provider, the series of the operator are mirrored without a metrics endpoint', async () => {
  collected = new Collected().register()
  await handleOne(new Operator())
  const read = await collected.read()
  const resource = `widgets.${lab.group}`
  expect(valuesOf(read.get('kopf_handler_calls_total'))).toContainEqual([
    { resource, handler: 'make', type: 'create', outcome: 'succeeded' },
    1,
  ])
  expect(valuesOf(read.get('kopf_objects'))).toContainEqual([{ resource, state: 'handled' }, 1])
  expect(read.get('kopf_handler_duration_seconds')).toMatchObject({ dataPointType: DataPointType.HISTOGRAM })
  expect(Number(read.get('process_resident_memory_bytes')?.dataPoints[0]?.value)).toBeGreaterThan(0)
})

test('values are read when OpenTelemetry collects them, not copied when they change', async () => {
  collected = new Collected().register()
  const kopf = new Operator()
  await handleOne(kopf)
  kopf.metrics.counter('orders_total', { help: 'Orders.', labels: ['kind'] }).inc({ kind: 'slow' })
  expect(valuesOf((await collected.read()).get('orders_total'))).toEqual([
    [{ kind: 'express' }, 2],
    [{ kind: 'slow' }, 1],
  ])
})

test('after the operator has stopped, nothing is mirrored any more', async () => {
  collected = new Collected().register()
  const kopf = new Operator()
  await handleOne(kopf)
  await lab.stopAll()
  kopf.metrics.histogram('sizes', { help: 'Sizes.', labels: ['kind'], buckets: [1, 10] }).observe({ kind: 'late' }, 5)
  const sizes = (await collected.read()).get('sizes') as HistogramMetricData
  expect(sizes.dataPoints.map(({ attributes }) => attributes)).toEqual([{ kind: 'box' }])
})

test('an error of the provider is logged once and does not reach the handlers', async () => {
  const failing = () => {
    throw new Error('the exporter is broken')
  }
  metrics.setGlobalMeterProvider({
    getMeter: () => ({ createHistogram: failing, createObservableCounter: failing, createObservableGauge: failing }),
  } as never)
  collected = new Collected()
  await handleOne(new Operator())
  expect(lab.logs.filter((line) => line.includes('the exporter is broken'))).toEqual([
    'Cannot mirror the metrics to OpenTelemetry: the exporter is broken',
  ])
})
