/** The cookbook project "replication" on both clusters. A real control plane has no garbage collector: deletion is checked by owner references. */
import { randomBytes } from 'node:crypto'
import type { Spec } from 'kopf'
import type { Cluster } from 'kopf/testing'
import { afterAll, expect, test } from 'vitest'
import kopf from '../../cookbook/replication/operator.ts'
import { Replication } from '../../cookbook/replication/replication.ts'
import { useProject } from './cookbook-support.ts'

const project = useProject(kopf, { resources: [Replication] })
const everywhere = { clusterwide: true }

const toData = (password: string) => ({ password: Buffer.from(password).toString('base64') })

/** Namespaces with names and labels of one test, and a source in the namespace of the cluster. */
class Teams {
  readonly id: string = `replication-${randomBytes(3).toString('hex')}`
  readonly cluster: Cluster = project.cluster
  readonly source = { name: this.id, namespace: this.cluster.namespace }

  async add(suffix: string, labels: Record<string, string> = { [this.id]: 'yes' }): Promise<{ namespace: string }> {
    const namespace = `${this.id}-${suffix}`
    await this.cluster.create('namespaces', { name: namespace, labels })
    namespaces.push(namespace)
    return { namespace }
  }

  async replicate(): Promise<void> {
    const source = { kind: 'Secret', ...this.source } as const
    const spec = { source, namespaceSelector: { matchExpressions: [{ key: this.id, operator: 'Exists' as const }] } }
    await this.cluster.create(Replication, { name: this.id, spec })
    replications.push(this.id)
  }

  untilReason(reason: string, copies: number) {
    return this.cluster.until(Replication, this.id, ({ status }) => {
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')
      return status?.copies === copies && ready?.reason === reason
    })
  }

  untilCopied(password: string, options: { namespace: string }) {
    return this.cluster.until('secrets', this.id, { data: toData(password) }, options)
  }
}

const namespaces: string[] = []
const replications: string[] = []
afterAll(async () => {
  const { client } = project.cluster
  for (const name of replications) await client.delete(Replication, name).catch(() => undefined)
  for (const name of namespaces) await client.delete('namespaces', name).catch(() => undefined)
})

test('copies are created, corrected, updated and removed with their namespaces', async () => {
  const teams = new Teams()
  const { cluster, id } = teams
  const first = await teams.add('first')
  const other = await teams.add('other', {})
  await project.start(everywhere)
  await teams.replicate()
  await teams.untilReason('SourceMissing', 0)
  await cluster.create('secrets', { ...teams.source, data: toData('one') })
  const copy = await teams.untilCopied('one', first)
  expect(copy.metadata.ownerReferences).toMatchObject([{ kind: 'Replication', name: id, controller: true }])
  await teams.untilReason('Replicated', 1)

  await cluster.patch('secrets', id, { data: toData('wrong') }, first)
  await teams.untilCopied('one', first)
  await cluster.delete('secrets', id, first)
  await teams.untilCopied('one', first)
  await cluster.patch('secrets', id, { data: toData('two') }, { namespace: teams.source.namespace })
  await teams.untilCopied('two', first)

  await cluster.patch('namespaces', other.namespace, { metadata: { labels: { [id]: 'yes' } } })
  await teams.untilCopied('two', other)
  await teams.untilReason('Replicated', 2)
  await cluster.patch('namespaces', first.namespace, { metadata: { labels: { [id]: null } } })
  await cluster.untilGone('secrets', id, first)
  await teams.untilReason('Replicated', 1)

  await cluster.delete('secrets', id, { namespace: teams.source.namespace })
  await teams.untilReason('SourceMissing', 1)
  expect((await cluster.get('secrets', id, other)).data).toEqual(toData('two'))
  await cluster.delete(Replication, id)
  await cluster.untilGone(Replication, id)
})

test('a Secret of another author is named in a condition and not overwritten', async () => {
  const teams = new Teams()
  const { cluster, id } = teams
  const taken = await teams.add('taken')
  const free = await teams.add('free')
  await cluster.create('secrets', { ...teams.source, data: toData('ours') })
  await cluster.create('secrets', { name: id, ...taken, data: toData('theirs') })
  await project.start(everywhere)
  await teams.replicate()
  await teams.untilCopied('ours', free)
  const { status } = await cluster.until(Replication, id, ({ status }) => {
    return status?.conditions?.some(({ reason }) => reason === 'ChildRefused') && status.copies === 1
  })
  const refused = status?.conditions?.find(({ reason }) => reason === 'ChildRefused')
  expect(refused?.message).toContain(`Secret "${id}" in the namespace "${taken.namespace}"`)
  expect((await cluster.get('secrets', id, taken)).data).toEqual(toData('theirs'))
  await cluster.delete('secrets', id, taken)
  await teams.untilCopied('ours', taken)
  await teams.untilReason('Replicated', 2)
  const texts = [...cluster.logs, JSON.stringify(await cluster.get(Replication, id))].join('\n')
  for (const value of ['ours', 'theirs']) expect(texts).not.toContain(toData(value).password)
})

test('the API server refuses a selector without the values that its operator needs', async () => {
  const source = { kind: 'Secret', namespace: 'default', name: 'any' } as const
  const namespaceSelector = { matchExpressions: [{ key: 'team', operator: 'In' as const }] }
  const created = project.cluster.create(Replication, { name: 'incomplete', spec: { source, namespaceSelector } })
  await expect(created).rejects.toThrow('values are required for In and NotIn')
})

test('the API server refuses names and labels that would change the meaning of a request', async () => {
  const source = { kind: 'Secret', namespace: 'default', name: 'any' } as const
  const all = { matchLabels: {} }
  const create = (spec: Spec<typeof Replication>) => project.cluster.create(Replication, { name: 'hostile', spec })
  const refused = [
    [{ source: { ...source, name: '../configmaps' }, namespaceSelector: all }, 'spec.source.name'],
    [{ source: { ...source, namespace: 'n'.repeat(64) }, namespaceSelector: all }, 'spec.source.namespace'],
    [{ source, namespaceSelector: { matchLabels: { team: 'a,stage=b' } } }, 'spec.namespaceSelector.matchLabels.team'],
    [{ source, namespaceSelector: { matchLabels: { 'team,stage': 'a' } } }, 'the keys must be names of labels'],
    [
      { source, namespaceSelector: { matchExpressions: [{ key: '!team', operator: 'Exists' }] } },
      'matchExpressions[0].key',
    ],
  ] as const
  for (const [spec, message] of refused) await expect(create(spec as Spec<typeof Replication>)).rejects.toThrow(message)
})

test('the longest names are copied', async () => {
  const teams = new Teams()
  const { cluster, id } = teams
  const name = id.padEnd(253, 'x')
  const team = await teams.add('long')
  const namespace = teams.source.namespace
  await cluster.create('secrets', { name, namespace, data: toData('long') })
  await project.start(everywhere)
  const namespaceSelector = { matchLabels: { [id]: 'yes' } }
  await cluster.create(Replication, { name, spec: { source: { kind: 'Secret', namespace, name }, namespaceSelector } })
  replications.push(name)
  await cluster.until('secrets', name, { data: toData('long') }, team)
})
