import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cluster, runHandler, startCluster } from 'kopf/testing'
import kopf from './operator.ts'
import { Team, teamLabel } from './team.ts'

// CI may run in a pod: the operator under test must not take it for its own.
process.env['KUBERNETES_SERVICE_HOST'] = ''

const quota = { cpu: 8, memoryGi: 16, pods: 40 }
const members = [
  { kind: 'User' as const, name: 'ada@example.com', role: 'admin' as const },
  { kind: 'Group' as const, name: 'developers', role: 'edit' as const },
]
const spec = { environments: ['dev', 'prod'], members, quota, isolation: 'team', deletionPolicy: 'Retain' } as const
const shop = { name: 'shop', spec: { ...spec, environments: ['dev', 'prod'] } }
const one = { name: 'shop', spec: { ...spec, environments: [] } }

const untilReady = (cluster: Cluster, name: string) =>
  cluster.until(Team, name, ({ metadata, status }) => {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')
    return ready?.status === 'True' && ready.observedGeneration === metadata.generation
  })

const inNamespace = (namespace: string) => ({ namespace })

test('a team has a namespace for each environment, with quota, limits, isolation and access', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  await using operator = await kopf.start(cluster)
  await operator.ready
  await cluster.create(Team, shop)
  const { status } = await untilReady(cluster, 'shop')
  assert.deepEqual(status?.namespaces, ['shop-dev', 'shop-prod'])
  for (const namespace of ['shop-dev', 'shop-prod']) {
    const found = await cluster.until(
      'resourcequotas',
      'team',
      ({ spec }) => spec !== undefined,
      inNamespace(namespace),
    )
    assert.equal(found.spec?.hard?.['requests.cpu'], '8')
    await cluster.until('limitranges', 'team', ({ spec }) => spec !== undefined, inNamespace(namespace))
    const policy = await cluster.until(
      'networkpolicies.networking.k8s.io',
      'team',
      ({ spec }) => spec !== undefined,
      inNamespace(namespace),
    )
    const from = [{ namespaceSelector: { matchLabels: { [teamLabel]: 'shop' } } }]
    assert.deepEqual(policy.spec?.ingress, [{ from }])
    const binding = await cluster.until(
      'rolebindings.rbac.authorization.k8s.io',
      'team-admin',
      ({ subjects }) => subjects !== undefined,
      inNamespace(namespace),
    )
    assert.equal(binding.subjects?.[0]?.name, 'ada@example.com')
  }
})

test('a team without environments has one namespace, and changes reach the objects in it', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  await using operator = await kopf.start(cluster)
  await operator.ready
  await cluster.create(Team, one)
  await cluster.until('rolebindings.rbac.authorization.k8s.io', 'team-edit', () => true, inNamespace('shop'))
  await cluster.patch(Team, 'shop', {
    spec: { isolation: 'none', quota: { cpu: 16 }, members: [{ kind: 'User', name: 'bob', role: 'view' }] },
  })
  await cluster.until('resourcequotas', 'team', { spec: { hard: { 'requests.cpu': '16' } } }, inNamespace('shop'))
  await cluster.untilGone('networkpolicies.networking.k8s.io', 'team', inNamespace('shop'))
  await cluster.untilGone('rolebindings.rbac.authorization.k8s.io', 'team-edit', inNamespace('shop'))
  await cluster.until('rolebindings.rbac.authorization.k8s.io', 'team-view', () => true, inNamespace('shop'))
})

test('drift of labels, quota and policies is corrected', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  await using operator = await kopf.start(cluster)
  await operator.ready
  await cluster.create(Team, one)
  await untilReady(cluster, 'shop')
  await cluster.settled()
  const label = 'pod-security.kubernetes.io/enforce'
  await cluster.patch('namespaces', 'shop', { metadata: { labels: { [label]: 'privileged' } } })
  await cluster.until('namespaces', 'shop', { metadata: { labels: { [label]: 'baseline' } } })
  await cluster.patch('resourcequotas', 'team', { spec: { hard: { pods: '9999' } } }, inNamespace('shop'))
  await cluster.until('resourcequotas', 'team', { spec: { hard: { pods: '40' } } }, inNamespace('shop'))
  await cluster.delete('networkpolicies.networking.k8s.io', 'team', inNamespace('shop'))
  await cluster.until('networkpolicies.networking.k8s.io', 'team', () => true, inNamespace('shop'))
})

test('a deleted team leaves its namespaces with quota and isolation, but without access', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  await using operator = await kopf.start(cluster)
  await operator.ready
  await cluster.create(Team, one)
  await cluster.until('rolebindings.rbac.authorization.k8s.io', 'team-edit', () => true, inNamespace('shop'))
  await cluster.settled()
  await cluster.delete(Team, 'shop')
  await cluster.untilGone(Team, 'shop')
  await cluster.untilGone('rolebindings.rbac.authorization.k8s.io', 'team-edit', inNamespace('shop'))
  await cluster.settled()
  const { metadata } = await cluster.get('namespaces', 'shop')
  assert.equal(metadata.deletionTimestamp, undefined)
  await cluster.get('resourcequotas', 'team', inNamespace('shop'))
  await cluster.get('networkpolicies.networking.k8s.io', 'team', inNamespace('shop'))

  await cluster.create(Team, one) // A new team of this name gets the retained namespace back.
  await cluster.until('rolebindings.rbac.authorization.k8s.io', 'team-edit', () => true, inNamespace('shop'))
})

