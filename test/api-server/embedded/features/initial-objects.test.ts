/** The embedded server in process: its initial objects, requests by `send`, and loading of objects. */
import { ApiServer } from 'kopf/server'
import { describe, expect, test } from 'vitest'
import { loadObjects } from '../../../../src/server/load.ts'
import { crd } from '../../../support/crds.ts'
import { ask, InProcessWatch } from '../../../support/in-process.ts'
import { configMap, namespace, object } from '../../../support/objects.ts'

const path = '/api/v1/namespaces/default/configmaps'
const widget = object('example.com/v1', 'Widget', 'one')

describe('initial state', () => {
  test('a new server has the system namespaces', async () => {
    const { body } = await ask(new ApiServer(), 'GET', '/api/v1/namespaces')
    const items = body['items'] as Array<{ metadata: { name: string; labels: object }; status: object }>
    expect(items.map(({ metadata }) => metadata.name)).toEqual([
      'default',
      'kube-node-lease',
      'kube-public',
      'kube-system',
    ])
    expect(items[0]).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': 'default' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    })
  })

  test('two in-process servers share no objects', async () => {
    const [one, other] = [new ApiServer(), new ApiServer()]
    await ask(one, 'POST', path, { body: configMap('a') })
    expect((await ask(other, 'GET', `${path}/a`)).status).toBe(404)
  })
})

describe('requests in process', () => {
  test('an in-process request and its response are plain values', async () => {
    const api = new ApiServer()
    const created = await api.send({
      method: 'POST',
      path,
      body: new TextEncoder().encode(JSON.stringify(configMap('a'))),
    })
    expect(created.status).toBe(201)
    expect(created.headers['content-type']).toBe('application/json')
    for await (const chunk of created.body) expect(JSON.parse(new TextDecoder().decode(chunk)).metadata.name).toBe('a')
  })

  test('the version of the server is that of the last write', async () => {
    const api = new ApiServer()
    const { body } = await ask(api, 'POST', path, { body: configMap('a') })
    expect(body['metadata']).toMatchObject({ resourceVersion: api.version })
  })

  test('an in-process request with too large a body is refused', async () => {
    const { status } = await ask(new ApiServer(), 'POST', path, { body: ' '.repeat(3 * 1024 * 1024 + 1) })
    expect(status).toBe(413)
  })

  test('an in-process request that is aborted before it starts has no effect', async () => {
    const api = new ApiServer()
    const request = { method: 'POST', path, body: JSON.stringify(configMap('a')) }
    await expect(api.send(request, AbortSignal.abort(new Error('given up')))).rejects.toThrow('given up')
    expect((await ask(api, 'GET', `${path}/a`)).status).toBe(404)
  })

  test('the server counts open watches, and closes them when it is closed', async () => {
    const api = new ApiServer()
    const watches = [await InProcessWatch.open(api, path), await InProcessWatch.open(api, '/api/v1/secrets')]
    expect(api.openWatches).toBe(2)
    await ask(api, 'POST', path, { body: configMap('a') })
    api.close()
    expect(api.openWatches).toBe(0)
    expect([await watches[0]!.next(), await watches[0]!.next(), await watches[1]!.next()]).toEqual([
      'ADDED a',
      undefined,
      undefined,
    ])
  })

  test('many watches can share one abort signal', async () => {
    const api = new ApiServer()
    const stop = new AbortController()
    const warnings: Error[] = []
    const listen = (warning: Error) => warnings.push(warning)
    process.on('warning', listen)
    const watches = await Promise.all(Array.from({ length: 30 }, () => InProcessWatch.open(api, path, stop.signal)))
    stop.abort()
    expect(await Promise.all(watches.map((watch) => watch.next()))).toEqual(Array(30).fill(undefined))
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', listen)
    expect(api.openWatches).toBe(0)
    expect(warnings).toEqual([])
  })
})

