/** The client that handlers get, on the embedded server. */
import { describe, expect, test } from 'vitest'
import { isAlreadyExists, isConflict, isGone, isNotFound } from '../../src/client/api-error.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { discover } from '../../src/client/discovery/discovery.ts'
import type { ApiCall, Session } from '../../src/client/session.ts'
import type { Resource, ResourceDefinition, ResourceLike } from '../../src/kube/resources/resources.ts'
import { failureOf, type Reach, reaches, sessionOn, startTarget, type Target } from './client-targets.ts'

interface Fixture extends Target {
  readonly client: Client
  readonly session: Session
}

async function startClient(reach: Reach, namespace?: string): Promise<Fixture> {
  const target = await startTarget(reach)
  const session = sessionOn(target.transport)
  return { ...target, session, client: createClient({ session, resolve: resolverOn(session), namespace }) }
}

/** Resolves by plural or kind alone, which is enough for these tests. */
function resolverOn(session: Session): (like: ResourceLike) => Promise<Resource> {
  const known = discover(session)
  return async (like) => {
    const keywords = typeof like === 'string' ? { plural: like } : ((like as ResourceDefinition).selector ?? like)
    const wanted = Object.entries(keywords)
    const { resources } = await known
    const found = resources.find((one) => wanted.every(([key, value]) => one[key as keyof Resource] === value))
    if (found === undefined) throw new Error(`Not served: ${JSON.stringify(keywords)}`)
    return found
  }
}

interface ConfigMap {
  apiVersion: string
  kind: string
  metadata: {
    name?: string
    namespace?: string
    labels?: Record<string, string>
    resourceVersion?: string
    finalizers?: string[]
  }
  data?: Record<string, string>
}
const configMaps: ResourceDefinition<ConfigMap> = { selector: { group: '', version: 'v1', plural: 'configmaps' } }
const settings = (data: Record<string, string> = {}) => ({ metadata: { name: 'settings' }, data })

