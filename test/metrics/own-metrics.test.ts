/** Metrics of the user: the argument `metrics` of handlers, and `operator.metrics`. */
import { inWorker, Operator } from 'kopf'
import { runHandler } from 'kopf/testing'
import { expect, test } from 'vitest'
import { Door } from '../admission/admission-support.ts'
import { untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()
const help = 'Calls.'

test('handlers of all types get the argument metrics, which is the same as that of the operator', async () => {
  const kopf = new Operator()
  const called = (type: string) => (args: object) => {
    const { metrics } = args as { metrics: typeof kopf.metrics }
    metrics.counter('calls_total', { help, labels: ['type'] }).inc({ type })
  }
  kopf.on.startup(called('startup'))
  kopf.on.cleanup(called('cleanup'))
  kopf.on.create(lab.widgets, called('create'))
  kopf.on.event(lab.widgets, called('event'))
  kopf.index(lab.widgets, ({ metrics }) => {
    called('index')({ metrics })
    return []
  })
  kopf.daemon(lab.widgets, called('daemon'))
  kopf.timer(lab.widgets, { interval: '1h' }, called('timer'))
  kopf.reconcile(lab.widgets, ({ metrics }) => called('reconcile')({ metrics }))
  kopf.on.validate(lab.widgets, called('validate'))
  const door = new Door(lab, kopf)
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  await door.ask()
  const types = ['startup', 'create', 'event', 'index', 'daemon', 'timer', 'reconcile', 'validate']
  await lab.until(() => types.every((type) => kopf.metrics.read('calls_total', { type }) !== undefined))
  await lab.stop(running)
  expect(kopf.metrics.read('calls_total', { type: 'cleanup' })).toBe(1)
})

test('an error in the use of a metric fails the handler with a message that teaches', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'make', errors: 'permanent' }, ({ metrics }) => {
    metrics.counter('kopf_calls_total', { help }).inc()
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilLogged('names that begin with "kopf_" belong to the framework')
})

test('runHandler gives handlers the metrics of the operator, so that a test can read them', async () => {
  const kopf = new Operator()
  kopf.on.create('configmaps', { id: 'make' }, ({ metrics }) => {
    metrics.histogram('sizes', { help, buckets: [1, 2] }).observe(1)
  })
  await runHandler(kopf, { id: 'make', name: 'one' })
  expect(kopf.metrics.read('sizes')).toBe(1)
})

test('in a worker thread, the argument metrics throws an error that says so', async () => {
  const kopf = new Operator()
  kopf.on.create(
    'configmaps',
    { id: 'make', errors: 'permanent' },
    inWorker(new URL('./metrics-in-worker.ts', import.meta.url), { name: 'count' }),
  )
  const { outcome } = await runHandler(kopf, { id: 'make', name: 'one' })
  expect(outcome).toMatchObject({
    type: 'failed',
    error: { message: expect.stringMatching(/Cannot use "metrics" in a worker/) },
  })
})

test('an operator without an address for its metrics has no series of its own', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, ({ metrics }) => metrics.gauge('mine', { help }).set(1))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  expect(kopf.metrics.read('mine')).toBe(1)
  expect(kopf.metrics.read('kopf_build_info')).toBeUndefined()
})
