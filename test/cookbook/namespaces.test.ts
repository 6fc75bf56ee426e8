/** The README of cookbook/namespaces on both clusters: namespaces, refusals of the webhook, drift, and both deletion policies. */
import { randomBytes } from 'node:crypto'
import { startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import kopf from '../../cookbook/namespaces/operator.ts'
import { Team } from '../../cookbook/namespaces/team.ts'
import { realOrNot } from '../testing/real-or-embedded.ts'

/** Namespaces of a real control plane without controllers stay: each run has its own names. */
const team = `team-${randomBytes(4).toString('hex')}`
const [dev, prod] = [{ namespace: `${team}-dev` }, { namespace: `${team}-prod` }] as const
const bindings = 'rolebindings.rbac.authorization.k8s.io'
const policies = 'networkpolicies.networking.k8s.io'

const spec = {
  environments: ['dev', 'prod'],
  members: [{ kind: 'User' as const, name: 'ada@example.com', role: 'admin' as const }],
  quota: { cpu: 8, memoryGi: 16, pods: 40 },
  isolation: 'team' as const,
  deletionPolicy: 'Retain' as const,
}

test('a Team object has its namespaces, and leaves or deletes them by its deletion policy', async () => {
  await using cluster = await startCluster({ resources: [Team], real: realOrNot() })
  // Teams and namespaces are cluster-scoped.
  await using operator = await kopf.start({ ...cluster, namespaces: [], clusterwide: true })
  await operator.ready

  await cluster.create(Team, { name: team, spec })
  for (const where of [dev, prod]) {
    await cluster.until('resourcequotas', 'team', { spec: { hard: { 'requests.cpu': '8' } } }, where)
    await cluster.until('limitranges', 'team', () => true, where)
    await cluster.until(policies, 'team', () => true, where)
    await cluster.until(bindings, 'team-admin', () => true, where)
  }
  const reserved = { name: 'kube', spec: { ...spec, environments: ['system'] } }
  await expect(cluster.create(Team, reserved)).rejects.toThrow('the namespace name "kube-system" is reserved')
  const clash = { name: `${team}-dev`, spec: { ...spec, environments: [] } }
  await expect(cluster.create(Team, clash)).rejects.toThrow(
    `the namespace "${dev.namespace}" belongs to the team "${team}"`,
  )
  await expect(cluster.patch(Team, team, { spec: { prefix: 'other' } })).rejects.toThrow('the prefix cannot be changed')
  await expect(cluster.patch(Team, team, { spec: { quota: { cpu: 33 } } })).rejects.toThrow('the limit is 64')
  const member = { kind: 'User', role: 'view' } as const
  const crowd = Array.from({ length: 101 }, (_, index) => ({ ...member, name: `user-${index}` }))
  await expect(cluster.patch(Team, team, { spec: { members: crowd } })).rejects.toThrow('must have at most 100 items')

  await cluster.delete(policies, 'team', dev)
  await cluster.until(policies, 'team', () => true, dev)

  await cluster.patch(Team, team, { spec: { environments: ['prod'] } })
  await cluster.until(Team, team, { status: { namespaces: [prod.namespace], retained: [dev.namespace] } })
  await cluster.untilGone(bindings, 'team-admin', dev)
  await cluster.get('resourcequotas', 'team', dev)

  await cluster.patch(Team, team, { spec: { deletionPolicy: 'Delete' } })
  await cluster.delete(Team, team)
  await cluster.untilGone(Team, team)
  // Without controllers, a namespace of the real control plane stays in this state.
  const ended = await cluster.get('namespaces', prod.namespace).catch(() => undefined)
  if (ended !== undefined) expect(ended.metadata.deletionTimestamp).toBeDefined()
})
