/**
 * Operators whose own writes are reviewed by their own webhooks, over sockets and in real time: no write deadlocks or is lost,
 * whether the webhook server is up, still starting, or closed.
 */
import { Operator, type WebhookServerLike } from 'kopf'
import { WebhookServer } from 'kopf/webhooks'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/util/async/clock.ts'
import { connectionTo, useStage } from '../activities/activity-support.ts'
import { useCluster } from '../support/cluster.ts'
import { eventually, expectStatus } from '../support/expectations.ts'
import { gate } from '../support/recording.ts'
import { collection, type Loose } from './managed-webhooks.ts'

const cluster = useCluster()
const stage = useStage()
const managed = `own-${cluster.namespace.slice(-8)}.kopf.dev`
const widgets = [cluster.group, 'v1', 'widgets'] as const
const path = (name: string = '') => cluster.custom(name === '' ? 'widgets' : `widgets/${name}`)

beforeAll(async () => {
  await cluster.install({ kind: 'Widget', subresources: { status: {} } })
})

/** Reviews of the operator's own writes, by operation and subresource. */
let reviews: string[] = []
beforeEach(() => {
  reviews = []
})

afterEach(async () => {
  await stage.stopAll()
  for (const kind of ['validating', 'mutating'] as const) await cluster.api.delete(`${collection(kind)}/${managed}`)
  const { items } = (await cluster.api.get(path())).body as Loose
  for (const { metadata } of items) {
    // The API server needs a moment to unload a configuration.
    await eventually(async () => {
      expectStatus(await cluster.api.mergePatch(path(metadata.name), { metadata: { finalizers: null } }), 200)
    })
    await cluster.api.delete(path(metadata.name))
  }
})

function reviewed(options: { persistent?: boolean; server?: WebhookServerLike } = {}): Operator {
  const { persistent = false, server = new WebhookServer({ addr: '127.0.0.1' }) } = options
  const kopf = new Operator({
    settings: { admission: { server, managed }, networking: { errorBackoffs: [0.3, 0.3, 0.3, 0.5] } },
  })
  kopf.settings.queueing.errorDelays = [0.3]
  const note = ({ operation, subresource }: { operation: string; subresource: string | undefined }) =>
    void reviews.push([operation, subresource].filter(Boolean).join(' '))
  kopf.on.validate([...widgets], { id: 'check', subresource: '*', persistent }, note)
  kopf.on.mutate([...widgets], { id: 'change', subresource: '*', persistent }, ({ patch, operation }) => {
    if (operation !== 'DELETE') (patch as Loose).metadata = { labels: { seen: 'yes' } }
  })
  return kopf
}

const start = async (kopf: Operator) => {
  const running = await stage.start(kopf, { namespaces: [cluster.namespace], connection: connectionTo(cluster) })
  await running.ready
  return running
}

const create = (name: string) =>
  cluster.api.post(path(), { apiVersion: `${cluster.group}/v1`, kind: 'Widget', metadata: { name }, spec: {} })

/** Creates objects until one of them was reviewed, since an API server needs a moment to load a configuration. */
const untilReviewed = (name: string) =>
  eventually(async () => {
    const { body } = await create(`${name}-${Math.random().toString(36).slice(2)}`)
    expect((body as Loose).metadata.labels).toEqual({ seen: 'yes' })
  })

const untilHandled = (name: string) =>
  eventually(async () => {
    const { metadata, status } = (await cluster.api.get(path(name))).body as Loose
    expect(status).toEqual({ made: 'done' })
    expect(Object.keys(metadata.annotations)).toEqual(['kopf.zalando.org/last-handled-configuration'])
  })

test('all writes of an operator are reviewed by its own webhooks and succeed', async () => {
  const kopf = reviewed()
  kopf.on.create([...widgets], { id: 'made' }, () => 'done')
  kopf.on.delete([...widgets], { id: 'gone' }, () => {})
  await start(kopf)
  await untilReviewed('probe')
  expectStatus(await create('one'), 201)
  await untilHandled('one')
  await cluster.api.delete(path('one'))
  await eventually(async () => expectStatus(await cluster.api.get(path('one')), 404))
  expect(new Set(reviews)).toEqual(new Set(['CREATE', 'UPDATE', 'UPDATE status', 'DELETE']))
})

test('admission handlers that create reviewed objects do not deadlock', async () => {
  const kopf = reviewed()
  kopf.on.validate([...widgets], { id: 'deep', operations: ['CREATE'], sideEffects: true }, async (args) => {
    const { name = '', client, dryrun } = args
    if (dryrun || !name.startsWith('nest') || name.length > 8) return
    await client.create({ apiVersion: `${cluster.group}/v1`, kind: 'Widget', metadata: { name: `${name}x` } } as Loose)
  })
  await start(kopf)
  await untilReviewed('probe')
  expectStatus(await create('nest'), 201)
  const { items } = (await cluster.api.get(path())).body as Loose
  const names = items.map(({ metadata }: Loose) => metadata.name).filter((name: string) => name.startsWith('nest'))
  expect(names.sort()).toEqual(['nest', 'nestx', 'nestxx', 'nestxxx', 'nestxxxx', 'nestxxxxx'])
})

