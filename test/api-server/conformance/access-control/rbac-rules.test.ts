/** Permissions by roles and bindings, checked with requests and with access reviews. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Tree } from '../../../support/answers.ts'
import type { Api } from '../../../support/api.ts'
import { useCluster } from '../../../support/cluster.ts'
import { eventually, expectFailure, expectStatus } from '../../../support/expectations.ts'
import { apply } from '../../../support/managed-fields.ts'
import { configMap } from '../../../support/objects.ts'
import { bind, create, grant, mayDo, rbacGroup, untilAllowed } from '../../../support/roles.ts'

const cluster = useCluster({ authorization: 'rbac' })
const { namespace } = cluster
const core = { apiGroups: [''] }
const get = ['get']

beforeAll(async () => {
  await cluster.install({ kind: 'Widget' })
})

/** User names are unique to this suite, since cluster roles and their bindings are cluster-scoped. */
function user(name: string): string {
  return `${name}-${namespace}`
}

describe('RBAC rules', () => {
  /** A request is written as `verb resource.group/subresource:name`, or `verb /path`. */
  const cases: ReadonlyArray<[title: string, rule: Tree, asked: string, allowed: boolean]> = [
    ['a verb', { ...core, resources: ['pods'], verbs: get }, 'get pods', true],
    ['a verb', { ...core, resources: ['pods'], verbs: get }, 'list pods', false],
    ['all verbs', { ...core, resources: ['pods'], verbs: ['*'] }, 'dance pods', true],
    [
      'deletion, not of collections',
      { ...core, resources: ['pods'], verbs: ['delete'] },
      'deletecollection pods',
      false,
    ],
    ['a group', { apiGroups: ['apps'], resources: ['pods'], verbs: get }, 'get pods', false],
    ['all groups', { apiGroups: ['*'], resources: ['pods'], verbs: get }, 'get pods.apps', true],
    ['all resources', { ...core, resources: ['*'], verbs: get }, 'get pods/log', true],
    ['a resource, not its subresources', { ...core, resources: ['pods'], verbs: get }, 'get pods/log', false],
    ['a subresource', { ...core, resources: ['pods/log'], verbs: get }, 'get pods/log', true],
    ['a subresource, not its resource', { ...core, resources: ['pods/log'], verbs: get }, 'get pods', false],
    [
      'a subresource of all resources',
      { apiGroups: ['*'], resources: ['*/scale'], verbs: get },
      'get deployments.apps/scale',
      true,
    ],
    [
      'a subresource of all resources, no other',
      { apiGroups: ['*'], resources: ['*/scale'], verbs: get },
      'get pods/status',
      false,
    ],
    ['pods/*, which is no wildcard', { ...core, resources: ['pods/*'], verbs: get }, 'get pods/log', false],
    ['a name', { ...core, resources: ['pods'], resourceNames: ['a', 'b'], verbs: get }, 'get pods:b', true],
    ['a name, no other', { ...core, resources: ['pods'], resourceNames: ['a', 'b'], verbs: get }, 'get pods:c', false],
    [
      'a name, not for all objects',
      { ...core, resources: ['pods'], resourceNames: ['a'], verbs: ['list'] },
      'list pods',
      false,
    ],
    ['a path', { nonResourceURLs: ['/metrics'], verbs: get }, 'get /metrics', true],
    ['a path, not the paths below it', { nonResourceURLs: ['/metrics'], verbs: get }, 'get /metrics/x', false],
    ['all paths below a path', { nonResourceURLs: ['/metrics/*'], verbs: get }, 'get /metrics/x/y', true],
    [
      'all paths below a path, not the path itself',
      { nonResourceURLs: ['/metrics/*'], verbs: get },
      'get /metrics',
      false,
    ],
    ['all paths', { nonResourceURLs: ['*'], verbs: ['*'] }, 'post /metrics', true],
    ['paths, no resources', { nonResourceURLs: ['*'], verbs: ['*'] }, 'get pods', false],
  ]

  test.each(cases.map(([title, rule, asked, allowed], index) => [title, asked, allowed, rule, index] as const))(
    'an RBAC rule for %s allows "%s": %s',
    async (_, asked, allowed, rule, index) => {
      const name = user(`case-${index}`)
      const marker = { apiGroups: ['marker'], resources: ['markers'], verbs: ['mark'] }
      await grant(cluster, { to: [`user:${name}`], rules: [rule, marker] })
      await untilAllowed(cluster, {
        user: name,
        resourceAttributes: { verb: 'mark', group: 'marker', resource: 'markers' },
      })
      expect((await mayDo(cluster, { user: name, ...toAttributes(asked) }))['allowed']).toBe(allowed)
    },
  )

  function toAttributes(asked: string): Tree {
    const [verb = '', what = ''] = asked.split(' ')
    if (what.startsWith('/')) return { nonResourceAttributes: { verb, path: what } }
    const [, resource, group = '', subresource = '', name = ''] =
      /^(\w+)(?:\.(\w+))?(?:\/(\w+))?(?::(\w+))?$/.exec(what) ?? []
    return { resourceAttributes: { verb, resource, group, subresource, name } }
  }
})

