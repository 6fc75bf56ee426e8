/** Compiled, never run: the labels of metrics are inferred from their names, and wrong labels are type errors in one line. */
import { type Counter, type Metrics, Operator } from 'kopf'

const kopf = new Operator()
const help = 'Orders.'

const orders = kopf.metrics.counter('orders_total', { help, labels: ['kind', 'size'] })
const typed: Counter<'kind' | 'size'> = orders
orders.inc({ kind: 'express', size: 3 })
orders.labels({ kind: 'express', size: 'large' }).inc()
// @ts-expect-error: there is no label "knd"
orders.inc({ knd: 'express', size: 3 })
// @ts-expect-error: "size" is missing
orders.labels({ kind: 'express' })
// @ts-expect-error: the labels are missing
orders.inc(1)
// @ts-expect-error: a label is a text or a number
orders.inc({ kind: 'express', size: { of: 3 } })

const jobs = kopf.metrics.counter('jobs_total', { help })
jobs.inc()
jobs.inc(2)
// @ts-expect-error: the counter has no labels
jobs.inc({ kind: 'express' })
// @ts-expect-error: the counter has no labels
jobs.labels({ kind: 'express' })

const level = kopf.metrics.gauge('level', { help, labels: ['tank'] })
level.set({ tank: 'left' }, 1)
level.dec({ tank: 'left' })
level.inc({ tank: 'left' }, 2)
level.remove({ tank: 'left' })
// @ts-expect-error: there is no label "tnk"
level.set({ tnk: 'left' }, 1)

const seconds = kopf.metrics.histogram('seconds', { help, labels: ['job'], buckets: [0.1, 1] })
seconds.observe({ job: 'a' }, 0.5)
seconds.labels({ job: 'a' }).observe(0.5)
// @ts-expect-error: the label is missing
seconds.observe(0.5)

kopf.on.create('configmaps', ({ metrics }) => {
  const same: Metrics = metrics
  same.counter('orders_total', { help, labels: ['kind'] }).inc({ kind: 'express' })
  // @ts-expect-error: there is no label "knd"
  metrics.counter('orders_total', { help, labels: ['kind'] }).inc({ knd: 'express' })
})
// @ts-expect-error: a metric needs a help text
kopf.metrics.gauge('level', {})

const value: number | undefined = kopf.metrics.read('orders_total', { kind: 'express' })

export const used: unknown[] = [typed, value]
