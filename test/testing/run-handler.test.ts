/** runHandler calls one handler without an operator: its arguments and its result. */
import {
  AdmissionError,
  buildObject,
  ConcealedValue,
  ConnectionInfo,
  defineResource,
  Operator,
  PermanentError,
  resource,
  TemporaryError,
} from 'kopf'
import { ConfigMap } from 'kopf/kubernetes'
import { runHandler, startCluster } from 'kopf/testing'
import { WebhookServer } from 'kopf/webhooks'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { internalsOf } from '../../src/operator-internals.ts'

const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({ engine: z.enum(['postgres', 'mysql']), size: z.number(), users: z.array(z.string()) }),
  status: z.object({ phase: z.string(), url: z.string() }),
})
const spec = { engine: 'mysql' as const, size: 1, users: [] }

describe('outcomes of runHandler', () => {
  test('runHandler gives the outcome done with the result and the patch', async () => {
    const kopf = new Operator()
    kopf.on.create(Database, ({ name, namespace, spec, patch, reason, old, diff, retry }) => {
      patch.status.url = `${spec.engine}://${namespace}/${name}`
      return { reason, old, changes: diff.length, retry }
    })
    const { outcome, result, patch, object } = await runHandler(kopf, {
      resource: Database,
      id: 'create',
      name: 'orders',
      spec,
    })
    expect(outcome).toEqual({ type: 'done', result: { reason: 'create', changes: 1, retry: 0 } })
    expect(result).toEqual({ reason: 'create', changes: 1, retry: 0 })
    expect(patch).toEqual({ status: { url: 'mysql://default/orders', create: result } })
    expect(object.status?.url).toBe('mysql://default/orders')
    expect(object.kind).toBe('Database')
    expect(object.apiVersion).toBe('example.com/v1')
  })

  test('runHandler gives the outcome retry with the delay of a TemporaryError', async () => {
    const kopf = new Operator()
    kopf.on.create(Database, ({ patch }) => {
      patch.status.phase = 'Booting'
      throw new TemporaryError('The database is still booting', { delay: '1m' })
    })
    const { outcome, patch, logs } = await runHandler(kopf, { resource: Database, id: 'create', name: 'orders', spec })
    expect(outcome).toMatchObject({ type: 'retry', delay: 60, error: { message: 'The database is still booting' } })
    expect(patch).toEqual({ status: { phase: 'Booting' } })
    expect(logs.at(-1)).toEqual({
      level: 'error',
      message: "Handler 'create' failed temporarily: The database is still booting",
    })
  })

  test('runHandler gives the outcome retry with the backoff of the settings for any other error', async () => {
    const kopf = new Operator({ settings: { execution: { defaultBackoff: 7 } } })
    kopf.on.create(Database, () => {
      throw new Error('oops')
    })
    const { outcome } = await runHandler(kopf, { resource: Database, id: 'create', spec })
    expect(outcome).toMatchObject({ type: 'retry', delay: 7 })
  })

  test('runHandler gives the outcome failed if the handler will not be called again', async () => {
    const kopf = new Operator()
    kopf.on.create(Database, { retries: 3 }, ({ retry }) => {
      if (retry === 0) throw new PermanentError('no')
      throw new Error('again and again')
    })
    const first = await runHandler(kopf, { resource: Database, id: 'create', spec })
    expect(first.outcome).toMatchObject({ type: 'failed', error: { message: 'no' } })
    const last = await runHandler(kopf, { resource: Database, id: 'create', spec, retry: 2 })
    expect(last.outcome).toMatchObject({ type: 'failed', error: { code: 'KOPF_HANDLER_RETRIES' } })
    const tooLate = await runHandler(kopf, { resource: Database, id: 'create', spec, retry: 3 })
    expect(tooLate.outcome).toMatchObject({
      type: 'failed',
      error: { message: 'Handler "create" has exceeded 3 retries' },
    })
  })

  test('runHandler gives the outcome skipped with the reason if the filters do not match', async () => {
    const kopf = new Operator()
    kopf.on.create(Database, { labels: { tier: 'production' }, when: ({ spec }) => spec.size > 1 }, () => {})
    const options = { resource: Database, id: 'create', spec } as const
    const { outcome } = await runHandler(kopf, options)
    expect(outcome).toEqual({ type: 'skipped', reason: 'The label "tier" does not match' })
    const labelled = await runHandler(kopf, { ...options, labels: { tier: 'production' } })
    expect(labelled.outcome).toEqual({ type: 'skipped', reason: 'Its "when" returned false' })
    const larger = await runHandler(kopf, { ...options, labels: { tier: 'production' }, spec: { ...spec, size: 2 } })
    expect(larger.outcome.type).toBe('done')
  })

  test('runHandler gives the outcome skipped if the handler is for another reason', async () => {
    const kopf = new Operator()
    kopf.on.create(Database, () => {})
    const { outcome } = await runHandler(kopf, { resource: Database, id: 'create', spec, reason: 'delete' })
    expect(outcome).toEqual({ type: 'skipped', reason: 'It is for create, and this is delete' })
  })
})

