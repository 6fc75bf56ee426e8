import { describe, expect, test } from 'vitest'
import { aggregatedDiscovery, hashOf, taggedAnswer } from './aggregated-discovery.ts'
import { apiGroup, apiGroupList, apiResourceList, apiVersions, rootPaths, versionInfo } from './discovery.ts'
import type { ApiResource } from './resource.ts'

const builtinVerbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']
const customVerbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
const statusVerbs = ['get', 'patch', 'update']

function serve(group: string, version: string, kind: string, more: Partial<ApiResource> = {}): ApiResource {
  const singular = kind.toLowerCase()
  const plural = `${singular}s`
  const names = { plural, singular, kind, listKind: `${kind}List`, shortNames: [], categories: [] }
  const rest = {
    namespaced: true,
    verbs: builtinVerbs,
    subresources: [],
    collection: `${plural}.${group}`,
    columns: [],
  }
  return { group, version, ...names, ...rest, strategy: undefined as never, ...more }
}

const conversion: NonNullable<ApiResource['conversion']> = {
  toStorage: (object) => object,
  fromStorage: (object) => object,
}
const scale = { name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: statusVerbs }
const ownStatus = (group: string, version: string, kind: string) => ({
  name: 'status',
  group,
  version,
  kind,
  verbs: statusVerbs,
})

const widget = { isCustom: true, verbs: customVerbs, collection: 'widgets.tables.kopf.dev' }
const resources: ApiResource[] = [
  serve('tables.kopf.dev', 'v1beta1', 'Widget', { ...widget, conversion }),
  serve('tables.kopf.dev', 'v1', 'Widget', {
    ...widget,
    shortNames: ['wd'],
    categories: ['all'],
    subresources: [ownStatus('tables.kopf.dev', 'v1', 'Widget'), scale],
  }),
  serve('apps', 'v1', 'StatefulSet', {
    shortNames: ['sts'],
    categories: ['all'],
    subresources: [ownStatus('apps', 'v1', 'StatefulSet'), scale],
  }),
  serve('', 'v1', 'Namespace', { namespaced: false }),
  serve('', 'v1', 'Event', { collection: 'events' }),
  serve('events.k8s.io', 'v1', 'Event', { collection: 'events', conversion }),
  serve('authorization.k8s.io', 'v1', 'SelfSubjectAccessReview', { namespaced: false, verbs: ['create'] }),
  serve('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition', { namespaced: false }),
  serve('aaa.example.com', 'v1beta1', 'Thing', { isCustom: true }),
]

describe('the list of resources', () => {
  test('of a built-in group is as the real server’s, to the letter', () => {
    expect(JSON.stringify(apiResourceList(resources, 'apps', 'v1'))).toBe(
      '{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[' +
        '{"name":"statefulsets","singularName":"statefulset","namespaced":true,"kind":"StatefulSet",' +
        '"verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"shortNames":["sts"],' +
        '"categories":["all"],"storageVersionHash":"H+vl74LkKdo="},' +
        '{"name":"statefulsets/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1",' +
        '"kind":"Scale","verbs":["get","patch","update"]},' +
        '{"name":"statefulsets/status","singularName":"","namespaced":true,"kind":"StatefulSet",' +
        '"verbs":["get","patch","update"]}]}',
    )
  })

  test('of a CRD’s group is as the real server’s, to the letter', () => {
    expect(JSON.stringify(apiResourceList(resources, 'tables.kopf.dev', 'v1'))).toBe(
      '{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"tables.kopf.dev/v1","resources":[' +
        '{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget",' +
        '"verbs":["delete","deletecollection","get","list","patch","create","update","watch"],"shortNames":["wd"],' +
        '"categories":["all"],"storageVersionHash":"H+F54Wxp+q8="},' +
        '{"name":"widgets/status","singularName":"","namespaced":true,"kind":"Widget","verbs":["get","patch","update"]},' +
        '{"name":"widgets/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1",' +
        '"kind":"Scale","verbs":["get","patch","update"]}]}',
    )
  })

  test('shows the hash of the version that is stored, whatever version is asked for', () => {
    const hashOfFirst = (group: string, version: string): unknown =>
      (apiResourceList(resources, group, version) as { resources: Array<Record<string, unknown>> }).resources[0]![
        'storageVersionHash'
      ]
    expect(hashOfFirst('tables.kopf.dev', 'v1beta1')).toBe('H+F54Wxp+q8=')
    expect(hashOfFirst('', 'v1')).toBe('r2yiGXH7wu8=')
    expect(hashOfFirst('events.k8s.io', 'v1')).toBe('r2yiGXH7wu8=')
    expect(hashOfFirst('apiextensions.k8s.io', 'v1')).toBe('jfWCUB31mvA=')
    expect(hashOfFirst('authorization.k8s.io', 'v1')).toBeUndefined()
  })

  test('of the core group has no apiVersion', () => {
    expect(apiResourceList(resources, '', 'v1')).not.toHaveProperty('apiVersion')
  })

  test('is not there for what is not served', () => {
    expect(apiResourceList(resources, 'apps', 'v2')).toBeUndefined()
    expect(apiGroup(resources, 'nope')).toBeUndefined()
  })
})

