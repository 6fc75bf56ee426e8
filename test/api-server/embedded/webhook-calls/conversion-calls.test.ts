/** How often a conversion webhook is called: never without need, and once for each state within the cache time. */
import { ApiServer } from 'kopf/server'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Body, Tree } from '../../../support/answers.ts'
import { crd } from '../../../support/crds.ts'
import { ask, InProcessWatch } from '../../../support/in-process.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { object } from '../../../support/objects.ts'
import { type Reply, type Review, WebhookServer } from '../../../support/webhook-server.ts'

const group = 'example.com'
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const path = (version: string, rest = '', namespace = 'default') =>
  `/apis/${group}/${version}/namespaces/${namespace}/widgets${rest}`

let webhook: WebhookServer
let api: ApiServer
/** A clock that stands still, so that conversions stay cached during a test. */
let clock: ManualClock

beforeAll(async () => {
  webhook = await WebhookServer.start()
})
afterAll(() => webhook.stop())

const objectsOf = ({ request }: Review) => request['objects'] as Body[]

function convert(review: Review): Reply {
  const desired = review.request['desiredAPIVersion']
  const bad = objectsOf(review).find(({ spec }) => spec['bad'])
  const response =
    bad === undefined
      ? {
          convertedObjects: objectsOf(review).map((one) => ({ ...one, apiVersion: desired })),
          result: { status: 'Success' },
        }
      : { result: { status: 'Failed', message: `cannot convert ${bad.metadata.name}` } }
  return { body: { ...review, response: { uid: review.request.uid, ...response } } }
}

/** The names of the objects of each review, in the order of the reviews. */
const asked = () => webhook.reviews('/convert').map((review) => objectsOf(review).map(({ metadata }) => metadata.name))

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const versionOf = (name: string, storage: boolean): Tree => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: 'object', properties: { spec: anything } } },
})

async function define(stored = 'v1', rest: Tree = {}): Promise<void> {
  const versions = ['v1', 'v2', 'v3'].map((name) => ({ ...versionOf(name, name === stored), ...rest }))
  const conversion = {
    strategy: 'Webhook',
    webhook: { clientConfig: webhook.at('/convert'), conversionReviewVersions: ['v1'] },
  }
  const definition = crd({ group, kind: 'Widget', versions, spec: { conversion } })
  const present = await ask(api, 'GET', `${crds}/widgets.${group}`)
  if (present.status === 404) await ask(api, 'POST', crds, { body: definition })
  else await ask(api, 'PUT', `${crds}/widgets.${group}`, { body: { ...present.body, spec: definition['spec'] } })
}

async function create(name: string, spec: Tree = {}, version = 'v1', namespace = 'default'): Promise<void> {
  const { status } = await ask(api, 'POST', path(version, '', namespace), {
    body: object(`${group}/${version}`, 'Widget', name, { spec }),
  })
  expect(status).toBe(201)
}

const get = async (version: string, rest: string) => (await ask(api, 'GET', path(version, rest))).status

beforeEach(async () => {
  clock = new ManualClock()
  api = new ApiServer({ clock })
  await define()
  webhook.on('/convert', ({ review }) => convert(review))
})

afterEach(() => api.close())

