/** Privilege escalation: a user with few permissions writes roles and bindings, and cannot grant permissions that the user lacks. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import type { Api } from '../../../support/api.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectStatus } from '../../../support/expectations.ts'
import { apply } from '../../../support/managed-fields.ts'
import { bind, create, grant, rbacGroup, untilAllowed } from '../../../support/roles.ts'

const cluster = useCluster({ authorization: 'rbac' })
const { namespace } = cluster
const root = `/apis/${rbacGroup}/v1`
const all = ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings']
const clerk = `clerk-${namespace}`
const chief = `chief-${namespace}`
let api: Api
let trusted: Api

beforeAll(async () => {
  const writing = { apiGroups: [rbacGroup], resources: all, verbs: ['create', 'update', 'patch', 'get', 'delete'] }
  const own = [
    { apiGroups: [''], resources: ['pods', '*/log'], verbs: ['get', 'list'] },
    { apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'], verbs: ['get'] },
    { nonResourceURLs: ['/metrics/*'], verbs: ['get'] },
  ]
  await grant(cluster, { to: [`user:${clerk}`], rules: [writing, ...own] })
  const special = { apiGroups: [rbacGroup], resources: all, verbs: ['escalate', 'bind'] }
  await grant(cluster, { to: [`user:${chief}`], rules: [writing, special] })
  for (const user of [clerk, chief]) {
    await untilAllowed(cluster, { user, resourceAttributes: { verb: 'create', group: rbacGroup, resource: 'roles' } })
  }
  api = cluster.impersonating(clerk)
  trusted = cluster.impersonating(chief)
})

let count = 0
const newName = () => `${namespace}-escalation-${count++}`

async function write(by: Api, plural: string, body: Tree, name: string): Promise<Answer> {
  const path = plural.startsWith('cluster') ? `${root}/${plural}` : `${root}/namespaces/${namespace}/${plural}`
  const answer = await by.post(path, { metadata: { name }, ...body })
  if (answer.status === 201) cluster.defer(() => cluster.api.delete(`${path}/${name}`))
  return answer
}

function expectRefusal(answer: Answer, plural: string, name: string, ...lines: string[]): void {
  const who = `user "${clerk}" (groups=["system:authenticated"])`
  const why = `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}`
  const details = { name, group: rbacGroup, kind: plural }
  expectFailure(answer, 403, 'Forbidden', `${plural}.${rbacGroup} "${name}" is forbidden: ${why}`, details)
}

describe('roles', () => {
  test.each<[string, Tree]>([
    ['exactly the permissions of the user', { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }],
    [
      'a part of the user’s permissions',
      { apiGroups: [''], resources: ['pods'], resourceNames: ['a', 'b'], verbs: ['get'] },
    ],
    [
      'a subresource that a wildcard grants to the user',
      { apiGroups: [''], resources: ['pods/log', 'widgets/log'], verbs: ['get'] },
    ],
    [
      'the resource name that is granted to the user',
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'], verbs: ['get'] },
    ],
    [
      'a path below the path that is granted to the user',
      { nonResourceURLs: ['/metrics/a', '/metrics/b/*'], verbs: ['get'] },
    ],
  ])('a user may create a ClusterRole with %s', async (_, rule) => {
    expectStatus(await write(api, 'clusterroles', { rules: [rule] }, newName()), 201)
  })

  test('a ClusterRole with permissions that its author lacks is forbidden, and the message lists them by resource', async () => {
    const name = newName()
    const rules = [
      { apiGroups: ['', 'apps'], resources: ['pods', 'deployments'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['mine', 'yours'], verbs: ['get'] },
      { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
      { nonResourceURLs: ['/metrics', '/metrics/x', '/logs'], verbs: ['get', 'post'] },
    ]
    expectRefusal(
      await write(api, 'clusterroles', { rules }, name),
      'clusterroles',
      name,
      '{APIGroups:[""], Resources:["deployments"], Verbs:["get" "list" "watch"]}',
      '{APIGroups:[""], Resources:["pods"], Verbs:["watch"]}',
      '{APIGroups:[""], Resources:["secrets"], ResourceNames:["yours"], Verbs:["get"]}',
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
      '{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list" "watch"]}',
      '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list" "watch"]}',
      '{NonResourceURLs:["/logs"], Verbs:["get"]}',
      '{NonResourceURLs:["/logs"], Verbs:["post"]}',
      '{NonResourceURLs:["/metrics"], Verbs:["get"]}',
      '{NonResourceURLs:["/metrics"], Verbs:["post"]}',
      '{NonResourceURLs:["/metrics/x"], Verbs:["post"]}',
    )
  })

  test('a Role is checked against the permissions of its author in its own namespace', async () => {
    const services = { apiGroups: [''], resources: ['services'], verbs: ['get'] }
    await grant(cluster, { to: [`user:${clerk}`], rules: [services], namespace })
    const attributes = { verb: 'get', resource: 'services', namespace }
    await untilAllowed(cluster, { user: clerk, resourceAttributes: attributes })
    expectStatus(await write(api, 'roles', { rules: [services] }, newName()), 201)
    const name = newName()
    const line = '{APIGroups:[""], Resources:["services"], Verbs:["get"]}'
    expectRefusal(await write(api, 'clusterroles', { rules: [services] }, name), 'clusterroles', name, line)
  })

  test('no PUT, PATCH or apply gives a Role permissions that its author lacks', async () => {
    const name = newName()
    expectStatus(await write(api, 'roles', { rules: [] }, name), 201)
    const path = `${root}/namespaces/${namespace}/roles/${name}`
    const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
    const line = '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}'
    expectRefusal(await api.mergePatch(path, { rules }), 'roles', name, line)
    expectRefusal(await api.put(path, { metadata: { name }, rules }), 'roles', name, line)
    expectRefusal(
      await api.put(`${path}-new`, { metadata: { name: `${name}-new` }, rules }),
      'roles',
      `${name}-new`,
      line,
    )
    const applied = { apiVersion: `${rbacGroup}/v1`, kind: 'Role', metadata: { name: `${name}-applied` }, rules }
    expectRefusal(await apply(api, `${path}-applied`, applied), 'roles', `${name}-applied`, line)
  })

  test('a user with fewer permissions than a ClusterRole may change only its finalizers, or remove rules', async () => {
    const name = newName()
    const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }]
    await create(cluster, `${root}/clusterroles`, { metadata: { name }, rules })
    const path = `${root}/clusterroles/${name}`
    const line = '{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}'
    expectRefusal(await api.mergePatch(path, { metadata: { labels: { a: 'b' } } }), 'clusterroles', name, line)
    expectStatus(await api.mergePatch(path, { metadata: { finalizers: ['example.com/a'] } }), 200)
    expectStatus(await api.mergePatch(path, { metadata: { finalizers: null } }), 200)
    expectStatus(await api.mergePatch(path, { rules: [] }), 200)
  })

  test('a ClusterRole with an aggregationRule needs cluster-admin privileges', async () => {
    const name = newName()
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: namespace } }] }
    const answer = await write(api, 'clusterroles', { aggregationRule }, name)
    const message = `clusterroles.${rbacGroup} "${name}" is forbidden: must have cluster-admin privileges to use the aggregationRule`
    expectFailure(answer, 403, 'Forbidden', message, { name, group: rbacGroup, kind: 'clusterroles' })
  })

  test('a user with the verb escalate may create a role with any permissions', async () => {
    const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
    expectStatus(await write(trusted, 'clusterroles', { rules }, newName()), 201)
    expectStatus(await write(trusted, 'roles', { rules }, newName()), 201)
  })

  test('an escalation is refused before an invalid rule of the same role', async () => {
    const name = newName()
    const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }, { verbs: [] }]
    const line = '{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}'
    expectRefusal(await write(api, 'clusterroles', { rules }, name), 'clusterroles', name, line)
  })
})