describe('groups', () => {
  const preferred = { groupVersion: 'tables.kopf.dev/v1', version: 'v1' }

  test('come in the order of the real server, without the core group', () => {
    const { groups } = apiGroupList(resources) as { groups: Array<{ name: string }> }
    expect(groups.map((group) => group.name)).toEqual([
      'apps',
      'events.k8s.io',
      'authorization.k8s.io',
      'apiextensions.k8s.io',
      'tables.kopf.dev',
      'aaa.example.com',
    ])
  })

  test('prefer the highest version', () => {
    expect(apiGroup(resources, 'tables.kopf.dev')).toEqual({
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'tables.kopf.dev',
      versions: [preferred, { groupVersion: 'tables.kopf.dev/v1beta1', version: 'v1beta1' }],
      preferredVersion: preferred,
    })
  })
})

describe('all at once', () => {
  const { items } = aggregatedDiscovery(resources, '/apis') as unknown as {
    items: Array<{ metadata: { name: string }; versions: unknown[] }>
  }

  test('has the groups by name within their priority', () => {
    expect(items.map((group) => group.metadata.name).slice(-2)).toEqual(['aaa.example.com', 'tables.kopf.dev'])
  })

  test('spells out the kinds of CRDs', () => {
    const [v1] = items.at(-1)!.versions
    expect(JSON.stringify(v1)).toBe(
      '{"version":"v1","resources":[{"resource":"widgets",' +
        '"responseKind":{"group":"tables.kopf.dev","version":"v1","kind":"Widget"},"scope":"Namespaced",' +
        '"singularResource":"widget","verbs":["delete","deletecollection","get","list","patch","create","update","watch"],' +
        '"shortNames":["wd"],"categories":["all"],"subresources":[' +
        '{"subresource":"status","responseKind":{"group":"tables.kopf.dev","version":"v1","kind":"Widget"},' +
        '"verbs":["get","patch","update"]},' +
        '{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},' +
        '"verbs":["get","patch","update"]}]}],"freshness":"Current"}',
    )
  })

  test('leaves out the group and version of built-in kinds', () => {
    expect(items[0]!.versions[0]).toMatchObject({
      resources: [{ responseKind: { group: '', version: '', kind: 'StatefulSet' } }],
    })
  })

  test('has the core group at /api, without a name', () => {
    expect(aggregatedDiscovery(resources, '/api')).toMatchObject({
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
      items: [{ metadata: {}, versions: [{ version: 'v1' }] }],
    })
  })

  test('is sent once, and then only when it has changed', () => {
    const first = taggedAnswer('{}', 'application/json', undefined)
    const etag = first.headers['etag'] as string
    expect(first).toMatchObject({ status: 200, body: '{}', headers: { vary: 'Accept', 'cache-control': 'public' } })
    expect(etag).toBe(`"${hashOf('{}')}"`)
    expect(taggedAnswer('{}', 'application/json', etag)).toMatchObject({ status: 304, body: '' })
    expect(taggedAnswer('{"a":1}', 'application/json', etag).status).toBe(200)
  })
})

test('the paths are those of what is served', () => {
  expect(rootPaths(resources)['paths']).toEqual(
    expect.arrayContaining(['/api', '/api/v1', '/apis/tables.kopf.dev', '/apis/tables.kopf.dev/v1beta1', '/version']),
  )
})

test('the version is that of the API', () => {
  expect(versionInfo()).toMatchObject({ major: '1', minor: '36', gitVersion: expect.stringMatching(/^v1\.36\.3/) })
  expect(apiVersions('127.0.0.1:1')).toMatchObject({ kind: 'APIVersions', versions: ['v1'] })
})