describe('calls of conversion webhooks', () => {
  test('the conversion webhook is not called for requests in the storage version', async () => {
    const watch = await InProcessWatch.open(api, path('v1'))
    await create('one')
    expect(await get('v1', '/one')).toBe(200)
    await ask(api, 'PATCH', path('v1', '/one'), { body: { spec: { a: 1 } } })
    await ask(api, 'DELETE', path('v1', '/one'))
    expect([await watch.next(), await watch.next(), await watch.next()]).toEqual([
      'ADDED one',
      'MODIFIED one',
      'DELETED one',
    ])
    expect(asked()).toEqual([])
    await watch.leave()
  })

  test('the conversion webhook is called once for each state and version, however many requests need it', async () => {
    await create('one')
    await Promise.all([get('v2', '/one'), get('v2', '/one'), get('v2', ''), get('v3', '/one')])
    expect(asked()).toEqual([['one'], ['one']])
    await Promise.all([get('v2', '/one'), get('v3', ''), get('v2', '/one?fieldSelector=')])
    expect(asked().length).toBe(2)
    await ask(api, 'PATCH', path('v1', '/one'), { body: { spec: { a: 1 } } })
    await get('v2', '/one')
    expect(asked().length).toBe(3)
  })

  test('the conversion webhook is called again when the cached conversion is older than 200 ms', async () => {
    await create('one')
    await get('v2', '/one')
    await clock.advance(201)
    webhook.on('/convert', () => ({ status: 500 }))
    expect(await get('v2', '/one')).toBe(500)
    webhook.on('/convert', ({ review }) => convert(review))
    expect(await get('v2', '/one')).toBe(200)
  })

  test('a list calls the conversion webhook in one review, only for objects without a cached conversion', async () => {
    for (let index = 0; index < 500; index += 1) await create(`n${index}`)
    expect(await get('v2', '')).toBe(200)
    expect(asked().map((names) => names.length)).toEqual([500])
    await create('more')
    expect(await get('v2', '')).toBe(200)
    expect(asked().slice(1)).toEqual([['more']])
  })

  test('a list calls the conversion webhook only for the objects of its page and namespace', async () => {
    for (const name of ['a', 'b', 'c']) await create(name)
    await ask(api, 'POST', '/api/v1/namespaces', { body: object('v1', 'Namespace', 'other') })
    await create('d', {}, 'v1', 'other')
    await get('v2', '?limit=2')
    expect(asked()).toEqual([['a', 'b']])
    await get('v2', '?fieldSelector=metadata.name%3Dc')
    expect(asked()).toEqual([['a', 'b'], ['c']])
    await get('v2', '')
    expect(asked().length).toBe(2)
  })

  test('a list of large objects calls the conversion webhook in several reviews', async () => {
    const text = 'x'.repeat(700_000)
    for (const name of ['a', 'b', 'c']) await create(name, { text })
    expect(await get('v2', '')).toBe(200)
    expect(asked().sort()).toEqual([['a', 'b'], ['c']])
  })

  test('a write in another version calls the conversion webhook twice', async () => {
    await create('one', {}, 'v2')
    expect(asked()).toEqual([['one'], ['one']])
    await get('v2', '/one')
    expect(asked().length).toBe(2)
    await ask(api, 'PATCH', path('v2', '/one'), { body: { spec: { a: 1 } } })
    expect(asked().length).toBe(4)
    await ask(api, 'DELETE', path('v2', '/one'))
    expect(asked().length).toBe(4)
  })

  test('many watches call the conversion webhook once for each change, and not for the deletion', async () => {
    const watches = await Promise.all([1, 2, 3].map(() => InProcessWatch.open(api, path('v2'))))
    await create('one')
    for (const watch of watches) expect(await watch.next()).toBe('ADDED one')
    await ask(api, 'DELETE', path('v1', '/one'))
    for (const watch of watches) expect(await watch.next()).toBe('DELETED one')
    expect(asked()).toEqual([['one']])
    for (const watch of watches) await watch.leave()
  })

  test('a watch with a label selector converts the old and the new state of a change', async () => {
    const watch = await InProcessWatch.open(api, `${path('v2')}?labelSelector=a%3Db`)
    await create('one')
    await ask(api, 'PATCH', path('v1', '/one'), { body: { metadata: { labels: { a: 'b' } } } })
    expect(await watch.next()).toBe('ADDED one')
    await ask(api, 'PATCH', path('v1', '/one'), { body: { metadata: { labels: { a: 'c' } } } })
    expect(await watch.next()).toBe('DELETED one')
    expect(asked().flat().length).toBe(3)
    await watch.leave()
  })

  test('a failed conversion is not cached, and a changed CRD invalidates cached conversions', async () => {
    await create('one')
    webhook.on('/convert', () => ({ status: 500 }))
    expect(await get('v2', '/one')).toBe(500)
    webhook.on('/convert', ({ review }) => convert(review))
    expect(await get('v2', '/one')).toBe(200)
    expect(asked()).toEqual([['one']])
    await define('v1', { deprecated: true })
    expect(await get('v2', '/one')).toBe(200)
    expect(asked()).toEqual([['one'], ['one']])
  })

  test('the conversion webhook is called for objects of the former storage version', async () => {
    await create('old')
    await define('v2')
    await create('new', {}, 'v2')
    expect([await get('v1', '/old'), await get('v2', '/new')]).toEqual([200, 200])
    expect(asked()).toEqual([])
    expect(await get('v3', '')).toBe(200)
    expect(asked().sort()).toEqual([['new'], ['old']])
  })

  test('the server counts the calls of conversion webhooks in flight', async () => {
    await create('one')
    let calls = 0
    webhook.on('/convert', ({ review }) => {
      calls = api.webhookCalls
      return convert(review)
    })
    await get('v2', '/one')
    expect([calls, api.webhookCalls]).toEqual([1, 0])
  })
})