test('an environment that is removed keeps its namespace, and the status names it', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  await using operator = await kopf.start(cluster)
  await operator.ready
  await cluster.create(Team, shop)
  await untilReady(cluster, 'shop')
  await cluster.patch(Team, 'shop', { spec: { environments: ['prod'] } })
  const { status } = await untilReady(cluster, 'shop')
  assert.deepEqual([status?.namespaces, status?.retained], [['shop-prod'], ['shop-dev']])
  assert.equal((await cluster.get('namespaces', 'shop-dev')).metadata.deletionTimestamp, undefined)
})

test('with deletionPolicy: Delete the namespaces of the team are deleted, and no other', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  await using operator = await kopf.start(cluster)
  await operator.ready
  await cluster.create(Team, { ...one, spec: { ...one.spec, deletionPolicy: 'Delete' } })
  await untilReady(cluster, 'shop')
  // A user gives the label to a namespace that the operator has not created.
  await cluster.create('namespaces', { name: 'payroll', labels: { [teamLabel]: 'shop' } })
  await cluster.delete(Team, 'shop')
  await cluster.untilGone(Team, 'shop')
  await cluster.untilGone('namespaces', 'shop')
  const payroll = await cluster.get('namespaces', 'payroll')
  assert.equal(payroll.metadata.deletionTimestamp, undefined)
})

test('a namespace that was created meanwhile is left alone, and the condition says so', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  // The webhook does not see it: the team is there before the operator starts.
  await cluster.create(Team, shop)
  await cluster.create('namespaces', { name: 'shop-dev' })
  await using _operator = await kopf.start(cluster)
  const { status } = await cluster.until(Team, 'shop', ({ status }) => (status?.conditions?.length ?? 0) > 0)
  const [ready] = status?.conditions ?? []
  assert.equal(ready?.reason, 'NamespaceTaken')
  assert.match(ready?.message ?? '', /have no label example.com\/team=shop: shop-dev$/)
  assert.deepEqual(status?.namespaces, ['shop-prod'])
  await cluster.settled()
  assert.deepEqual(await cluster.list('resourcequotas', inNamespace('shop-dev')), [])
})

test('a team that was created without the webhook gets no reserved namespace', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  await cluster.create(Team, { name: 'kube', spec: { ...shop.spec, environments: ['tools'] } })
  await using _operator = await kopf.start(cluster)
  const { status } = await cluster.until(Team, 'kube', ({ status }) => (status?.conditions?.length ?? 0) > 0)
  const [ready] = status?.conditions ?? []
  assert.deepEqual([ready?.reason, ready?.message], ['Invalid', 'the namespace name "kube-tools" is reserved'])
  await cluster.settled()
  await assert.rejects(cluster.get('namespaces', 'kube-tools'), /not found/)
})

test('the webhook refuses what a team must not have, in words', async () => {
  await using cluster = await startCluster({ resources: [Team], objects: [namespaceObject('billing')] })
  await using operator = await kopf.start(cluster)
  // Before that, the API server does not know of the webhook.
  await operator.ready
  const create = (name: string, more: object) =>
    cluster.create(Team, { name, spec: { ...spec, environments: ['dev'], ...more } })
  await assert.rejects(create('kube', { environments: ['system'] }), /the namespace name "kube-system" is reserved/)
  await assert.rejects(create('billing', { environments: [] }), /the namespace "billing" exists, and has no label/)
  await assert.rejects(
    create('big', { environments: ['a', 'b'], quota: { cpu: 40, memoryGi: 16, pods: 40 } }),
    /spec.quota.cpu: 40 in 2 namespaces are 80, the limit is 64/,
  )
  await assert.rejects(create('a.b', {}), /"a.b-dev" is not a valid namespace name/)

  await create('shop', {})
  await assert.rejects(
    create('other', { prefix: 'shop' }),
    /teams.example.com" denied the request: the namespace "shop-dev" belongs to the team "shop"/,
  )
})

test('without the webhook, the API server refuses a changed prefix, and names that cannot be labels', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  await cluster.create(Team, shop)
  await assert.rejects(
    cluster.patch(Team, 'shop', { spec: { prefix: 'store' } }),
    /the prefix cannot be changed: namespaces cannot be renamed; create another team/,
  )
  const long = { name: 'x'.repeat(64), spec: { ...shop.spec, prefix: 'x' } }
  await assert.rejects(cluster.create(Team, long), /the name must have at most 63 characters/)
  for (const environment of ['-dev', 'dev-', 'Dev', '']) {
    const named = { name: 'other', spec: { ...shop.spec, environments: [environment] } }
    await assert.rejects(cluster.create(Team, named), /spec.environments/)
  }
})