describe('role bindings', () => {
  const pods = [{ ...core, resources: ['pods'], verbs: get }]
  const inPods = { verb: 'get', resource: 'pods' }

  test('a ClusterRoleBinding holds in all namespaces, and the review names the binding', async () => {
    const name = user('everywhere')
    const role = await grant(cluster, { to: [`user:${name}`], rules: pods })
    await untilAllowed(cluster, { user: name, resourceAttributes: inPods })
    const { reason } = await mayDo(cluster, { user: name, resourceAttributes: { ...inPods, namespace } })
    expect(reason).toMatch(
      new RegExp(
        `^RBAC: allowed by ClusterRoleBinding "${namespace}-\\d+" of ClusterRole "${role}" to User "${name}"$`,
      ),
    )
  })

  test('a RoleBinding holds in its own namespace only', async () => {
    const name = user('here')
    const role = await grant(cluster, { to: [`user:${name}`], rules: pods, namespace })
    await untilAllowed(cluster, { user: name, resourceAttributes: { ...inPods, namespace } })
    const { reason } = await mayDo(cluster, { user: name, resourceAttributes: { ...inPods, namespace } })
    expect(reason).toMatch(
      new RegExp(`^RBAC: allowed by RoleBinding "${namespace}-\\d+/${namespace}" of Role "${role}"`),
    )
    for (const elsewhere of ['', 'default']) {
      const attributes = { ...inPods, namespace: elsewhere }
      expect(await mayDo(cluster, { user: name, resourceAttributes: attributes })).toEqual({ allowed: false })
    }
  })

  test('a RoleBinding grants a ClusterRole in its own namespace', async () => {
    const name = user('viewer')
    await bind(cluster, { to: [`user:${name}`], role: { kind: 'ClusterRole', name: 'view' }, namespace })
    await untilAllowed(cluster, { user: name, resourceAttributes: { ...inPods, namespace } })
    const secrets = { verb: 'get', resource: 'secrets', namespace }
    expect(await mayDo(cluster, { user: name, resourceAttributes: secrets })).toEqual({ allowed: false })
    expect(await mayDo(cluster, { user: name, resourceAttributes: inPods })).toEqual({ allowed: false })
  })

  test('a binding to a group holds for its members', async () => {
    const group = user('team')
    await grant(cluster, { to: [`group:${group}`], rules: pods })
    await untilAllowed(cluster, { user: 'x', groups: ['other', group], resourceAttributes: inPods })
    expect(await mayDo(cluster, { user: group, resourceAttributes: inPods })).toEqual({ allowed: false })
  })

  test('a binding to a service account holds for the user name of that account', async () => {
    await grant(cluster, { to: ['account:robot'], rules: pods })
    const account = { user: `system:serviceaccount:${namespace}:robot`, resourceAttributes: inPods }
    await untilAllowed(cluster, account)
    expect((await mayDo(cluster, account))['reason']).toMatch(`to ServiceAccount "robot/${namespace}"`)
    const other = { user: 'system:serviceaccount:default:robot', resourceAttributes: inPods }
    expect(await mayDo(cluster, other)).toEqual({ allowed: false })
  })

  test('a changed or deleted role counts at once for its bindings', async () => {
    const name = user('fickle')
    const question = { user: name, resourceAttributes: inPods }
    const role = await grant(cluster, { to: [`user:${name}`], rules: pods })
    const path = `/apis/${rbacGroup}/v1/clusterroles/${role}`
    await untilAllowed(cluster, question)
    expectStatus(await cluster.api.mergePatch(path, { rules: [] }), 200)
    await eventually(async () => expect(await mayDo(cluster, question)).toEqual({ allowed: false }))
    expectStatus(await cluster.api.mergePatch(path, { rules: pods }), 200)
    await untilAllowed(cluster, question)
    expectStatus(await cluster.api.delete(path), 200)
    const reason = `RBAC: clusterrole.${rbacGroup} "${role}" not found`
    await eventually(async () => expect(await mayDo(cluster, question)).toEqual({ allowed: false, reason }))
  })

  test('a refusal names the missing roles of the user’s bindings', async () => {
    const name = user('dangling')
    await bind(cluster, { to: [`user:${name}`], role: { kind: 'ClusterRole', name: 'nonesuch' }, namespace })
    await bind(cluster, { to: [`user:${name}`], role: { kind: 'Role', name: 'none' }, namespace })
    const api = cluster.impersonating(name)
    const why = `RBAC: [clusterrole.${rbacGroup} "nonesuch" not found, role.${rbacGroup} "none" not found]`
    const swapped = `RBAC: [role.${rbacGroup} "none" not found, clusterrole.${rbacGroup} "nonesuch" not found]`
    const message = `pods is forbidden: User "${name}" cannot list resource "pods" in API group "" in the namespace "${namespace}"`
    await eventually(async () => {
      const { body } = await api.get(cluster.core('pods'))
      expect([`${message}: ${why}`, `${message}: ${swapped}`]).toContain(body['message'])
    })
  })
})

