/**
 * Operators whose own writes are reviewed by their own webhooks, over sockets and in real time: nothing locks up, and nothing
 * is lost, whether the server is up, is on its way, or is gone.
 */
import { Operator, type WebhookServerLike } from 'kopf'
import { WebhookServer } from 'kopf/webhooks'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/util/clock.ts'
import { connectionTo, useStage } from '../activities/support.ts'
import { useCluster } from '../support/cluster.ts'
import { eventually, expectStatus } from '../support/expectations.ts'
import { gate } from '../support/recording.ts'
import { collection, type Loose } from './configured.ts'

const cluster = useCluster()
const stage = useStage()
const managed = `own-${cluster.namespace.slice(-8)}.kopf.dev`
const widgets = [cluster.group, 'v1', 'widgets'] as const
const path = (name: string = '') => cluster.custom(name === '' ? 'widgets' : `widgets/${name}`)

beforeAll(async () => {
  await cluster.install({ kind: 'Widget', subresources: { status: {} } })
})

/** Reviews of what the operator itself has written, by operation and subresource. */
let reviews: string[] = []
beforeEach(() => {
  reviews = []
})

afterEach(async () => {
  await stage.stopAll()
  for (const kind of ['validating', 'mutating'] as const) await cluster.api.delete(`${collection(kind)}/${managed}`)
  const { items } = (await cluster.api.get(path())).body as Loose
  for (const { metadata } of items) {
    // What was configured is known a moment later.
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

/** When the API server has taken note of a configuration is for it to say. */
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

test('all that the operator writes is reviewed, and comes through', async () => {
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

test('handlers of reviews that write what is reviewed do not wait for each other', async () => {
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

test('what handlers come to while the operator stops is reviewed and written', async () => {
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

test('after the end, persistent webhooks keep everybody from writing, and others nobody', async () => {
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

/** As an operator that was killed leaves it: configurations that lead nowhere, and objects that nobody has handled. */
async function leaveBehind(): Promise<void> {
  const killed = await start(reviewed({ persistent: true }))
  await untilReviewed('probe')
  await killed.stop()
  await eventually(async () => expectStatus(await create('refused'), 500))
}

/** The same server, but only after a while. */
const late = (delayMs: number): WebhookServerLike => {
  const server = new WebhookServer({ addr: '127.0.0.1' })
  return async function* (fn, context) {
    await systemClock.sleep(delayMs, context.signal)
    yield* server.serve(fn, context)
  }
}

test('what cannot be written before the server is up is written after it', async () => {
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
  // The finalizer was refused at first; the handler is not called before it is there.
  expect(stage.logs.some((line) => line.includes('failed calling webhook'))).toBe(true)
  expect(calls.filter((one) => one === name)).toEqual([name])
})

test('start-up handlers cannot write what webhooks that were left behind review: their server is not up yet', async () => {
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

test('clean-up handlers come after the server has closed', async () => {
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

test('nobody is refused while the operator ends', async () => {
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