describe('causes of runHandler', () => {
  test('runHandler runs an update handler with the given old state', async () => {
    const kopf = new Operator()
    kopf.on.update(Database, ({ old, new: now, diff }) => ({ from: old?.spec.size, to: now?.spec.size, diff }))
    const { result } = await runHandler(kopf, {
      resource: Database,
      id: 'update',
      spec: { ...spec, size: 5 },
      old: { spec: { ...spec, size: 2 } },
    })
    expect(result).toEqual({ from: 2, to: 5, diff: [['change', ['spec', 'size'], 2, 5]] })
  })

  test('runHandler refuses an update handler without an old state', async () => {
    const kopf = new Operator()
    kopf.on.update(Database, () => {})
    await expect(runHandler(kopf, { resource: Database, id: 'update', spec })).rejects.toThrow(
      'Cannot run the update handler "update": nothing has changed; give the previous state, such as old: { spec: { … } }',
    )
  })

  test('runHandler runs a field handler with the changes of its field only', async () => {
    const kopf = new Operator()
    kopf.on.field(Database, 'spec.size', ({ old, new: now, diff }) => ({ old, now, diff }))
    const id = 'field/spec.size'
    const changed = { resource: Database, id, spec: { ...spec, size: 5 }, old: { spec } } as const
    expect((await runHandler(kopf, changed)).result).toEqual({ old: 1, now: 5, diff: [['change', [], 1, 5]] })
    const created = await runHandler(kopf, { resource: Database, id, spec })
    expect(created.result).toEqual({ now: 1, diff: [['add', [], null, 1]] })
    const unchanged = await runHandler(kopf, { resource: Database, id, spec, old: { spec } })
    expect(unchanged.outcome).toEqual({ type: 'skipped', reason: 'The field "spec.size" has not changed' })
  })

  test('runHandler runs a deletion handler with a deletion timestamp and the finalizer', async () => {
    const kopf = new Operator()
    kopf.on.delete(Database, ({ meta }) => ({
      marked: meta.deletionTimestamp !== undefined,
      finalizers: meta.finalizers,
    }))
    const { result } = await runHandler(kopf, { resource: Database, id: 'delete', spec })
    expect(result).toEqual({ marked: true, finalizers: ['kopf.zalando.org/KopfFinalizerMarker'] })
  })

  test('runHandler runs a resume handler with the reason resume', async () => {
    const kopf = new Operator()
    kopf.on.resume(Database, ({ reason }) => ({ reason }))
    expect((await runHandler(kopf, { resource: Database, id: 'resume', spec })).result).toEqual({ reason: 'resume' })
  })
})