test('without the webhook, the API server accepts 100 members, and refuses 101', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  const createWith = (count: number) => {
    const member = { kind: 'User', role: 'view' } as const
    const members = Array.from({ length: count }, (_, index) => ({ ...member, name: `user-${index}` }))
    return cluster.create(Team, { name: 'crowd', spec: { ...one.spec, members } })
  }
  await assert.rejects(createWith(101), /spec.members: Too many: 101: must have at most 100 items/)
  await createWith(100)
})

test('a team that was changed without the webhook gets no larger quota', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  const first = await kopf.start(cluster)
  await cluster.create(Team, one)
  await cluster.until('resourcequotas', 'team', () => true, inNamespace('shop'))
  await cluster.settled()
  await first.stop()
  await cluster.patch(Team, 'shop', { spec: { quota: { cpu: 999 } } })
  await using _second = await kopf.start(cluster)
  await cluster.until(Team, 'shop', ({ status }) => status?.conditions?.[0]?.reason === 'Invalid')
  await cluster.settled()
  const { spec } = await cluster.get('resourcequotas', 'team', inNamespace('shop'))
  assert.equal(spec?.hard?.['requests.cpu'], '8')
})

test('a namespace that is being deleted is not ready, and is created again', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  await using operator = await kopf.start(cluster)
  await operator.ready
  await cluster.create(Team, one)
  await untilReady(cluster, 'shop')
  const metadata = { finalizers: ['example.com/hold'] }
  await cluster.create('configmaps', { name: 'held', namespace: 'shop', metadata })
  const { metadata: first } = await cluster.get('namespaces', 'shop')
  await cluster.delete('namespaces', 'shop')
  await cluster.until(Team, 'shop', ({ status }) => status?.conditions?.[0]?.reason === 'NamespaceTerminating')
  await cluster.patch('configmaps', 'held', { metadata: { finalizers: null } }, inNamespace('shop'))
  await cluster.until('namespaces', 'shop', ({ metadata }) => metadata.uid !== first.uid)
  const { status } = await untilReady(cluster, 'shop')
  assert.deepEqual(status?.namespaces, ['shop'])
  await cluster.until('resourcequotas', 'team', () => true, inNamespace('shop'))
})

test('a namespace without its label is left alone, with the objects in it', async () => {
  await using cluster = await startCluster({ resources: [Team] })
  await using operator = await kopf.start(cluster)
  await operator.ready
  await cluster.create(Team, { ...one, spec: { ...one.spec, deletionPolicy: 'Delete' } })
  await cluster.until('rolebindings.rbac.authorization.k8s.io', 'team-edit', () => true, inNamespace('shop'))
  await cluster.settled()
  await cluster.patch('namespaces', 'shop', { metadata: { labels: { [teamLabel]: null } } })
  await cluster.until(Team, 'shop', ({ status }) => status?.conditions?.[0]?.reason === 'NamespaceTaken')
  await cluster.delete(Team, 'shop')
  await cluster.untilGone(Team, 'shop')
  await cluster.settled()
  assert.equal((await cluster.get('namespaces', 'shop')).metadata.deletionTimestamp, undefined)
  await cluster.get('resourcequotas', 'team', inNamespace('shop'))
})

test('the webhook does not review changes of metadata, so that a team can always be deleted', async () => {
  const tooBig = { ...one.spec, quota: { ...quota, cpu: 999 } }
  const body = { resource: Team, id: 'check', name: 'shop', spec: tooBig } as const
  const edited = await runHandler(kopf, {
    ...body,
    labels: { edited: 'yes' },
    old: { metadata: { name: 'shop', labels: {} } },
    operation: 'UPDATE',
  })
  assert.equal(edited.outcome.type, 'done')
  const created = await runHandler(kopf, body)
  assert.equal(created.outcome.type, 'failed')
})

test('the roles in the manifests are enough for the operator', async () => {
  await using cluster = await startCluster({
    authorization: 'rbac',
    manifests: [new URL('./manifests', import.meta.url)],
    objects: ['admin', 'edit', 'view'].map((name) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    })),
  })
  const access = await cluster.as({ serviceAccount: 'teams' })
  await using operator = await kopf.start(access)
  await operator.ready
  await cluster.create(Team, { ...one, spec: { ...one.spec, deletionPolicy: 'Delete' } })
  await cluster.until('rolebindings.rbac.authorization.k8s.io', 'team-edit', () => true, inNamespace('shop'))
  await cluster.until('resourcequotas', 'team', () => true, inNamespace('shop'))
  await cluster.delete(Team, 'shop')
  await cluster.untilGone('namespaces', 'shop')
  assert.deepEqual(cluster.requests.last({ status: 403 }), [])
})

function namespaceObject(name: string) {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
}