describe('authorized requests', () => {
  let api: Api
  const name = user('worker')

  beforeAll(async () => {
    const rules = [
      { ...core, resources: ['configmaps'], verbs: ['get', 'create', 'deletecollection'] },
      { ...core, resources: ['configmaps'], verbs: ['list', 'watch'], resourceNames: ['chosen'] },
      { ...core, resources: ['namespaces'], verbs: get },
      { apiGroups: [cluster.group], resources: ['widgets/status'], verbs: ['patch'] },
    ]
    await grant(cluster, { to: [`user:${name}`], rules, namespace })
    await untilAllowed(cluster, {
      user: name,
      resourceAttributes: { verb: 'get', resource: 'configmaps', namespace },
    })
    api = cluster.impersonating(name)
  })

  function refused(verb: string, resource: string, where: string, group: string = ''): string {
    return `User "${name}" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`
  }

  const here = `in the namespace "${namespace}"`

  test('a request that an RBAC rule allows is served', async () => {
    expectStatus(await api.post(cluster.core('configmaps'), configMap('chosen')), 201)
    expectStatus(await api.get(cluster.core('configmaps/chosen')), 200)
    expectStatus(await api.get(`/api/v1/namespaces/${namespace}`), 200)
  })

  test('a list or watch with a metadata.name selector is authorized for that name', async () => {
    const one = { fieldSelector: 'metadata.name=chosen' }
    expectStatus(await api.get(cluster.core('configmaps'), one), 200)
    const watch = await api.watch(cluster.core('configmaps'), one)
    watch.close()
    for (const selector of ['metadata.name!=chosen', 'metadata.name=other', 'metadata.namespace=chosen', 'a b']) {
      const answer = await api.get(cluster.core('configmaps'), { fieldSelector: selector })
      expect(answer.status, selector).toBe(403)
    }
    const answer = await api.get(cluster.core('configmaps'), { fieldSelector: 'metadata.name==other' })
    const message = `configmaps "other" is forbidden: ${refused('list', 'configmaps', here)}`
    expectFailure(answer, 403, 'Forbidden', message, { name: 'other', kind: 'configmaps' })
  })

  test.each([
    ['GET', 'pods/x', 'get', 'pods', 'x'],
    ['GET', 'pods/x/log', 'get', 'pods/log', 'x'],
    ['GET', 'pods/x/proxy/a/b', 'get', 'pods/proxy', 'x'],
    ['PUT', 'configmaps/x', 'update', 'configmaps', 'x'],
    ['PATCH', 'configmaps/x', 'patch', 'configmaps', 'x'],
    ['DELETE', 'configmaps/x', 'delete', 'configmaps', 'x'],
    ['POST', 'serviceaccounts/x/token', 'create', 'serviceaccounts/token', 'x'],
    ['OPTIONS', 'pods', '', 'pods', ''],
    ['GET', 'nonsense', 'list', 'nonsense', ''],
  ])(
    'the API server answers 403 where no RBAC rule allows the request: %s %s',
    async (method, path, verb, resource, object) => {
      const answer = await api.request(method, cluster.core(path))
      const kind = resource.split('/')[0]!
      const subject = object === '' ? kind : `${kind} "${object}"`
      const details = { ...(object === '' ? {} : { name: object }), kind }
      expectFailure(answer, 403, 'Forbidden', `${subject} is forbidden: ${refused(verb, resource, here)}`, details)
    },
  )

  test('a PUT or an apply that would create an object needs the verb create too', async () => {
    const writer = user('writer')
    const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['update', 'patch'] }
    await grant(cluster, { to: [`user:${writer}`], rules: [leases], namespace })
    const attributes = { verb: 'patch', group: 'coordination.k8s.io', resource: 'leases', namespace }
    await untilAllowed(cluster, { user: writer, resourceAttributes: attributes })
    const path = `${cluster.grouped('coordination.k8s.io/v1', 'leases')}/new`
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'new' }, spec: {} }
    const own = cluster.impersonating(writer)
    const why = `User "${writer}" cannot create resource "leases" in API group "coordination.k8s.io" ${here}`
    for (const answer of [await own.put(path, lease), await apply(own, path, lease)]) {
      const details = { name: 'new', group: 'coordination.k8s.io', kind: 'leases' }
      expectFailure(answer, 403, 'Forbidden', `leases.coordination.k8s.io "new" is forbidden: ${why}`, details)
    }
  })

  test('a list across namespaces needs a cluster-wide rule', async () => {
    const answer = await api.get('/api/v1/configmaps')
    const message = `configmaps is forbidden: ${refused('list', 'configmaps', 'at the cluster scope')}`
    expectFailure(answer, 403, 'Forbidden', message, { kind: 'configmaps' })
    expectStatus(await api.delete(cluster.core('configmaps')), 200)
  })

  test('a request for a namespace is authorized inside that namespace', async () => {
    const answer = await api.get('/api/v1/namespaces/default')
    const message = `namespaces "default" is forbidden: ${refused('get', 'namespaces', 'in the namespace "default"')}`
    expectFailure(answer, 403, 'Forbidden', message, { name: 'default', kind: 'namespaces' })
    const list = await api.get('/api/v1/namespaces')
    expect(list.body['message']).toMatch('cannot list resource "namespaces" in API group "" at the cluster scope')
  })

  test('requests for custom resources are authorized like others, subresources apart', async () => {
    const { group } = cluster
    expect((await api.mergePatch(cluster.custom('widgets/x/status'), {})).status).toBe(404)
    const answer = await api.mergePatch(cluster.custom('widgets/x'), {})
    const message = `widgets.${group} "x" is forbidden: ${refused('patch', 'widgets', here, group)}`
    expectFailure(answer, 403, 'Forbidden', message, { name: 'x', group, kind: 'widgets' })
  })

  test('a non-resource path needs a rule for that path, except for the public paths', async () => {
    for (const path of ['/version', '/healthz', '/api', '/apis', '/openapi/v3', '/apis/apps/v1']) {
      expect((await api.get(path)).status, path).toBe(200)
    }
    expectFailure(
      await api.get('/metrics'),
      403,
      'Forbidden',
      `forbidden: User "${name}" cannot get path "/metrics"`,
      {},
    )
    const post = await api.post('/version', {})
    expectFailure(post, 403, 'Forbidden', `forbidden: User "${name}" cannot post path "/version"`, {})
  })

  test('the message of a refusal escapes HTML characters of the user name', async () => {
    const message = 'User "&lt;b&gt;&amp;" cannot list resource "pods" in API group "" at the cluster scope'
    const answer = await cluster.impersonating('<b>&').get('/api/v1/pods')
    expectFailure(answer, 403, 'Forbidden', `pods is forbidden: ${message}`, { kind: 'pods' })
  })
})