describe.each(reaches)('client %s', (reach) => {
  test('the client creates, gets, patches, replaces and deletes objects', async () => {
    const { client } = await startClient(reach, 'default')
    const created = await client.create(configMaps, settings({ color: 'blue' }))
    expect(created).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default' } })
    const color: string | undefined = (await client.get(configMaps, 'settings')).data?.['color']
    expect(color).toBe('blue')
    expect((await client.patch(configMaps, 'settings', { data: { color: 'red' } })).data).toEqual({ color: 'red' })
    const operations = [{ op: 'add', path: '/data/size', value: 'L' }] as const
    expect((await client.patch(configMaps, 'settings', operations)).data).toEqual({ color: 'red', size: 'L' })
    const patched = await client.patch('configmaps', 'settings', { data: { size: null } })
    expect(patched['data']).toEqual({ color: 'red' })
    expect((await client.replace(configMaps, { ...patched, data: {} })).metadata.name).toBe('settings')
    expect(isConflict(await failureOf(client.replace(configMaps, { ...created, data: {} })))).toBe(true)
    expect(isAlreadyExists(await failureOf(client.create(configMaps, settings())))).toBe(true)
    expect(await client.delete(configMaps, 'settings')).toBeUndefined()
    expect(isNotFound(await failureOf(client.get(configMaps, 'settings')))).toBe(true)
    expect(isNotFound(await failureOf(client.delete(configMaps, 'settings')))).toBe(true)
  })

  test('the client takes the resource from the apiVersion and kind of an object', async () => {
    const { client } = await startClient(reach, 'default')
    const object = { apiVersion: 'v1', kind: 'ConfigMap', ...settings({ a: 'b' }) }
    expect((await client.create(object)).data).toEqual({ a: 'b' })
    expect((await client.replace({ ...object, data: { a: 'c' } })).data).toEqual({ a: 'c' })
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { generateName: 'x-' } }
    expect((await client.create(lease)).metadata).toMatchObject({ namespace: 'default' })
    expect(await failureOf(client.create({ ...object, apiVersion: 'a/b/c' }))).toMatchObject({ code: 'KOPF_OBJECT' })
  })

  test('the client refuses an object without apiVersion and kind, and does not show its content', async () => {
    const { client } = await startClient(reach, 'default')
    // In the types of kubernetes-types both fields are optional, so that the compiler accepts this.
    const object: { apiVersion?: string; kind?: string; metadata: object; secret: string } = {
      metadata: {},
      secret: 'xyz',
    }
    const calls = [() => client.create(object), () => client.apply(object), () => client.replace(object)]
    for (const call of calls) {
      expect(await failureOf(call())).toMatchObject({
        code: 'KOPF_OBJECT',
        message:
          'Cannot write an object without "apiVersion" and "kind": add them, or name the resource before the object',
      })
    }
    expect(await client.list(configMaps)).toEqual([])
  })

  test('the client applies an object by a server-side apply patch', async () => {
    const { client, server } = await startClient(reach, 'default')
    const object = { apiVersion: 'v1', kind: 'ConfigMap', ...settings({ a: 'b' }) }
    const result = await client.apply(object).catch((error) => error)
    const [record] = server.api.requests.last({ method: 'PATCH' })
    expect(record?.path).toBe('/api/v1/namespaces/default/configmaps/settings?fieldManager=kopf')
    expect(result).toBeDefined()
    await client.apply(configMaps, settings(), { fieldManager: 'painter', force: true }).catch(() => {})
    expect(server.api.requests.last({ method: 'PATCH' }).at(-1)?.path).toContain('?fieldManager=painter&force=true')
    expect(await failureOf(client.apply(configMaps, {}))).toMatchObject({
      message: 'Cannot apply a ConfigMap without a name: give metadata.name',
    })
  })

  test('the client lists all pages', async () => {
    const { client, session, server } = await startClient(reach, 'default')
    for (let index = 0; index < 1100; index += 1) {
      const metadata = { name: `c${String(index).padStart(4, '0')}`, labels: { half: String(index % 2) } }
      await server.api.send({
        method: 'POST',
        path: '/api/v1/namespaces/default/configmaps',
        body: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata }),
      })
    }
    server.api.requests.clear()
    const all = await client.list(configMaps)
    expect(all).toHaveLength(1100)
    expect(server.api.requests.counts()['list configmaps']).toBe(3)
    expect(all[0]).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c0000' } })
    expect(await client.list(configMaps, { labelSelector: { half: '1' } })).toHaveLength(550)
    expect(await client.list(configMaps, { fieldSelector: { 'metadata.name': 'c0007' } })).toHaveLength(1)
    expect(await client.list(configMaps, { labelSelector: 'half in (0,1)', namespace: null })).toHaveLength(1100)
    expect(await client.list(configMaps, { namespace: 'kube-public' })).toEqual([])
    let pages = 0
    const compacting: Session = {
      request: (call, signal) => {
        pages += 1
        if (pages === 2) server.api.compact()
        return session.request(call, signal)
      },
      stream: (call, signal) => session.stream(call, signal),
    }
    const other = createClient({ session: compacting, resolve: resolverOn(session), namespace: 'default' })
    expect(await other.list(configMaps)).toHaveLength(1100)
  })

  test('the namespace of a client request is the option, the one of the object, or the default of the client', async () => {
    const { client, session, server } = await startClient(reach, 'kube-public')
    const own = { ...settings(), metadata: { name: 'settings', namespace: 'kube-system' } }
    expect((await client.create(configMaps, settings())).metadata.namespace).toBe('kube-public')
    expect((await client.create(configMaps, own)).metadata.namespace).toBe('kube-system')
    expect((await client.create(configMaps, settings(), { namespace: 'default' })).metadata.namespace).toBe('default')
    expect(await client.list(configMaps)).toHaveLength(1)
    expect(await client.list(configMaps, { namespace: null })).toHaveLength(3)
    const bare = createClient({ session, resolve: resolverOn(session) })
    expect(await bare.list(configMaps)).toHaveLength(3)
    const message =
      'Cannot tell the namespace of ConfigMap "settings": configmaps are namespaced, and the object being handled is not; give { namespace }'
    for (const deed of [
      () => bare.get(configMaps, 'settings'),
      () => bare.delete(configMaps, 'settings'),
      () => bare.patch(configMaps, 'settings', {}),
      () => bare.create(configMaps, settings()),
      () => bare.apply(configMaps, settings()),
    ]) {
      server.api.requests.clear()
      expect(await failureOf(deed())).toMatchObject({ code: 'KOPF_NAMESPACE', message })
      expect(server.api.requests.last({ resource: 'configmaps' })).toEqual([])
    }
    expect((await bare.get('namespaces', 'default', { namespace: 'ignored' })).metadata.name).toBe('default')
  })

  test('the client changes nothing in dry runs', async () => {
    const { client } = await startClient(reach, 'default')
    await client.create(configMaps, settings({ a: 'b' }), { dryRun: true })
    expect(await client.list(configMaps)).toEqual([])
    await client.create(configMaps, settings({ a: 'b' }))
    await client.patch(configMaps, 'settings', { data: { a: 'c' } }, { dryRun: true })
    await client.delete(configMaps, 'settings', { dryRun: true })
    expect((await client.get(configMaps, 'settings')).data).toEqual({ a: 'b' })
  })

  test('the client passes preconditions of a deletion, and returns an object that is kept by a finalizer', async () => {
    const { client } = await startClient(reach, 'default')
    await client.create(configMaps, { metadata: { name: 'settings', finalizers: ['example.com/x'] } })
    const wrong = { preconditions: { uid: '00000000-0000-0000-0000-000000000000' } }
    expect(isConflict(await failureOf(client.delete(configMaps, 'settings', wrong)))).toBe(true)
    const left = await client.delete(configMaps, 'settings', { propagationPolicy: 'Background', gracePeriodSeconds: 0 })
    expect(left?.metadata).toMatchObject({ name: 'settings', deletionTimestamp: expect.any(String) })
  })

  test('the client reads and writes subresources', async () => {
    const { client, server } = await startClient(reach, 'default')
    await client.create('pods', { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } })
    const status = { status: { message: 'hi' } }
    expect((await client.patch('pods', 'p', status, { subresource: 'status' })).status?.message).toBe('hi')
    expect((await client.get('pods', 'p', { subresource: 'status' })).status?.message).toBe('hi')
    const record = server.api.requests.last({ method: 'PATCH' }).at(-1)
    expect(record).toMatchObject({ subresource: 'status', name: 'p' })
  })

  test('a client watch yields events until the loop is left', async () => {
    const { client, server } = await startClient(reach, 'default')
    await client.create(configMaps, settings({ a: 'b' }))
    const events: string[] = []
    for await (const { type, object } of client.watch(configMaps)) {
      const name: string | undefined = object.metadata.name
      events.push(`${type} ${name} ${object.data?.['a']}`)
      if (type === 'ADDED') await client.patch(configMaps, 'settings', { data: { a: 'c' } })
      if (type === 'MODIFIED') await client.delete(configMaps, 'settings')
      if (type === 'DELETED') break
    }
    expect(events).toEqual(['ADDED settings b', 'MODIFIED settings c', 'DELETED settings c'])
    while (server.api.openWatches > 0) await new Promise((resolve) => setImmediate(resolve))
  })

  test('a client watch from an expired resource version fails with 410', async () => {
    const { client, server } = await startClient(reach, 'default')
    await client.create(configMaps, settings())
    await client.patch(configMaps, 'settings', { data: { a: 'c' } })
    server.api.compact()
    const result = (async () => {
      for await (const _ of client.watch(configMaps, { resourceVersion: '1' }));
    })()
    expect(isGone(await failureOf(result))).toBe(true)
  })

  test('a client watch ends with its signal', async () => {
    const { client } = await startClient(reach, 'default')
    const controller = new AbortController()
    const reason = new Error('enough')
    await client.create(configMaps, settings())
    const result = (async () => {
      for await (const _ of client.watch(configMaps, { signal: controller.signal })) controller.abort(reason)
    })()
    expect(await failureOf(result)).toBe(reason)
  })

  test.each(['../x', 'a/b', 'a/status', '%2e', '..', ''])('the client never sends the name %j', async (name) => {
    const { client, server } = await startClient(reach, 'default')
    await client.list(configMaps)
    server.api.requests.clear()
    for (const deed of [
      () => client.get(configMaps, name),
      () => client.delete(configMaps, name),
      () => client.patch(configMaps, name, {}),
      () => client.get(configMaps, 'a', { namespace: name }),
      () => client.list(configMaps, { namespace: name }),
    ]) {
      expect(await failureOf(deed())).toMatchObject({ code: 'KOPF_NAME' })
    }
    expect(server.api.requests.last()).toEqual([])
  })
})

