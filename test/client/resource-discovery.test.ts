/** Discovery of the served resources, by aggregated discovery and by the older one request per version. */
import { describe, expect, test } from 'vitest'
import { type Discovered, discover } from '../../src/client/discovery/discovery.ts'
import type { ApiCall, Session } from '../../src/client/session.ts'
import type { JsonObject } from '../../src/kube/objects.ts'
import type { Resource } from '../../src/kube/resources/resources.ts'
import { crd, crdsPath } from '../support/crds.ts'
import { failureOf, networking, reaches, sessionOn, startTarget } from './client-targets.ts'

function find({ resources }: Discovered, plural: string, version = 'v1'): Resource | undefined {
  return resources.find((one) => one.plural === plural && one.version === version)
}

/** A session that never asks for aggregated discovery. */
function oldFashioned(session: Session): Session {
  return {
    ...session,
    request: ({ accept: _, ...call }: ApiCall, signal) => session.request(call, signal),
    stream: (call, signal) => session.stream(call, signal),
  }
}

const versions = [
  { name: 'v1', served: true, storage: true },
  { name: 'v1beta1', served: true, storage: false },
].map((version) => ({
  ...version,
  schema: { openAPIV3Schema: { type: 'object' } },
  subresources: { status: {} },
}))

const definition = crd({
  group: 'example.com',
  kind: 'Gadget',
  names: { shortNames: ['gd'], categories: ['all', 'toys'] },
  versions,
})

describe.each(reaches)('discovery %s', (reach) => {
  test('aggregated discovery finds all resources by one request per root', async () => {
    const { transport, server } = await startTarget(reach)
    const session = sessionOn(transport)
    await session.request({ method: 'POST', path: crdsPath, body: definition })
    server.api.requests.clear()
    const found = await discover(session)
    expect(
      server.api.requests
        .last()
        .map(({ path }) => path)
        .sort(),
    ).toEqual(['/api', '/apis'])
    expect(found.failures).toEqual([])
    expect(find(found, 'gadgets')).toEqual({
      group: 'example.com',
      version: 'v1',
      plural: 'gadgets',
      kind: 'Gadget',
      singular: 'gadget',
      shortcuts: ['gd'],
      categories: ['all', 'toys'],
      subresources: ['status'],
      namespaced: true,
      preferred: true,
      verbs: expect.arrayContaining(['get', 'list', 'watch', 'patch', 'delete', 'create', 'update']),
    })
    expect(find(found, 'gadgets', 'v1beta1')).toMatchObject({ preferred: false })
    expect(find(found, 'pods')).toMatchObject({
      group: '',
      kind: 'Pod',
      singular: 'pod',
      shortcuts: ['po'],
      subresources: expect.arrayContaining(['status']),
    })
    expect(find(found, 'namespaces')).toMatchObject({ namespaced: false })
  })

  test('unaggregated discovery finds the same resources as aggregated discovery', async () => {
    const { transport, server } = await startTarget(reach)
    const session = sessionOn(transport)
    await session.request({ method: 'POST', path: crdsPath, body: definition })
    const now = await discover(session)
    server.api.requests.clear()
    const then = await discover(oldFashioned(session))
    const sorted = ({ resources }: Discovered) =>
      resources
        .map((resource) => ({ ...resource, subresources: resource.subresources.toSorted() }))
        .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
    expect(sorted(then)).toEqual(sorted(now))
    expect(server.api.requests.last().length).toBeGreaterThan(10)
  })

  test('discovery of given groups returns only their resources', async () => {
    const { transport, server } = await startTarget(reach)
    const session = sessionOn(transport)
    await session.request({ method: 'POST', path: crdsPath, body: definition })
    for (const way of [session, oldFashioned(session)]) {
      server.api.requests.clear()
      const { resources } = await discover(way, { groups: ['example.com'] })
      expect(resources.map(({ plural, version }) => `${plural}/${version}`)).toEqual(['gadgets/v1', 'gadgets/v1beta1'])
      expect(server.api.requests.last({ path: '/api' })).toEqual([])
      const core = await discover(way, { groups: [''] })
      expect(new Set(core.resources.map(({ group }) => group))).toEqual(new Set(['']))
      expect((await discover(way, { groups: ['nowhere.example.com'] })).resources).toEqual([])
    }
  })

  test('discovery skips a version that fails and reports it', async () => {
    const { transport, server } = await startTarget(reach)
    const session = sessionOn(transport, { networking: { ...networking, errorBackoffs: [] } })
    server.api.faults.add({ on: { path: '/apis/apps/v1' }, effect: { type: 'error', status: 503 } })
    server.api.faults.add({ on: { path: '/apis/batch/v1' }, effect: { type: 'error', status: 404 } })
    const found = await discover(oldFashioned(session))
    expect(found.failures).toEqual([{ group: 'apps', version: 'v1', error: expect.objectContaining({ status: 503 }) }])
    expect(find(found, 'deployments')).toBeUndefined()
    expect(find(found, 'jobs')).toBeUndefined()
    expect(find(found, 'pods')).toBeDefined()
    expect(find(found, 'customresourcedefinitions')).toBeDefined()
  })

  test('discovery fails if a root cannot be read', async () => {
    const { transport, server } = await startTarget(reach)
    server.api.faults.add({ on: { path: '/apis' }, effect: { type: 'error', status: 403 } })
    expect(await failureOf(discover(sessionOn(transport)))).toMatchObject({ status: 403 })
  })
})