describe('handler types of runHandler', () => {
  test('runHandler runs an event handler', async () => {
    const kopf = new Operator()
    kopf.on.event('pods', ({ event, resource }) => ({ type: event.type, kind: resource.kind, body: event.object.kind }))
    const run = await runHandler(kopf, { id: 'event', resource: 'pods', event: 'DELETED' })
    expect(run.result).toEqual({ type: 'DELETED', kind: 'Pod', body: 'Pod' })
  })

  test('runHandler runs a timer', async () => {
    const kopf = new Operator()
    kopf.timer(Database, { interval: '1m' }, ({ patch, stopped }) => {
      patch.status.phase = stopped.isSet() ? 'Stopped' : 'Fine'
    })
    expect((await runHandler(kopf, { resource: Database, id: 'timer', spec })).patch).toEqual({
      status: { phase: 'Fine' },
    })
  })

  test('runHandler runs a daemon until it has waited for the given time', async () => {
    const kopf = new Operator({ memo: () => ({ pings: 0 }) })
    kopf.daemon(Database, async ({ stopped, memo }) => {
      while (!stopped.isSet()) {
        memo.pings += 1
        await stopped.wait('30s')
      }
      return { reason: stopped.reason, isAborted: stopped.signal.aborted }
    })
    const once = await runHandler(kopf, { resource: Database, id: 'daemon', spec })
    expect(once.memo).toEqual({ pings: 1 })
    expect(once.result).toEqual({ reason: 'operator-exiting', isAborted: true })
    const often = await runHandler(kopf, { resource: Database, id: 'daemon', spec, stopAfter: '10m' })
    expect(often.memo).toEqual({ pings: 20 })
  })

  test('runHandler runs a daemon until the signal is aborted', async () => {
    const kopf = new Operator()
    const controller = new AbortController()
    kopf.daemon('pods', async ({ stopped }) => {
      queueMicrotask(() => controller.abort())
      await new Promise((resolve) => stopped.signal.addEventListener('abort', resolve))
      return 'stopped'
    })
    expect((await runHandler(kopf, { id: 'daemon', signal: controller.signal })).result).toBe('stopped')
  })

  test('runHandler runs an index function', async () => {
    const kopf = new Operator()
    kopf.index(Database, ({ name, spec }) => [[spec.engine, name]])
    const { result } = await runHandler(kopf, { resource: Database, id: 'index', name: 'orders', spec })
    expect(result).toEqual([['mysql', 'orders']])
  })

  test('runHandler runs a validation handler', async () => {
    const kopf = new Operator()
    kopf.on.validate(
      Database,
      { operations: ['CREATE', 'UPDATE'] },
      ({ spec, old, warnings, userinfo, operation, diff }) => {
        if (old && old.spec.engine !== spec.engine)
          throw new AdmissionError('The engine cannot be changed', { status: 422 })
        warnings.push(`${operation} by ${userinfo.username}: ${diff.length}`)
      },
    )
    const options = { resource: Database, id: 'validate', spec, userinfo: { username: 'alice' } } as const
    const created = await runHandler(kopf, options)
    expect(created.outcome.type).toBe('done')
    expect(created.warnings).toEqual(['CREATE by alice: 1'])
    const changed = await runHandler(kopf, { ...options, old: { spec: { ...spec, engine: 'postgres' } } })
    expect(changed.outcome).toMatchObject({ type: 'failed', error: { status: 422 } })
    const deleted = await runHandler(kopf, { ...options, operation: 'DELETE' })
    expect(deleted.outcome).toEqual({ type: 'skipped', reason: 'It is for CREATE and UPDATE, and this is DELETE' })
  })

  test('runHandler runs a mutation handler', async () => {
    const kopf = new Operator()
    kopf.on.mutate(Database, ({ patch }) => {
      patch.spec.users = ['admin']
      patch.fns.push((body) => void body.spec.users.push('root'))
      return 'nobody sees this'
    })
    const { patch, object, result } = await runHandler(kopf, { resource: Database, id: 'mutate', spec })
    expect(patch).toEqual({ spec: { users: ['admin'] } })
    expect(object.spec.users).toEqual(['admin', 'root'])
    expect(result).toBeUndefined()
  })

  test('runHandler runs a conversion handler', async () => {
    const kopf = new Operator()
    kopf.on.convert(Database, { from: 'v1', to: 'v2', id: 'up' }, ({ spec, from, to }) => ({
      spec: { storage: spec.size, path: `${from} to ${to}` },
    }))
    const { result } = await runHandler(kopf, { resource: Database, id: 'up', spec })
    expect(result).toEqual({ spec: { storage: 1, path: 'v1 to v2' } })
  })

  test('runHandler runs activity handlers', async () => {
    const kopf = new Operator({ memo: () => ({ isOpen: false }) })
    kopf.on.startup(({ settings, memo, logger }) => {
      settings.queueing.workerLimit = 3
      memo.isOpen = true
      logger.info('Open')
    })
    kopf.on.login(() => new ConnectionInfo({ server: 'https://example.com' }))
    kopf.on.probe({ id: 'answer' }, () => 42)
    const { memo, logs } = await runHandler(kopf, { id: 'startup' })
    expect([memo.isOpen, kopf.settings.queueing.workerLimit]).toEqual([true, 3])
    expect(logs.map(({ message }) => message)).toContain('Open')
    expect((await runHandler(kopf, { id: 'login' })).result).toBeInstanceOf(ConnectionInfo)
    expect((await runHandler(kopf, { id: 'answer' })).result).toBe(42)
  })

  test('runHandler runs a sub-handler and its parent', async () => {
    const kopf = new Operator()
    kopf.on.create(Database, { id: 'users' }, ({ spec, subhandler }) => {
      for (const user of spec.users) {
        subhandler(user, ({ patch }) => {
          patch.metadata.labels[user] = 'yes'
          if (user === 'bob') throw new TemporaryError('Not yet', { delay: 30 })
        })
      }
    })
    const options = { resource: Database, spec: { ...spec, users: ['alice', 'bob'] } } as const
    const { outcome, patch, subhandlers } = await runHandler(kopf, { ...options, id: 'users' })
    expect(outcome).toMatchObject({ type: 'retry', delay: 30 })
    expect(subhandlers).toMatchObject({ 'users/alice': { type: 'done' }, 'users/bob': { type: 'retry', delay: 30 } })
    expect(patch).toEqual({ metadata: { labels: { alice: 'yes', bob: 'yes' } } })
    expect((await runHandler(kopf, { ...options, id: 'users/alice' })).outcome.type).toBe('done')
    await expect(runHandler(kopf, { ...options, id: 'users/carol' })).rejects.toThrow(
      'Cannot run the sub-handler "users/carol": "users" has not declared it; called were "users/alice", "users/bob", "users"',
    )
  })
})