test('the client accepts a resource from discovery without resolving it', async () => {
  const { session } = await startClient('in process')
  const { resources } = await discover(session)
  const pods = resources.find(({ plural }) => plural === 'pods')!
  const resolve = () => Promise.reject(new Error('nobody is to be asked'))
  expect(await createClient({ session, resolve }).list(pods)).toEqual([])
})

test('the default signal of the client applies to calls without a signal', async () => {
  const { session } = await startClient('in process')
  const reason = new Error('enough')
  const client = createClient({ session, resolve: resolverOn(session), signal: AbortSignal.abort(reason) })
  expect(await failureOf(client.list(configMaps))).toBe(reason)
  expect(await client.list(configMaps, { signal: new AbortController().signal })).toEqual([])
})

test.each([
  [{ a: 1 }, undefined, 'application/merge-patch+json'],
  [[], undefined, 'application/json-patch+json'],
  [{ a: 1 }, 'merge', 'application/merge-patch+json'],
  [[], 'json', 'application/json-patch+json'],
  [{ a: 1 }, 'strategic', 'application/strategic-merge-patch+json'],
] as const)('the client sends the patch %j of type %s as %s', async (patch, type, contentType) => {
  const calls: ApiCall[] = []
  const request: Session['request'] = async (call) => {
    calls.push(call)
    return {}
  }
  const { session } = await startClient('in process')
  const client = createClient({ session: { ...session, request }, resolve: resolverOn(session), namespace: 'default' })
  await client.patch(configMaps, 'settings', patch, { type })
  expect(calls).toMatchObject([{ method: 'PATCH', body: patch, contentType }])
})
