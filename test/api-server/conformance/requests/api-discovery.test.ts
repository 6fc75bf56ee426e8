/** Health, version and discovery endpoints, and the answers on unknown paths and methods. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { crdsPath } from '../../../support/crds.ts'
import { eventually, expectFailure, expectStatus } from '../../../support/expectations.ts'
import { noSuchMethod, noSuchResource } from '../../../support/messages.ts'

const cluster = useCluster()

const everything = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const changes = ['get', 'patch', 'update']
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

beforeAll(async () => {
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }
  await Promise.all([
    cluster.install({
      kind: 'Widget',
      names: { singular: 'widget', shortNames: ['wd', 'wdg'], categories: ['all', 'toys'] },
      subresources: { status: {}, scale },
    }),
    cluster.install({ kind: 'Planet', scope: 'Cluster' }),
  ])
})

describe('health endpoints', () => {
  test.each(['/healthz', '/livez', '/readyz', '/healthz/ping', '/readyz/ping', '/livez/ping'])(
    'the health endpoint %s answers ok',
    async (path) => {
      const answer = await cluster.api.get(path)
      expect(answer.status).toBe(200)
      expect(answer.text).toBe('ok')
      expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8')
    },
  )

  test('the readyz endpoint lists its checks with the query verbose', async () => {
    const answer = await cluster.api.get('/readyz', { verbose: '' })
    const lines = answer.text.trimEnd().split('\n')
    expect(lines[0]).toBe('[+]ping ok')
    expect(lines.at(-1)).toBe('readyz check passed')
  })

  test('an unknown health check is not found', async () => {
    const answer = await cluster.api.get('/readyz/nonsense')
    expect([answer.status, answer.text]).toEqual([404, '404 page not found\n'])
  })
})

test('the version endpoint answers with the version of Kubernetes', async () => {
  const { status, body } = await cluster.api.get('/version')
  expect(status).toBe(200)
  expect(body).toMatchObject({ major: '1', minor: '36', gitVersion: expect.stringMatching(/^v1\.36\.3/) })
})

describe('root paths', () => {
  test('the root path lists the paths of the API', async () => {
    const { body } = await cluster.api.get('/')
    expect(body['paths']).toEqual(expect.arrayContaining(['/api', '/api/v1', '/apis', '/apis/apps/v1', '/version']))
  })

  test('the path /api lists the versions of the core group', async () => {
    for (const path of ['/api', '/api/']) {
      const { body } = await cluster.api.get(path)
      expect(body).toMatchObject({ kind: 'APIVersions', versions: ['v1'] })
    }
  })
})

describe('the list of API groups', () => {
  const group = (name: string, ...versions: string[]) => {
    const all = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }))
    return { name, versions: all, preferredVersion: all[0] }
  }

  test('the list of API groups has built-in and custom groups', async () => {
    const { body } = await cluster.api.get('/apis')
    expect(body).toMatchObject({ kind: 'APIGroupList', apiVersion: 'v1' })
    expect(body['groups']).toEqual(
      expect.arrayContaining([
        group('apps', 'v1'),
        group('batch', 'v1'),
        group('events.k8s.io', 'v1'),
        group('rbac.authorization.k8s.io', 'v1'),
        group('apiextensions.k8s.io', 'v1'),
        group('coordination.k8s.io', 'v1'),
        group(cluster.group, 'v1'),
      ]),
    )
  })

  test.each(['apps', 'batch'])('the API group %s has a path with its versions', async (name) => {
    const { body } = await cluster.api.get(`/apis/${name}`)
    expect(body).toEqual({ kind: 'APIGroup', apiVersion: 'v1', ...group(name, 'v1') })
  })

  test('a custom API group has a path with its versions', async () => {
    const { body } = await cluster.api.get(`/apis/${cluster.group}`)
    expect(body).toEqual({ kind: 'APIGroup', apiVersion: 'v1', ...group(cluster.group, 'v1') })
  })
})

describe('lists of API resources', () => {
  /** Removes storage version hashes, which only the real API server has. */
  async function resources(path: string): Promise<Tree[]> {
    const { body } = await cluster.api.get(path)
    expect(body.kind).toBe('APIResourceList')
    return (body['resources'] as Tree[]).map(({ storageVersionHash: _, ...rest }) => rest)
  }

  test.each<[string, Tree]>([
    [
      '/api/v1',
      {
        name: 'configmaps',
        singularName: 'configmap',
        namespaced: true,
        kind: 'ConfigMap',
        verbs: everything,
        shortNames: ['cm'],
      },
    ],
    ['/api/v1', { name: 'secrets', singularName: 'secret', namespaced: true, kind: 'Secret', verbs: everything }],
    [
      '/api/v1',
      {
        name: 'pods',
        singularName: 'pod',
        namespaced: true,
        kind: 'Pod',
        verbs: everything,
        shortNames: ['po'],
        categories: ['all'],
      },
    ],
    ['/api/v1', { name: 'pods/status', singularName: '', namespaced: true, kind: 'Pod', verbs: changes }],
    [
      '/api/v1',
      {
        name: 'namespaces',
        singularName: 'namespace',
        namespaced: false,
        kind: 'Namespace',
        verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
        shortNames: ['ns'],
      },
    ],
    [
      '/api/v1',
      { name: 'namespaces/finalize', singularName: '', namespaced: false, kind: 'Namespace', verbs: ['update'] },
    ],
    [
      '/api/v1',
      { name: 'events', singularName: 'event', namespaced: true, kind: 'Event', verbs: everything, shortNames: ['ev'] },
    ],
    [
      '/apis/apps/v1',
      {
        name: 'deployments',
        singularName: 'deployment',
        namespaced: true,
        kind: 'Deployment',
        verbs: everything,
        shortNames: ['deploy'],
        categories: ['all'],
      },
    ],
    [
      '/apis/apps/v1',
      {
        name: 'deployments/scale',
        singularName: '',
        namespaced: true,
        group: 'autoscaling',
        version: 'v1',
        kind: 'Scale',
        verbs: changes,
      },
    ],
    [
      '/apis/apiextensions.k8s.io/v1',
      {
        name: 'customresourcedefinitions',
        singularName: 'customresourcedefinition',
        namespaced: false,
        kind: 'CustomResourceDefinition',
        verbs: everything,
        shortNames: ['crd', 'crds'],
        categories: ['api-extensions'],
      },
    ],
    [
      '/apis/authorization.k8s.io/v1',
      {
        name: 'selfsubjectaccessreviews',
        singularName: 'selfsubjectaccessreview',
        namespaced: false,
        kind: 'SelfSubjectAccessReview',
        verbs: ['create'],
      },
    ],
  ])('the resource list of %s has %j', async (path, expected) => {
    const found = (await resources(path)).find(({ name }) => name === expected['name'])
    expect(found).toEqual(expected)
  })

  test('the resource list of a custom group has its kinds and their subresources', async () => {
    const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
    const group = { kind: 'Scale', group: 'autoscaling', version: 'v1' }
    const all = await resources(`/apis/${cluster.group}/v1`)
    expect(all).toHaveLength(4)
    expect(all).toEqual(
      expect.arrayContaining([
        { name: 'planets', singularName: 'planet', namespaced: false, kind: 'Planet', verbs },
        {
          name: 'widgets',
          singularName: 'widget',
          namespaced: true,
          kind: 'Widget',
          verbs,
          shortNames: ['wd', 'wdg'],
          categories: ['all', 'toys'],
        },
        { name: 'widgets/status', singularName: '', namespaced: true, kind: 'Widget', verbs: changes },
        { name: 'widgets/scale', singularName: '', namespaced: true, ...group, verbs: changes },
      ]),
    )
  })

  test('the resource list of a custom group names its groupVersion', async () => {
    const { body } = await cluster.api.get(`/apis/${cluster.group}/v1`)
    expect(body).toMatchObject({ apiVersion: 'v1', groupVersion: `${cluster.group}/v1` })
  })
})