describe('default permissions', () => {
  test.each([
    ['system:authenticated', 'get', '/api/v1', true],
    ['system:authenticated', 'get', '/metrics', false],
    ['system:unauthenticated', 'get', '/version', true],
    ['system:unauthenticated', 'get', '/api', false],
  ])('a member of %s may %s %s: %s', async (group, verb, path, allowed) => {
    const status = await mayDo(cluster, { user: 'x', groups: [group], nonResourceAttributes: { verb, path } })
    expect(status['allowed']).toBe(allowed)
  })

  test('a member of system:masters may do everything whatever the roles say', async () => {
    const question = { user: 'x', groups: ['system:masters'], resourceAttributes: { verb: 'dance', resource: 'pods' } }
    expect(await mayDo(cluster, question)).toEqual({ allowed: true })
  })

  test('every authenticated user may list their own rules with a SelfSubjectRulesReview', async () => {
    const name = user('curious')
    await grant(cluster, { to: [`user:${name}`], namespace, rules: [{ ...core, resources: ['pods'], verbs: get }] })
    await untilAllowed(cluster, { user: name, resourceAttributes: { verb: 'get', resource: 'pods', namespace } })
    const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews'
    const { body } = await cluster.impersonating(name).post(path, { spec: { namespace } })
    const { resourceRules, nonResourceRules, ...rest } = body.status as Record<string, Tree[]>
    expect(resourceRules).toContainEqual({ verbs: get, apiGroups: [''], resources: ['pods'] })
    expect(resourceRules).toContainEqual({
      verbs: ['create'],
      apiGroups: ['authorization.k8s.io'],
      resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
    })
    expect(nonResourceRules!.flatMap(({ nonResourceURLs }) => nonResourceURLs)).toContain('/openapi/*')
    expect(rest).toEqual({ incomplete: false })
    expect(body.spec).toEqual({})
  })
})