test('runHandler passes exactly the arguments that handlers get in an operator', async () => {
  const kopf = new Operator()
  const names: string[][] = []
  const look = (args: object) => void names.push(Object.keys(args).sort())
  kopf.on.event(Database, look)
  kopf.index(Database, look)
  kopf.on.create(Database, look)
  kopf.on.validate(Database, look)
  kopf.timer(Database, { interval: 1 }, look)
  kopf.on.probe(look)
  for (const { id, type: kind } of internalsOf(kopf).registry.handlers) {
    await runHandler(kopf, { resource: Database, id, kind: kind as 'event', spec })
  }
  const rehearsed = names.splice(0)
  kopf.on.startup(({ settings }) => {
    settings.admission.server = new WebhookServer({ addr: '127.0.0.1', host: '127.0.0.1' })
    settings.admission.managed = 'testing.kopf.dev'
  })
  await using cluster = await startCluster({ resources: [Database] })
  await using running = await kopf.start(cluster)
  await running.ready
  await cluster.create(Database, { name: 'orders', spec })
  await cluster.settled()
  // Probes run only on a request to the health endpoint.
  for (const one of rehearsed.slice(0, -1)) expect(names).toContainEqual(one)
})

test('runHandler records events instead of posting them', async () => {
  const kopf = new Operator()
  kopf.on.create('kopfexamples', ({ recorder }) => {
    recorder.info('Greeted', 'Hello')
    recorder.for({ kind: 'Pod', metadata: { name: 'other' } }).exception(new TypeError('no'))
  })
  const { events } = await runHandler(kopf, { id: 'create', name: 'one' })
  expect(events).toEqual([
    { type: 'Normal', reason: 'Greeted', message: 'Hello', name: 'one' },
    { type: 'Error', reason: 'TypeError', message: 'no', name: 'other' },
  ])
})