describe('aggregated discovery', () => {
  type Group = { metadata: Tree; versions: Array<{ version: string; freshness?: string; resources: Tree[] }> }

  async function groups(path: string): Promise<Group[]> {
    const answer = await cluster.api.get(path, {}, { accept: `${aggregated},application/json` })
    expect(answer.headers['content-type']).toBe(aggregated)
    expect(answer.body).toMatchObject({
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
    })
    return answer.body.items as unknown as Group[]
  }

  test('aggregated discovery at /api has the core group without a name', async () => {
    const [first, ...others] = await groups('/api')
    expect(others).toEqual([])
    expect(first).toMatchObject({ metadata: {}, versions: [{ version: 'v1', freshness: 'Current' }] })
    const configMaps = first!.versions[0]!.resources.find(({ resource }) => resource === 'configmaps')
    expect(configMaps).toEqual({
      resource: 'configmaps',
      responseKind: { group: '', version: '', kind: 'ConfigMap' },
      scope: 'Namespaced',
      singularResource: 'configmap',
      verbs: everything,
      shortNames: ['cm'],
    })
  })

  test('aggregated discovery has the subresources within their resources', async () => {
    const apps = (await groups('/apis')).find(({ metadata }) => metadata['name'] === 'apps')
    const deployments = apps!.versions[0]!.resources.find(({ resource }) => resource === 'deployments')
    expect(deployments).toMatchObject({
      subresources: [
        { subresource: 'scale', responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' }, verbs: changes },
        { subresource: 'status', responseKind: { group: '', version: '', kind: 'Deployment' }, verbs: changes },
      ],
    })
  })

  test('aggregated discovery has custom groups', async () => {
    // The aggregator polls its API services, so a new group appears with a delay.
    const found = await eventually(async () => {
      const group = (await groups('/apis')).find(({ metadata }) => metadata['name'] === cluster.group)
      expect(group?.versions[0]?.resources).toHaveLength(2)
      return group!
    })
    const group = cluster.group
    const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
    expect(found.versions[0]!.resources.find(({ resource }) => resource === 'widgets')).toEqual({
      resource: 'widgets',
      responseKind: { group, version: 'v1', kind: 'Widget' },
      scope: 'Namespaced',
      singularResource: 'widget',
      verbs,
      shortNames: ['wd', 'wdg'],
      categories: ['all', 'toys'],
      subresources: [
        { subresource: 'status', responseKind: { group, version: 'v1', kind: 'Widget' }, verbs: changes },
        { subresource: 'scale', responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' }, verbs: changes },
      ],
    })
  })

  test('aggregated discovery is sent only where the Accept header asks for it', async () => {
    const { body } = await cluster.api.get('/apis', {}, { accept: 'application/json' })
    expect(body.kind).toBe('APIGroupList')
  })
})

describe('unknown paths', () => {
  test.each([
    '/api/v2',
    '/apis/apps/v9',
    '/api/v1/nonsense',
    '/apis/apps/v1/nonsense',
    '/api/v1/namespaces/default/nonsense',
    '/apis/apps/v1/namespaces/default/nonsense',
    '/api/v1/namespaces/default/nodes',
    '/api/v1/namespaces/default/configmaps/a/nonsense',
    '/api/v1/configmaps/a',
    '/apis/apps/v1/deployments/a',
  ])('an unknown path of a built-in group answers with a NotFound Status: %s', async (path) => {
    expectFailure(await cluster.api.get(path), 404, 'NotFound', noSuchResource, {})
  })

  test.each([
    '/nonsense',
    '/apis/nonsense.example.com',
    '/apis/nonsense.example.com/v1',
    '/apis/nonsense.example.com/v1/things',
  ])('an unknown path outside of all groups answers 404 as text: %s', async (path) => {
    const answer = await cluster.api.get(path)
    expect([answer.status, answer.text]).toEqual([404, '404 page not found\n'])
  })

  test('an unknown path of a custom group answers 404 as text', async () => {
    for (const path of [
      `/apis/${cluster.group}/v9/widgets`,
      `/apis/${cluster.group}/v1/nonsense`,
      cluster.custom('planets'),
    ]) {
      const answer = await cluster.api.get(path)
      expect([answer.status, answer.text]).toEqual([404, '404 page not found\n'])
    }
  })
})

describe('unsupported methods', () => {
  test.each([
    ['POST', '/api'],
    ['PUT', '/version'],
    ['DELETE', '/apis/apps/v1'],
    ['PATCH', '/api/v1/namespaces'],
    ['PUT', '/api/v1/namespaces'],
    ['DELETE', '/api/v1/namespaces'],
    ['OPTIONS', '/api/v1/namespaces'],
    ['POST', '/api/v1/configmaps'],
    ['DELETE', '/api/v1/configmaps'],
    ['GET', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'],
  ])('the API server answers 405 to an unsupported method: %s %s', async (method, path) => {
    expectFailure(await cluster.api.request(method, path), 405, 'MethodNotAllowed', noSuchMethod, {})
  })
})

test('an API group leaves discovery with its last CRD', async () => {
  const group = `gone.${cluster.group}`
  await cluster.installAs({ group, kind: 'Thing' })
  expectStatus(await cluster.api.get(`/apis/${group}/v1`), 200)
  expectStatus(await cluster.api.delete(`${crdsPath}/things.${group}`), 200)
  await eventually(async () => {
    expectStatus(await cluster.api.get(`/apis/${group}/v1`), 404)
    const { body } = await cluster.api.get('/apis')
    expect((body['groups'] as Tree[]).filter(({ name }) => name === group)).toEqual([])
  })
})
