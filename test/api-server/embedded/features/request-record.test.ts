/** The record of requests: counts by verb and resource, and the last requests with user and status. */
import { ApiServer, type RequestFilter } from 'kopf/server'
import { describe, expect, test } from 'vitest'
import { crd, crdsPath } from '../../../support/crds.ts'
import { ask, InProcessWatch } from '../../../support/in-process.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { configMap } from '../../../support/objects.ts'

const path = '/api/v1/namespaces/default/configmaps'
const widgets = '/apis/example.com/v1/namespaces/default/widgets'
const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' } }

test('a new server has recorded no requests', () => {
  const { requests } = new ApiServer()
  expect(requests.counts()).toEqual({})
  expect(requests.last()).toEqual([])
})

test('the request record counts each verb with its resource and subresource', async () => {
  const api = new ApiServer()
  await ask(api, 'POST', crdsPath, {
    body: crd({ group: 'example.com', kind: 'Widget', subresources: { status: {} } }),
  })
  await ask(api, 'POST', widgets, { body: widget })
  await ask(api, 'GET', widgets)
  await ask(api, 'GET', '/apis/example.com/v1/widgets?limit=1')
  await ask(api, 'GET', `${widgets}/w`)
  await ask(api, 'HEAD', `${widgets}/w`)
  await ask(api, 'PUT', `${widgets}/w`, { body: widget })
  await ask(api, 'PATCH', `${widgets}/w`, { body: {} })
  await ask(api, 'PATCH', `${widgets}/w/status`, { body: {} })
  await ask(api, 'DELETE', `${widgets}/w`)
  await ask(api, 'DELETE', widgets)
  await ask(api, 'OPTIONS', widgets)
  await ask(api, 'GET', '/apis/example.com/v1?timeout=5s')
  await ask(api, 'GET', '/healthz')
  expect(api.requests.counts()).toEqual({
    'create customresourcedefinitions.apiextensions.k8s.io': 1,
    'create widgets.example.com': 1,
    'list widgets.example.com': 2,
    'get widgets.example.com': 2,
    'update widgets.example.com': 1,
    'patch widgets.example.com': 1,
    'patch widgets.example.com/status': 1,
    'delete widgets.example.com': 1,
    'deletecollection widgets.example.com': 1,
    'other widgets.example.com': 1,
    'other /apis/example.com/v1': 1,
    'other /healthz': 1,
  })
})

test('the request record counts a watch when it opens', async () => {
  const api = new ApiServer()
  const watch = await InProcessWatch.open(api, path)
  expect(api.requests.counts()).toEqual({ 'watch configmaps': 1 })
  await watch.leave()
  expect(api.requests.counts()).toEqual({ 'watch configmaps': 1 })
})

test('the request record counts refused requests', async () => {
  const api = new ApiServer({ tokens: { t: { username: 'jane', groups: [] } } })
  await ask(api, 'GET', `${path}/missing`)
  await ask(api, 'GET', path, { headers: { authorization: 'Bearer wrong' } })
  await ask(api, 'GET', '/api/v1/pods/%zz')
  expect(api.requests.last().map(({ verb, status, user }) => [verb, status, user])).toEqual([
    ['get', 404, 'kubernetes-admin'],
    ['list', 401, ''],
    ['other', 400, ''],
  ])
})

describe('the last requests', () => {
  async function filled(): Promise<ApiServer> {
    const api = new ApiServer({ clock: new ManualClock(), tokens: { t: { username: 'jane', groups: [] } } })
    const headers = { authorization: 'Bearer t', 'user-agent': 'test/1' }
    await ask(api, 'POST', path, { body: configMap('a'), headers })
    await ask(api, 'GET', `${path}/a?pretty=true`)
    await ask(api, 'GET', `${path}/b`)
    await ask(api, 'GET', '/version')
    return api
  }

  test('the request record keeps the last requests in full', async () => {
    const [first, second] = (await filled()).requests.last()
    expect(first).toEqual({
      verb: 'create',
      method: 'POST',
      path,
      resource: 'configmaps',
      subresource: '',
      namespace: 'default',
      name: '',
      status: 201,
      user: 'jane',
      userAgent: 'test/1',
      time: Date.UTC(2030, 0, 1),
    })
    expect(second).toMatchObject({ name: 'a', path: `${path}/a?pretty=true`, userAgent: '', user: 'kubernetes-admin' })
  })

  test.each<[RequestFilter, number]>([
    [{}, 4],
    [{ verb: 'get' }, 2],
    [{ verb: 'other' }, 1],
    [{ resource: 'configmaps' }, 3],
    [{ name: 'a' }, 1],
    [{ status: 404 }, 1],
    [{ user: 'jane' }, 1],
    [{ verb: 'get', name: 'a', status: 200 }, 1],
    [{ verb: 'get', status: 201 }, 0],
    [{ namespace: '' }, 1],
    [{ method: 'GET' }, 3],
  ])('the request record filters the last requests by %j', async (filter, count) => {
    expect((await filled()).requests.last(filter)).toHaveLength(count)
  })

  test('the request record can be cleared', async () => {
    const { requests } = await filled()
    requests.clear()
    expect(requests.counts()).toEqual({})
    expect(requests.last()).toEqual([])
  })
})

test('the request record keeps the last 10,000 requests, and counts all of them', async () => {
  const api = new ApiServer()
  for (let index = 0; index < 25_000; index += 1) api.requests.add(record(`/nonsense/${index % 12_000}`))
  expect(api.requests.last()).toHaveLength(10_000)
  expect(api.requests.last().at(-1)!.path).toBe(`/nonsense/${24_999 % 12_000}`)
  const counts = api.requests.counts()
  expect(Object.keys(counts).length).toBeLessThanOrEqual(10_001)
  expect(Object.values(counts).reduce((sum, count) => sum + count)).toBe(25_000)
})

function record(target: string) {
  const empty = { resource: '', subresource: '', namespace: '', name: '', user: '', userAgent: '' }
  return { ...empty, verb: 'other' as const, method: 'GET', path: target, status: 404, time: 0 }
}

test('a recorded request keeps at most a thousand characters of its path and user agent', async () => {
  const api = new ApiServer()
  const headers = { 'user-agent': 'a'.repeat(16_000) }
  await ask(api, 'GET', `/api/v1/namespaces/default/configmaps?labelSelector=${'b'.repeat(14_000)}`, { headers })
  await ask(api, 'GET', `/${'c'.repeat(14_000)}`)
  const characters = JSON.stringify([api.requests.last(), api.requests.counts()]).length
  expect(characters).toBeLessThan(6000)
})