describe('objects that cannot be converted', () => {
  beforeEach(async () => {
    for (let index = 0; index < 499; index += 1) await create(`n${index}`)
    await create('bad', { bad: true })
  })

  test('one object of 500 that cannot be converted fails lists, and nothing else', async () => {
    const { status, body } = await ask(api, 'GET', path('v2'))
    const message = `conversion webhook for ${group}/v1, Kind=Widget failed: cannot convert bad`
    expect([status, body['message']]).toEqual([500, message])
    expect(await get('v2', '/bad')).toBe(500)
    for (let from = 0; from < 499; from += 10) {
      const names = Array.from({ length: Math.min(10, 499 - from) }, (_, index) => `/n${from + index}`)
      const others = await Promise.all(names.map((name) => get('v2', name)))
      expect(new Set(others)).toEqual(new Set([200]))
    }
    expect((await ask(api, 'GET', path('v1'))).status).toBe(200)
    const first = await ask(api, 'GET', path('v2', '?limit=1'))
    // The object "bad" is the first in the order of names.
    expect([first.status, await get('v2', '?labelSelector=a&limit=1')]).toEqual([500, 500])
    await ask(api, 'DELETE', path('v1', '/bad'))
    expect(await get('v2', '')).toBe(200)
    await create('z-bad', { bad: true })
    const page = await ask(api, 'GET', path('v2', '?limit=499'))
    const token = (page.body['metadata'] as Tree)['continue']
    expect([page.status, await get('v2', `?limit=1&continue=${token}`)]).toEqual([200, 500])
  })

  test('an object that cannot be converted ends a watch with the reason, after all earlier events', async () => {
    const from = api.version
    const watch = await InProcessWatch.open(api, `${path('v2')}?resourceVersion=${from}`)
    await Promise.all([create('x'), create('y'), create('worse', { bad: true }), create('z')])
    const seen: unknown[] = []
    for (let event = await watch.next(); event !== undefined; event = await watch.next()) seen.push(event)
    expect(seen).toEqual(['ADDED x', 'ADDED y', 'ERROR 500'])
    const begun = await InProcessWatch.open(api, path('v2'))
    expect([await begun.next(), await begun.next()]).toEqual(['ERROR 500', undefined])
    expect(api.openWatches).toBe(0)
  })
})

describe('a conversion webhook that is down', () => {
  const breakDown = () => webhook.on('/convert', () => ({ instead: 'break' }))

  test('garbage collection and the deletion of namespaces and CRDs work while the conversion webhook is down', async () => {
    await ask(api, 'POST', '/api/v1/namespaces', { body: object('v1', 'Namespace', 'other') })
    await create('owner')
    const { body } = await ask(api, 'GET', path('v1', '/owner'))
    const { uid } = body['metadata'] as { uid: string }
    const ownerReferences = [{ apiVersion: `${group}/v1`, kind: 'Widget', name: 'owner', uid }]
    const owned = object(`${group}/v1`, 'Widget', { name: 'owned', ownerReferences })
    expect((await ask(api, 'POST', path('v1'), { body: owned })).status).toBe(201)
    await create('elsewhere', {}, 'v1', 'other')
    // All objects are now in a former storage version.
    await define('v2')
    breakDown()
    await ask(api, 'DELETE', path('v1', '/owner'))
    expect(await get('v1', '/owned')).toBe(404)
    await ask(api, 'DELETE', '/api/v1/namespaces/other')
    expect((await ask(api, 'GET', '/api/v1/namespaces/other')).status).toBe(404)
    await create('last', {}, 'v2')
    await ask(api, 'DELETE', `${crds}/widgets.${group}`)
    expect((await ask(api, 'GET', `${crds}/widgets.${group}`)).status).toBe(404)
    expect(asked()).toEqual([])
  })

  test('a namespace with objects of a removed version is deleted while the conversion webhook is down', async () => {
    await ask(api, 'POST', '/api/v1/namespaces', { body: object('v1', 'Namespace', 'other') })
    await create('one', {}, 'v1', 'other')
    await define('v2')
    await ask(api, 'PATCH', `${crds}/widgets.${group}/status`, { body: { status: { storedVersions: ['v2'] } } })
    const only = { spec: { versions: [versionOf('v2', true)] } }
    expect((await ask(api, 'PATCH', `${crds}/widgets.${group}`, { body: only })).status).toBe(200)
    expect((await ask(api, 'GET', path('v2', '/one', 'other'))).status).toBe(500)
    await ask(api, 'DELETE', '/api/v1/namespaces/other')
    expect((await ask(api, 'GET', '/api/v1/namespaces/other')).status).toBe(404)
  })

  test('a watch with too many unconverted changes is closed', async () => {
    api.close()
    api = new ApiServer({ watchers: { pendingChanges: 3 } })
    await define()
    webhook.on('/convert', () => ({ instead: 'hang' }))
    const watch = await InProcessWatch.open(api, path('v2'))
    for (const name of ['a', 'b', 'c', 'd', 'e']) await create(name)
    expect(await watch.next()).toBeUndefined()
  })
})
