/** The embedded server as users meet it in process: what is there at the start, and what they put into it. */
import { ApiServer } from 'kopf/server'
import { describe, expect, test } from 'vitest'
import { loadObjects } from '../../src/server/load.ts'
import { crd } from '../support/crds.ts'
import { ask, InProcessWatch } from '../support/in-process.ts'
import { configMap, namespace, object } from '../support/objects.ts'

const path = '/api/v1/namespaces/default/configmaps'
const widget = object('example.com/v1', 'Widget', 'one')

describe('at the start', () => {
  test('there are the namespaces that are always there', async () => {
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

  test('two servers know nothing of each other', async () => {
    const [one, other] = [new ApiServer(), new ApiServer()]
    await ask(one, 'POST', path, { body: configMap('a') })
    expect((await ask(other, 'GET', `${path}/a`)).status).toBe(404)
  })
})

describe('in process', () => {
  test('a request and its answer are plain values', async () => {
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

  test('the version is that of the last write', async () => {
    const api = new ApiServer()
    const { body } = await ask(api, 'POST', path, { body: configMap('a') })
    expect(body['metadata']).toMatchObject({ resourceVersion: api.version })
  })

  test('a body that is too large is refused', async () => {
    const { status } = await ask(new ApiServer(), 'POST', path, { body: ' '.repeat(3 * 1024 * 1024 + 1) })
    expect(status).toBe(413)
  })

  test('a request that was given up before it began changes nothing', async () => {
    const api = new ApiServer()
    const request = { method: 'POST', path, body: JSON.stringify(configMap('a')) }
    await expect(api.send(request, AbortSignal.abort(new Error('given up')))).rejects.toThrow('given up')
    expect((await ask(api, 'GET', `${path}/a`)).status).toBe(404)
  })

  test('watches are counted while they are open, and end with the server', async () => {
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

  test('many watches can hang on one signal, and end with it', async () => {
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

describe('loading', () => {
  test('creates what it is given, in that order: a definition, and at once its objects', async () => {
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

  test('says the names that the server made up', async () => {
    const [name] = await loadObjects(new ApiServer(), [configMap({ generateName: 'some-' })])
    expect(name).toMatch(/^configmaps\/some-.{5}$/)
  })

  test.each<[string, unknown, string]>([
    ['nothing', null, 'Cannot load an object: it has no apiVersion and kind: null'],
    ['text', 'hello', 'Cannot load an object: it has no apiVersion and kind: "hello"'],
    ['a list', [1], 'Cannot load an object: it has no apiVersion and kind: [1]'],
    ['no kind', { apiVersion: 'v1' }, 'Cannot load an object: it has no apiVersion and kind: {"apiVersion":"v1"}'],
    ['nothing in a list', { apiVersion: 'v1', kind: 'List', items: [null] }, 'it has no apiVersion and kind: null'],
    [
      'a kind that is not served',
      widget,
      'Cannot load Widget "one": the server has no Widget in example.com/v1; does its CRD come before it?',
    ],
    ['a strange version', object('a/b/c', 'Widget', 'one'), 'Cannot load Widget "one": "a/b/c" is no apiVersion'],
    ['metadata that is none', { apiVersion: 'v1', kind: 'ConfigMap', metadata: null }, 'Cannot load ConfigMap ""'],
    [
      'what the server refuses',
      configMap('Not_A_Name'),
      'Cannot load ConfigMap "Not_A_Name": ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value',
    ],
    [
      'fields that nobody knows',
      configMap('a', { dtaa: {} }),
      'Cannot load ConfigMap "a": ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dtaa"',
    ],
    [
      'a namespace that is not there',
      configMap({ name: 'a', namespace: 'missing' }),
      'Cannot load ConfigMap "a": namespaces "missing" not found',
    ],
    [
      'a path in disguise',
      object('../..', 'Widget', 'one'),
      'Cannot load Widget "one": the server has no Widget in ../..',
    ],
  ])('stops at %s, and says why', async (_, given, message) => {
    const loading = loadObjects(new ApiServer(), [given])
    await expect(loading).rejects.toThrow(message)
    await expect(loading).rejects.toMatchObject({ code: 'KOPF_SERVER_LOAD' })
  })
})

test('however often an object changes, what is kept of its past is bounded', async () => {
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
  // Three quarters of the limit are always kept, and never more than all of it.
  expect(await from(374)).toBe('MODIFIED a')
  expect(await from(501)).toBe('ERROR 410')
  await events.leave()
})