test('runHandler passes a frozen object, as an operator does', async () => {
  const kopf = new Operator()
  kopf.on.create('kopfexamples', ({ spec }) => {
    ;(spec as { size: number }).size = 2
  })
  const { outcome } = await runHandler(kopf, { id: 'create', spec: { size: 1 } })
  expect(outcome).toMatchObject({ type: 'retry', error: { name: 'TypeError' } })
})

describe('client of runHandler', () => {
  test('runHandler provides a client of an empty cluster with the CRDs of the operator', async () => {
    const kopf = new Operator()
    kopf.on.create(Database, async ({ name, client }) => {
      await client.create('configmaps', { metadata: { name }, data: { made: 'yes' } })
      const { data } = await client.get('configmaps', name)
      return { data, databases: (await client.list(Database)).length }
    })
    const { result } = await runHandler(kopf, { resource: Database, id: 'create', spec })
    expect(result).toEqual({ data: { made: 'yes' }, databases: 0 })
  })

  test('runHandler can use the client of an existing cluster', async () => {
    const kopf = new Operator()
    kopf.on.create(Database, async ({ client }) => (await client.list(Database)).map(({ metadata }) => metadata.name))
    await using cluster = await startCluster({ resources: [Database] })
    await cluster.create(Database, { name: 'orders', spec })
    expect((await runHandler(kopf, { resource: Database, id: 'create', spec, cluster })).result).toEqual(['orders'])
  })
})

describe('selection of the handler', () => {
  const Pod = resource('v1', 'pods')

  test('runHandler selects a handler by the resource if several handlers have the id', async () => {
    const kopf = new Operator()
    kopf.on.create(Database, () => 'database')
    kopf.on.create(Pod, () => 'pod')
    expect((await runHandler(kopf, { resource: Pod, id: 'create' })).result).toBe('pod')
    expect((await runHandler(kopf, { resource: 'databases', id: 'create' })).result).toBe('database')
    await expect(runHandler(kopf, { id: 'create' })).rejects.toThrow(
      'Cannot choose the handler "create": there are "create" (create of databases.v1.example.com), "create" (create of pods.v1); add `kind` or `resource`, or give the whole id',
    )
  })

  test('runHandler names the existing handlers if none has the id', async () => {
    const kopf = new Operator()
    kopf.on.create(Database, function greet() {})
    await expect(runHandler(kopf, { resource: Database, id: 'great', spec })).rejects.toThrow(
      'Cannot run the handler "great" of databases.v1.example.com: the operator has no handler with this id; there are "greet" (create)',
    )
    await expect(runHandler(new Operator(), { id: 'create', kind: 'create' })).rejects.toThrow(
      'Cannot run the create handler "create": the operator has no handler with this id; there are no handlers to choose from',
    )
  })

  test('runHandler selects a handler by its type if one function has several types', async () => {
    const kopf = new Operator()
    const greet = ({ reason }: { reason: string }) => reason
    kopf.on.create(Database, { id: 'greet' }, greet)
    kopf.on.resume(Database, { id: 'greet' }, greet)
    expect((await runHandler(kopf, { resource: Database, id: 'greet', spec })).result).toBe('create')
    expect((await runHandler(kopf, { resource: Database, id: 'greet', kind: 'resume', spec })).result).toBe('resume')
  })
})

test('runHandler runs a reconciler with existing children and returns its desired children', async () => {
  const kopf = new Operator({ name: 'shops' })
  kopf.reconcile('shops.example.com', { owns: ['configmaps'] }, ({ name, spec, children, deleting, patch }) => {
    patch.status['menus'] = children.of('configmaps').length
    if (deleting) return undefined
    const menu = buildObject(ConfigMap, { metadata: { name }, data: { coffee: spec['coffee'] } })
    return { children: [[menu]], requeueAfter: '5m' }
  })
  const { outcome, patch } = await runHandler(kopf, {
    id: 'reconcile',
    name: 'corner',
    spec: { coffee: 'strong' },
    children: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'old', namespace: 'default' } }],
  })
  expect(outcome).toMatchObject({ type: 'done', requeueAfter: 300 })
  expect(outcome.type === 'done' && outcome.children).toMatchObject([
    {
      metadata: {
        name: 'corner',
        namespace: 'default',
        labels: { 'kopf.dev/reconciler': 'shops.reconcile' },
        ownerReferences: [{ name: 'corner', controller: true }],
      },
      data: { coffee: 'strong' },
    },
  ])
  expect(patch).toEqual({ status: { menus: 1 } })
  const gone = await runHandler(kopf, { id: 'reconcile', reason: 'delete' })
  expect(gone.outcome).toMatchObject({ type: 'done', children: undefined })
})