/** A session that answers with these documents. */
function saying(documents: Record<string, JsonObject>): Session {
  return {
    request: async ({ path }) => documents[path] ?? {},
    stream: () => Promise.reject(new Error('nobody streams here')),
  }
}

const entry = { resource: 'xs', responseKind: { kind: 'X' }, scope: 'Cluster', verbs: ['get'] }

test('discovery reports a stale version with the resources that are known of it', async () => {
  const version = { version: 'v1', freshness: 'Stale', resources: [entry] }
  const items = [{ metadata: { name: 'metrics.k8s.io' }, versions: [version] }]
  const found = await discover(saying({ '/apis': { kind: 'APIGroupDiscoveryList', items } }))
  expect(found.resources).toEqual([expect.objectContaining({ plural: 'xs', singular: 'x', namespaced: false })])
  expect(found.failures).toEqual([
    { group: 'metrics.k8s.io', version: 'v1', error: expect.objectContaining({ code: 'KOPF_DISCOVERY' }) },
  ])
})

test('discovery skips malformed entries and keeps the valid ones', async () => {
  const resources = [
    null,
    5,
    'x',
    [],
    { resource: 7 },
    { resource: 'a', responseKind: null },
    { ...entry, verbs: [1, 'get'], shortNames: 'x' },
  ]
  const items = [
    null,
    {},
    { metadata: 5, versions: {} },
    { metadata: { name: 'g' }, versions: [7, { version: 'v1', resources }] },
  ]
  const found = await discover(saying({ '/apis': { kind: 'APIGroupDiscoveryList', items } as unknown as JsonObject }))
  expect(found.resources).toEqual([
    expect.objectContaining({ group: 'g', plural: 'xs', verbs: ['get'], shortcuts: [] }),
  ])
})

test('discovery ends with its signal even while requests fail', async () => {
  const { transport, server } = await startTarget('in process')
  const controller = new AbortController()
  const reason = new Error('enough')
  const fault = server.api.faults.add({ on: { path: '/apis/apps/v1' }, effect: { type: 'delay', delayMs: 2 ** 30 } })
  const result = failureOf(discover(oldFashioned(sessionOn(transport)), { signal: controller.signal }))
  while (fault.hits === 0) await new Promise((resolve) => setImmediate(resolve))
  controller.abort(reason)
  expect(await result).toBe(reason)
})
