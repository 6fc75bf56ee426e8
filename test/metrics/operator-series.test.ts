/** The series of the operator itself, in the text that a scraper gets. */
import { Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import type { UserMetrics } from '../../src/metrics/user-metrics.ts'
import { Door } from '../admission/admission-support.ts'
import { untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab({ hasSockets: true })

let current: Operator

function createOperator(metrics: object = {}): Operator {
  current = new Operator({ settings: { metrics: { address: 'http://127.0.0.1:0', ...metrics } } })
  return current
}

/** The values of all series of a name, by their labels as they are written. The endpoint would also wait between two scrapes. */
async function read(name: string): Promise<Record<string, number>> {
  const { body } = await (current.metrics as UserMetrics).registry.render(undefined)
  const lines = body.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
  return Object.fromEntries(
    lines.map((line) => {
      const [, labels = '', value] = /^\w+(?:\{(.*)\})? (\S+)$/.exec(line)!
      return [labels.replaceAll(lab.group, 'example.com').replaceAll('"', ''), Number(value)]
    }),
  )
}

async function untilRead(name: string, isExpected: (values: Record<string, number>) => boolean): Promise<void> {
  await lab.until(async () => isExpected(await read(name)))
}

const controller = 'controller=widgets.example.com'
const queue = `name=widgets.example.com,${controller}`
const resource = 'resource=widgets.example.com'

test('all known series of a resource and its handlers have the value 0 from the start', async () => {
  const kopf = createOperator()
  kopf.on.create(lab.widgets, { id: 'make' }, () => {})
  kopf.daemon(lab.widgets, { id: 'watch' }, () => {})
  await lab.start(kopf)
  expect(await read('controller_runtime_reconcile_total')).toEqual({
    [`${controller},result=error`]: 0,
    [`${controller},result=requeue`]: 0,
    [`${controller},result=requeue_after`]: 0,
    [`${controller},result=success`]: 0,
  })
  for (const name of ['reconcile_errors_total', 'terminal_reconcile_errors_total', 'active_workers']) {
    expect(await read(`controller_runtime_${name}`)).toEqual({ [controller]: 0 })
  }
  expect(await read('controller_runtime_max_concurrent_reconciles')).toEqual({ [controller]: 64 })
  expect(await read('controller_runtime_reconcile_time_seconds_count')).toEqual({ [controller]: 0 })
  expect(await read('workqueue_depth')).toEqual({ [`${queue},priority=-100`]: 0, [`${queue},priority=0`]: 0 })
  for (const name of ['adds_total', 'retries_total', 'unfinished_work_seconds', 'longest_running_processor_seconds']) {
    expect(await read(`workqueue_${name}`)).toEqual({ [queue]: 0 })
  }
  expect(await read('kopf_handler_calls_total')).toMatchObject({
    [`${resource},handler=make,type=create,outcome=failed`]: 0,
    [`${resource},handler=watch,type=daemon,outcome=succeeded`]: 0,
  })
  expect(await read('kopf_change_to_handled_seconds_count')).toEqual({ [resource]: 0 })
  expect(await read('kopf_objects')).toMatchObject({ [`${resource},state=handled`]: 0 })
  expect(await read('kopf_writes_total')).toMatchObject({ [`${resource},purpose=handling`]: 0 })
  expect(await read('kopf_watch_restarts_total')).toMatchObject({ [`${resource},reason=silent`]: 0 })
  expect(await read('kopf_stale_states_total')).toEqual({ [resource]: 0 })
  expect(await read('kopf_contention_total')).toEqual({ [resource]: 0 })
  expect(await read('kopf_daemons')).toEqual({ [`${resource},handler=watch,type=daemon`]: 0 })
})

test('a handled change is counted once in each series of its resource', async () => {
  const kopf = createOperator()
  kopf.on.create(lab.widgets, { id: 'make' }, () => {})
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  await untilRead('kopf_objects', (objects) => objects[`${resource},state=handled`] === 1)
  expect((await read('kopf_handler_calls_total'))[`${resource},handler=make,type=create,outcome=succeeded`]).toBe(1)
  expect(await read('kopf_handler_duration_seconds_count')).toMatchObject({
    [`${resource},handler=make,type=create`]: 1,
  })
  expect(await read('kopf_change_to_handled_seconds_count')).toEqual({ [resource]: 1 })
  expect((await read('kopf_writes_total'))[`${resource},purpose=handling`]).toBeGreaterThan(0)
  const { [`${controller},result=success`]: successes } = await read('controller_runtime_reconcile_total')
  expect(successes).toBeGreaterThan(0)
  expect((await read('workqueue_queue_duration_seconds_count'))[queue]).toBe(successes)
  expect((await read('workqueue_work_duration_seconds_count'))[queue]).toBe(successes)
  expect((await read('workqueue_adds_total'))[queue]).toBe(successes)
})

test('requests are counted by code, method and host, and by purpose and resource', async () => {
  const kopf = createOperator()
  kopf.on.create(lab.widgets, ({ client, namespace }) =>
    client.get('configmaps', 'kube-root-ca.crt', { namespace }).catch(() => {}),
  )
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  const requests = await read('rest_client_requests_total')
  const patches = Object.entries(requests).find(([labels]) => labels.startsWith('code=200,method=PATCH,host='))!
  expect(patches[1]).toBeGreaterThan(0)
  if (!lab.isReal) expect(patches[0]).toBe('code=200,method=PATCH,host=embedded')
  const purposes = await read('kopf_requests_total')
  expect(purposes[`purpose=handling,${resource},code=200`]).toBe(patches[1])
  expect(purposes[`purpose=watch,${resource},code=200`]).toBe(1)
  expect(Object.keys(purposes).some((labels) => labels.startsWith('purpose=client,'))).toBe(true)
  expect(Object.keys(purposes).filter((labels) => labels.startsWith('purpose=other'))).toEqual([])
})

test.each<[string, string, string, number, () => Error]>([
  ['an arbitrary error', 'error', 'retrying', 0, () => new Error('no disk')],
  ['a TemporaryError', 'requeue_after', 'retrying', 0, () => new TemporaryError('not yet', { delay: '1h' })],
  ['a PermanentError', 'error', 'failed', 1, () => new PermanentError('never')],
])('a handler that throws %s gives the result %s, and its object is %s', async (_, result, state, terminal, create) => {
  const kopf = createOperator()
  kopf.on.create(lab.widgets, { id: 'make', backoff: '1h' }, () => {
    throw create()
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilRead('kopf_objects', (objects) => objects[`${resource},state=${state}`] === 1)
  expect(await read('controller_runtime_reconcile_total')).toMatchObject({ [`${controller},result=${result}`]: 1 })
  expect(await read('controller_runtime_reconcile_errors_total')).toEqual({ [controller]: result === 'error' ? 1 : 0 })
  expect(await read('controller_runtime_terminal_reconcile_errors_total')).toEqual({ [controller]: terminal })
  await lab.delete('one')
  await untilRead('kopf_objects', (objects) => Object.values(objects).every((count) => count === 0))
})

test('a running handler shows in the active workers, the unfinished work and the states of objects', async () => {
  const kopf = createOperator()
  kopf.settings.queueing.workerLimit = 1
  kopf.on.create(lab.widgets, ({ clock }) => clock.sleep('6s'))
  await lab.start(kopf)
  for (const name of ['one', 'two']) await lab.create(name, { spec: {} })
  await lab.elapse(2)
  await untilRead('workqueue_depth', (depth) => depth[`${queue},priority=0`] === 1)
  expect(await read('controller_runtime_active_workers')).toEqual({ [controller]: 1 })
  expect((await read('workqueue_unfinished_work_seconds'))[queue]).toBeGreaterThan(0)
  expect((await read('workqueue_longest_running_processor_seconds'))[queue]).toBeGreaterThan(0)
  expect(await read('kopf_objects')).toMatchObject({
    [`${resource},state=handling`]: 1,
    [`${resource},state=waiting`]: 1,
  })
  await untilRead('kopf_objects', (objects) => objects[`${resource},state=handled`] === 2)
  expect(await read('controller_runtime_active_workers')).toEqual({ [controller]: 0 })
  expect(await read('workqueue_depth')).toMatchObject({ [`${queue},priority=0`]: 0 })
})

test('an object that is being deleted and waits for the finalizer of another program counts as deleting', async () => {
  const kopf = createOperator()
  kopf.on.create(lab.widgets, () => {})
  await lab.start(kopf)
  await lab.create('one', { metadata: { finalizers: ['example.com/other'] }, spec: {} })
  await untilHandled(lab, 'one')
  await lab.delete('one')
  await untilRead('kopf_objects', (objects) => objects[`${resource},state=deleting`] === 1)
  await lab.patch('one', { metadata: { finalizers: null } })
  await untilRead('kopf_objects', (objects) => Object.values(objects).every((count) => count === 0))
})

test('daemons and timers are counted while they run, and the lateness of timers is measured', async () => {
  const kopf = createOperator()
  kopf.daemon(lab.widgets, { id: 'watch' }, ({ stopped }) => stopped.wait())
  kopf.timer(lab.widgets, { id: 'tick', interval: '1h' }, () => {})
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilRead('kopf_timer_lateness_seconds_count', (calls) => calls[`${resource},handler=tick`] === 1)
  expect(await read('kopf_daemons')).toEqual({
    [`${resource},handler=tick,type=timer`]: 1,
    [`${resource},handler=watch,type=daemon`]: 1,
  })
  await lab.delete('one')
  await untilRead('kopf_daemons', (daemons) => Object.values(daemons).every((count) => count === 0))
})

test('a timer that fails makes its object retrying until it succeeds', async () => {
  const kopf = createOperator()
  let fails = true
  kopf.timer(lab.widgets, { id: 'tick', interval: '1h', backoff: '10s' }, () => {
    if (fails) throw new Error('no disk')
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilRead('kopf_objects', (objects) => objects[`${resource},state=retrying`] === 1)
  fails = false
  await untilRead('kopf_objects', (objects) => objects[`${resource},state=handled`] === 1)
})

test('reviews are counted by webhook and code, and denials by the handler that denies', async () => {
  const kopf = createOperator()
  const door = new Door(lab, kopf)
  kopf.on.validate(lab.widgets, { id: 'strict' }, () => {
    throw new PermanentError('no')
  })
  kopf.on.validate(lab.widgets, { id: 'mild' }, () => {})
  await lab.start(kopf)
  expect(await read('kopf_admission_denials_total')).toEqual({ 'handler=mild': 0, 'handler=strict': 0 })
  await door.ask({}, { webhook: 'strict' })
  await door.ask({}, { webhook: 'mild' })
  await door.ask()
  await expect(door.post({ nonsense: true }, { webhook: 'mild' })).rejects.toThrow()
  await expect(door.ask({}, { webhook: 'unknown' })).rejects.toThrow()
  expect(await read('kopf_admission_denials_total')).toEqual({ 'handler=mild': 0, 'handler=strict': 2 })
  expect(await read('controller_runtime_webhook_requests_total')).toEqual({
    'webhook=all,code=200': 1,
    'webhook=all,code=404': 1,
    'webhook=mild,code=200': 1,
    'webhook=mild,code=400': 1,
    'webhook=mild,code=500': 0,
    'webhook=strict,code=200': 1,
    'webhook=strict,code=500': 0,
  })
  expect(await read('controller_runtime_webhook_latency_seconds_count')).toEqual({
    'webhook=all': 2,
    'webhook=mild': 2,
    'webhook=strict': 1,
  })
  const inFlight = await read('controller_runtime_webhook_requests_in_flight')
  expect(inFlight).toEqual({ 'webhook=all': 0, 'webhook=mild': 0, 'webhook=strict': 0 })
})

test('the series of the process and of Node have the names of prom-client', async () => {
  const kopf = createOperator()
  kopf.on.create(lab.widgets, () => {})
  await lab.start(kopf)
  const positive = [
    'process_cpu_user_seconds_total',
    'process_cpu_system_seconds_total',
    'process_cpu_seconds_total',
    'process_start_time_seconds',
    'process_resident_memory_bytes',
    'nodejs_heap_size_total_bytes',
    'nodejs_heap_size_used_bytes',
    'nodejs_external_memory_bytes',
  ]
  for (const name of positive) expect((await read(name))['']).toBeGreaterThan(0)
  for (const name of ['', 'min_', 'max_', 'mean_', 'stddev_', 'p50_', 'p90_', 'p99_']) {
    expect((await read(`nodejs_eventloop_lag_${name}seconds`))['']).toBeGreaterThanOrEqual(0)
  }
  expect(Object.keys(await read('nodejs_version_info'))).toEqual([
    expect.stringMatching(/^version=v[\d.]+,major=\d+,minor=\d+,patch=\d+$/),
  ])
  expect(Object.keys(await read('nodejs_gc_duration_seconds_count')).sort()).toEqual([
    'kind=incremental',
    'kind=major',
    'kind=minor',
    'kind=weakcb',
  ])
  expect(Object.values(await read('kopf_build_info'))).toEqual([1])
})

test('with settings.metrics.namespaces, the series of handlers have the namespace', async () => {
  const kopf = createOperator({ namespaces: true })
  kopf.on.create(lab.widgets, { id: 'make' }, () => {})
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  const labels = `${resource},handler=make,type=create,namespace=${lab.namespace},outcome=succeeded`
  expect(await read('kopf_handler_calls_total')).toEqual({ [labels]: 1 })
})

test('the leader has the value 1 in leader_election_master_status', async () => {
  const kopf = createOperator()
  Object.assign(kopf.settings.election, { enabled: true, name: 'my-lease', namespace: lab.namespace })
  kopf.on.create(lab.widgets, () => {})
  await lab.start(kopf)
  expect(await read('leader_election_master_status')).toEqual({ 'name=my-lease': 1 })
})

test('metrics of the user and of the library in settings.metrics.registry are served with those of the operator', async () => {
  const kopf = createOperator({
    registry: { contentType: 'text/plain', metrics: () => '# TYPE theirs gauge\ntheirs 7\n' },
  })
  kopf.on.create(lab.widgets, ({ metrics }) => {
    metrics.counter('orders_total', { help: 'Orders.', labels: ['kind'] }).inc({ kind: 'express' }, 2)
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  expect(await read('orders_total')).toEqual({ 'kind=express': 2 })
  expect(await read('theirs')).toEqual({ '': 7 })
})

test('the series go on in the next run of the same operator', async () => {
  const kopf = createOperator()
  kopf.on.create(lab.widgets, { id: 'make' }, () => {})
  for (const name of ['one', 'two']) {
    const running = await lab.start(kopf)
    await lab.create(name, { spec: {} })
    await untilHandled(lab, name)
    await untilRead('kopf_objects', (objects) => objects[`${resource},state=waiting`] === 0)
    await lab.stop(running)
  }
  const succeeded = { resource: `widgets.${lab.group}`, handler: 'make', type: 'create', outcome: 'succeeded' }
  expect(kopf.metrics.read('kopf_handler_calls_total', succeeded)).toBe(2)
  expect(kopf.metrics.read('controller_runtime_active_workers', { controller: `widgets.${lab.group}` })).toBe(0)
})