describe('role bindings', () => {
  const roleRef = (name: string, kind = 'ClusterRole') => ({ apiGroup: rbacGroup, kind, name })

  test('a user may bind a role whose permissions the user has', async () => {
    const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
    const role = await grant(cluster, { to: [], rules })
    expectStatus(await write(api, 'clusterrolebindings', { roleRef: roleRef(role) }, newName()), 201)
    expectStatus(await write(api, 'rolebindings', { roleRef: roleRef(role) }, newName()), 201)
  })

  test('a binding to a role with permissions that its author lacks is forbidden', async () => {
    for (const plural of ['clusterrolebindings', 'rolebindings']) {
      const name = newName()
      expectRefusal(
        await write(api, plural, { roleRef: roleRef('cluster-admin') }, name),
        plural,
        name,
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}',
        '{NonResourceURLs:["*"], Verbs:["*"]}',
      )
    }
  })

  test('a binding to cluster-admin gets no further subjects from a user with fewer permissions', async () => {
    const name = await bind(cluster, { to: [], role: { kind: 'ClusterRole', name: 'cluster-admin' }, namespace })
    const subjects = [{ kind: 'User', name: clerk, apiGroup: rbacGroup }]
    const answer = await api.mergePatch(`${root}/namespaces/${namespace}/rolebindings/${name}`, { subjects })
    expect(answer.status).toBe(403)
  })

  test.each([
    ['clusterrolebindings', 'ClusterRole'],
    ['rolebindings', 'ClusterRole'],
    ['rolebindings', 'Role'],
  ])('a binding to a missing role is refused with 404: %s to a %s', async (plural, kind) => {
    const answer = await write(api, plural, { roleRef: roleRef('nonesuch', kind) }, newName())
    const message = `${plural}.${rbacGroup} "nonesuch" not found`
    expectFailure(answer, 404, 'NotFound', message, { name: 'nonesuch', group: rbacGroup, kind: plural })
  })

  test('a binding to a kind that is not a role is refused', async () => {
    const answer = await write(api, 'rolebindings', { roleRef: roleRef('x', 'Foo') }, newName())
    expectFailure(answer, 500, '', 'unsupported role reference kind: "Foo"')
  })

  test('a user with the verb bind may bind any role', async () => {
    expectStatus(await write(trusted, 'clusterrolebindings', { roleRef: roleRef('cluster-admin') }, newName()), 201)
    expectStatus(await write(trusted, 'rolebindings', { roleRef: roleRef('nonesuch') }, newName()), 201)
  })
})