test('runHandler allows steps only in a reconciler with cleanup', async () => {
  const kopf = new Operator()
  const fn = async ({ step }: { step: (id: string, fn: () => number) => Promise<number> }) => {
    return { requeueAfter: await step('a', () => 5) }
  }
  kopf.reconcile('shops.example.com', { id: 'with', cleanup: true }, fn)
  kopf.reconcile('shops.example.com', { id: 'without' }, fn)
  expect((await runHandler(kopf, { id: 'with' })).outcome).toMatchObject({ type: 'done', requeueAfter: 5 })
  expect((await runHandler(kopf, { id: 'without' })).outcome).toMatchObject({
    type: 'failed',
    error: { code: 'KOPF_STEP' },
  })
})

test('runHandler gives the outcome failed for a reconciler that returns children it does not own', async () => {
  const kopf = new Operator()
  kopf.reconcile('shops.example.com', () => ({
    // The compiler refuses this child, unless its type is unknown.
    children: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } } as never],
  }))
  const { outcome } = await runHandler(kopf, { id: 'reconcile' })
  expect(outcome).toMatchObject({ type: 'failed', error: { code: 'KOPF_CHILD' } })
})

describe('Secrets in runHandler', () => {
  const [before, after] = [
    { password: 'b25l', user: 'bWU=' },
    { password: 'dHdv', user: 'bWU=' },
  ]
  const told: unknown[] = []
  const operatorWith = (secretValues: 'digest' | 'plain') => {
    told.length = 0
    const kopf = new Operator({ settings: { persistence: { secretValues } } })
    kopf.on.update(
      'secrets',
      { id: 'u' },
      ({ old, new: now }) => void told.push(old?.data?.['password'], now?.['data']),
    )
    kopf.on.field('secrets', 'data.password', { id: 'f' }, ({ old, new: now }) => void told.push(old, now))
    kopf.on.field('secrets', 'data.user', { id: 'g' }, () => {})
    return kopf
  }
  const change = { data: after, old: { data: before, metadata: { labels: { tier: 'one' } } }, labels: { tier: 'one' } }

  test('runHandler conceals the old values of a Secret and passes the new ones, as an operator does', async () => {
    const kopf = operatorWith('digest')
    const { diff } = await runHandler(kopf, { resource: 'secrets', id: 'u', ...change })
    expect(diff).toEqual([['change', ['data', 'password'], expect.any(ConcealedValue), 'dHdv']])
    expect(told.splice(0)).toEqual([expect.any(ConcealedValue), after])
    await runHandler(kopf, { resource: 'secrets', id: 'f/data.password', ...change })
    expect(told).toEqual([expect.any(ConcealedValue), 'dHdv'])
    expect((told[0] as ConcealedValue).matches('b25l')).toBe(true)
    const { outcome } = await runHandler(kopf, { resource: 'secrets', id: 'g/data.user', ...change })
    expect(outcome).toEqual({ type: 'skipped', reason: 'The field "data.user" has not changed' })
  })

  test('runHandler passes the old values of a Secret with persistence.secretValues: "plain"', async () => {
    const kopf = operatorWith('plain')
    const { diff } = await runHandler(kopf, { resource: 'secrets', id: 'u', ...change })
    expect(diff).toEqual([['change', ['data', 'password'], 'b25l', 'dHdv']])
    expect(told).toEqual(['b25l', after])
  })
})

test('runHandler skips the time for a handler that sleeps by its clock', async () => {
  const kopf = new Operator()
  kopf.on.create('configmaps', async ({ clock }) => {
    const beganMs = clock.now()
    await clock.sleep('10m')
    return clock.now() - beganMs
  })
  const { result } = await runHandler(kopf, { resource: 'configmaps', id: 'create' })
  expect(result).toBe(600_000)
})