test('results of handlers that finish while the operator stops are reviewed and written', async () => {
  const kopf = reviewed({ persistent: true })
  const [begun, end] = [gate(), gate()]
  kopf.on.create([...widgets], { id: 'made', labels: { slow: 'yes' } }, async () => {
    begun.open()
    await end.opened
    return 'done'
  })
  const running = await start(kopf)
  await untilReviewed('probe')
  const { status } = await cluster.api.post(path(), {
    apiVersion: `${cluster.group}/v1`,
    kind: 'Widget',
    metadata: { name: 'last', labels: { slow: 'yes' } },
  })
  expect(status).toBe(201)
  await begun.opened
  const before = reviews.length
  const stopping = running.stop()
  end.open()
  await stopping
  await untilHandled('last')
  expect(reviews.length).toBeGreaterThan(before)
})

test('persistent webhooks reject writes after the operator has ended, and others do not', async () => {
  const kopf = reviewed()
  kopf.on.validate([...widgets], { id: 'stays', persistent: true, operations: ['CREATE'] }, () => {})
  const running = await start(kopf)
  await untilReviewed('probe')
  expectStatus(await create('one'), 201)
  await running.stop()
  const refused = await create('two')
  expect(refused.status).toBe(500)
  expect(refused.text).toContain(`failed calling webhook \\"stays.${managed}\\"`)
  await eventually(async () => {
    expectStatus(await cluster.api.mergePatch(path('one'), { spec: { changed: true } }), 200)
  })
})

/** Leaves the state of a killed operator: persistent webhooks without a server, and unhandled objects. */
async function leaveBehind(): Promise<void> {
  const killed = await start(reviewed({ persistent: true }))
  await untilReviewed('probe')
  await killed.stop()
  await eventually(async () => expectStatus(await create('refused'), 500))
}

/** The same server, with a delay before it starts. */
const late = (delayMs: number): WebhookServerLike => {
  const server = new WebhookServer({ addr: '127.0.0.1' })
  return async function* (fn, context) {
    await systemClock.sleep(delayMs, context.signal)
    yield* server.serve(fn, context)
  }
}

test('writes that fail before the webhook server is up are repeated after it', async () => {
  await leaveBehind()
  const calls: string[] = []
  const kopf = reviewed({ persistent: true, server: late(1000) })
  kopf.on.create([...widgets], { id: 'made' }, ({ name }) => {
    calls.push(name)
    return 'done'
  })
  kopf.on.delete([...widgets], { id: 'gone' }, () => {})
  await start(kopf)
  const [name] = ((await cluster.api.get(path())).body as Loose).items.map(({ metadata }: Loose) => metadata.name)
  await untilHandled(name)
  // The finalizer is refused at first, and the handler is not called before the finalizer is stored.
  expect(stage.logs.some((line) => line.includes('failed calling webhook'))).toBe(true)
  expect(calls.filter((one) => one === name)).toEqual([name])
})

test('a startup handler cannot write objects that leftover webhooks review, since the server is not up yet', async () => {
  await leaveBehind()
  const kopf = reviewed({ persistent: true })
  kopf.settings.networking.errorBackoffs = []
  kopf.on.startup({ retries: 1 }, async ({ client }) => {
    await client.create({
      apiVersion: `${cluster.group}/v1`,
      kind: 'Widget',
      metadata: { name: 'early', namespace: cluster.namespace },
    } as Loose)
  })
  await expect(start(kopf)).rejects.toThrow('failed calling webhook')
})

test('cleanup handlers run after the webhook server has closed', async () => {
  const kopf = reviewed({ persistent: true })
  kopf.settings.networking.errorBackoffs = []
  let said = ''
  kopf.on.cleanup(async ({ client }) => {
    const body = {
      apiVersion: `${cluster.group}/v1`,
      kind: 'Widget',
      metadata: { name: 'late', namespace: cluster.namespace },
    }
    await client.create(body as Loose).catch((error: unknown) => {
      said = String(error)
    })
  })
  const running = await start(kopf)
  await untilReviewed('probe')
  await running.stop()
  expect(said).toContain('failed calling webhook')
})

test('no write is rejected while the operator ends', async () => {
  const running = await start(reviewed())
  await untilReviewed('probe')
  const refusals: string[] = []
  let count = 0
  let isOver = false
  const ask = async () => {
    while (!isOver) {
      count += 1
      const { status, text } = await create(`asked-${count}`)
      if (status !== 201) refusals.push(text)
    }
  }
  const asking = [1, 2, 3, 4].map(ask)
  await eventually(async () => expect(count).toBeGreaterThan(10))
  await running.stop()
  await systemClock.sleep(200)
  isOver = true
  await Promise.all(asking)
  expect(refusals).toEqual([])
})