describe('loading objects', () => {
  test('loadObjects creates the objects in order, a CRD before its custom objects', async () => {
    const api = new ApiServer()
    const list = {
      apiVersion: 'v1',
      kind: 'List',
      items: [namespace('own'), configMap({ name: 'a', namespace: 'own' })],
    }
    const loaded = await loadObjects(api, [crd({ group: 'example.com', kind: 'Widget' }), widget, list])
    expect(loaded).toEqual([
      'customresourcedefinitions.apiextensions.k8s.io/widgets.example.com',
      'widgets.example.com/one',
      'namespaces/own',
      'configmaps/a',
    ])
    expect((await ask(api, 'GET', '/apis/example.com/v1/namespaces/default/widgets/one')).status).toBe(200)
    expect((await ask(api, 'GET', '/api/v1/namespaces/own/configmaps/a')).status).toBe(200)
  })

  test('loadObjects returns generated names', async () => {
    const [name] = await loadObjects(new ApiServer(), [configMap({ generateName: 'some-' })])
    expect(name).toMatch(/^configmaps\/some-.{5}$/)
  })

  test.each<[string, unknown, string]>([
    ['null', null, 'Cannot load an object: it has no apiVersion and kind: null'],
    ['text', 'hello', 'Cannot load an object: it has no apiVersion and kind: "hello"'],
    ['a list', [1], 'Cannot load an object: it has no apiVersion and kind: [1]'],
    [
      'an object without a kind',
      { apiVersion: 'v1' },
      'Cannot load an object: it has no apiVersion and kind: {"apiVersion":"v1"}',
    ],
    ['null in a List', { apiVersion: 'v1', kind: 'List', items: [null] }, 'it has no apiVersion and kind: null'],
    [
      'a kind that is not served',
      widget,
      'Cannot load Widget "one": the server has no Widget in example.com/v1; does its CRD come before it?',
    ],
    [
      'a malformed apiVersion',
      object('a/b/c', 'Widget', 'one'),
      'Cannot load Widget "one": "a/b/c" is not an apiVersion',
    ],
    ['malformed metadata', { apiVersion: 'v1', kind: 'ConfigMap', metadata: null }, 'Cannot load ConfigMap ""'],
    [
      'an invalid object',
      configMap('Not_A_Name'),
      'Cannot load ConfigMap "Not_A_Name": ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value',
    ],
    [
      'unknown fields',
      configMap('a', { dtaa: {} }),
      'Cannot load ConfigMap "a": ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dtaa"',
    ],
    [
      'a missing namespace',
      configMap({ name: 'a', namespace: 'missing' }),
      'Cannot load ConfigMap "a": namespaces "missing" not found',
    ],
    [
      'an apiVersion with path segments',
      object('../..', 'Widget', 'one'),
      'Cannot load Widget "one": the server has no Widget in ../..',
    ],
  ])('loadObjects stops at %s with a clear error', async (_, given, message) => {
    const loading = loadObjects(new ApiServer(), [given])
    await expect(loading).rejects.toThrow(message)
    await expect(loading).rejects.toMatchObject({ code: 'KOPF_SERVER_LOAD' })
  })
})

test('the history of an object that changes often is bounded', async () => {
  const api = new ApiServer({ history: { changes: 500 } })
  await ask(api, 'POST', path, { body: configMap('a') })
  const { version } = api
  const events = await InProcessWatch.open(api, `${path}?resourceVersion=${version}`)
  for (let count = 1; count <= 2000; count += 1) {
    await ask(api, 'PATCH', `${path}/a`, { body: { data: { count: String(count) } } })
    if (count % 100 === 0) for (let read = 0; read < 100; read += 1) expect(await events.next()).toBe('MODIFIED a')
  }
  const from = async (back: number) => {
    const watch = await InProcessWatch.open(api, `${path}?resourceVersion=${Number(api.version) - back}`)
    const first = await watch.next()
    await watch.leave()
    return first
  }
  // The history keeps at least three quarters of its limit, and at most the limit.
  expect(await from(374)).toBe('MODIFIED a')
  expect(await from(501)).toBe('ERROR 410')
  await events.leave()
})