describe('aggregated cluster roles', () => {
  const path = `/apis/${rbacGroup}/v1/clusterroles`
  const label = `gathered-${namespace}`
  const rule = (resource: string): Tree => ({ apiGroups: ['a'], resources: [resource], verbs: get })

  test('an aggregated ClusterRole has the rules of the ClusterRoles with the label, in the order of their names', async () => {
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { [label]: 'yes' } }] }
    await create(cluster, path, { metadata: { name: user('all') }, rules: [rule('old')], aggregationRule })
    const rulesOf = async () => (await cluster.api.get(`${path}/${user('all')}`)).body['rules']
    await create(cluster, path, {
      metadata: { name: user('b'), labels: { [label]: 'yes' } },
      rules: [rule('b'), rule('x')],
    })
    await create(cluster, path, {
      metadata: { name: user('a'), labels: { [label]: 'yes' } },
      rules: [rule('x'), rule('a')],
    })
    await create(cluster, path, { metadata: { name: user('c'), labels: { [label]: 'no' } }, rules: [rule('c')] })
    await eventually(async () => expect(await rulesOf()).toEqual([rule('x'), rule('a'), rule('b')]))
    expectStatus(await cluster.api.delete(`${path}/${user('a')}`), 200)
    await eventually(async () => expect(await rulesOf()).toEqual([rule('b'), rule('x')]))
    expectStatus(await cluster.api.mergePatch(`${path}/${user('b')}`, { metadata: { labels: null } }), 200)
    await eventually(async () => expect((await rulesOf()) ?? []).toEqual([]))
  })

  test('the default ClusterRoles view, edit and admin aggregate roles by label', async () => {
    const name = user('addition')
    const labels = { [`${rbacGroup}/aggregate-to-view`]: 'true' }
    await create(cluster, path, { metadata: { name, labels }, rules: [rule(namespace)] })
    for (const role of ['view', 'edit', 'admin']) {
      await eventually(async () =>
        expect((await cluster.api.get(`${path}/${role}`)).body['rules']).toContainEqual(rule(namespace)),
      )
    }
  })
})
