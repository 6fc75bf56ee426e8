/** Waits of the testing kit see every state of an object, on the embedded cluster and on a real one. */
import { defineResource, Operator } from 'kopf'
import { type Cluster, startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { toCrds } from '../../src/kube/crds/crd.ts'
import { realOrNot } from './real-or-embedded.ts'

const Job = defineResource({
  group: 'waiting.example.com',
  version: 'v1',
  kind: 'Job',
  spec: z.object({ size: z.number() }),
  status: z.object({ phase: z.string() }),
})
const real = realOrNot()
const spec = { size: 1 }

/** Changes objects by an operator, so that the testing kit does not know of the writes. */
async function writeElsewhere(cluster: Cluster, work: (other: Operator) => void): Promise<void> {
  const kopf = new Operator({ settings: { posting: { enabled: false } } })
  work(kopf)
  await using running = await kopf.start(cluster)
  await running.ready
}

async function throughPhases(cluster: Cluster, name: string, ...phases: readonly string[]): Promise<void> {
  await writeElsewhere(cluster, (kopf) => {
    kopf.on.startup(async ({ client }) => {
      const options = { subresource: 'status', namespace: cluster.namespace }
      for (const phase of phases) await client.patch(Job, name, { status: { phase } }, options)
    })
  })
}

async function reasonOf(waiting: Promise<unknown>): Promise<string> {
  return waiting.then(
    () => 'no error',
    (error: Error) => error.message,
  )
}

test('a wait sees a state that ended before the wait began', async () => {
  await using cluster = await startCluster({ resources: [Job], real })
  await cluster.create(Job, { name: 'backup', spec })
  await throughPhases(cluster, 'backup', 'Starting', 'Running', 'Done')
  const { status } = await cluster.until(Job, 'backup', ({ status }) => status?.phase === 'Running')
  expect(status?.phase).toBe('Running')
  expect((await cluster.get(Job, 'backup')).status?.phase).toBe('Done')
})

test('a wait can find its resource by a function', async () => {
  await using cluster = await startCluster({ resources: [Job], real })
  await cluster.create(Job, { name: 'one', spec })
  const isJob = ({ group, plural }: { group: string; plural: string }) =>
    group === 'waiting.example.com' && plural === 'jobs'
  const { metadata } = await cluster.until(isJob, 'one', () => true)
  expect(metadata.name).toBe('one')
})

test('a wait sees every state in order', async () => {
  await using cluster = await startCluster({ resources: [Job], real })
  await cluster.create(Job, { name: 'backup', spec })
  const phases = ['A', 'B', 'C', 'D']
  await throughPhases(cluster, 'backup', ...phases)
  const seen: (string | undefined)[] = []
  await cluster.until(Job, 'backup', ({ status }) => {
    if (seen.at(-1) !== status?.phase) seen.push(status?.phase)
    return status?.phase === 'D'
  })
  expect(seen).toEqual(phases)
})

test('a wait continues after the state that the previous wait has found', async () => {
  await using cluster = await startCluster({ resources: [Job], real })
  await cluster.create(Job, { name: 'backup', spec })
  await throughPhases(cluster, 'backup', 'Idle', 'Running', 'Idle', 'Running', 'Idle')
  const versions: string[] = []
  for (const phase of ['Idle', 'Running', 'Idle', 'Running', 'Idle']) {
    const { metadata } = await cluster.until(Job, 'backup', { status: { phase } })
    versions.push(metadata.resourceVersion!)
  }
  expect(new Set(versions).size).toBe(5)
  expect(versions.at(-1)).toBe((await cluster.get(Job, 'backup')).metadata.resourceVersion)
})

test('a wait ignores states from before a write, a read or a pause of the test', async () => {
  await using cluster = await startCluster({ resources: [Job], real })
  const wait = { timeout: '300ms' } as const
  const running = { status: { phase: 'Running' } }
  await cluster.create(Job, { name: 'backup', spec })
  await throughPhases(cluster, 'backup', 'Running', 'Done')
  await cluster.patch(Job, 'backup', { spec: { size: 2 } })
  await expect(cluster.until(Job, 'backup', running, wait)).rejects.toThrow('expected "Running", is "Done"')
  await throughPhases(cluster, 'backup', 'Running', 'Done')
  await cluster.get(Job, 'backup')
  await expect(cluster.until(Job, 'backup', running, wait)).rejects.toThrow('expected "Running", is "Done"')
  await throughPhases(cluster, 'backup', 'Running', 'Done')
  await cluster.clock.advance('100ms')
  await expect(cluster.until(Job, 'backup', running, wait)).rejects.toThrow('expected "Running", is "Done"')
  await throughPhases(cluster, 'backup', 'Running', 'Done')
  await cluster.settled({ quiet: '200ms' })
  await expect(cluster.until(Job, 'backup', running, wait)).rejects.toThrow('expected "Running", is "Done"')
})

test('a wait sees an object that the test did not create from its beginning', async () => {
  await using cluster = await startCluster({ resources: [Job], real })
  await writeElsewhere(cluster, (kopf) => {
    kopf.on.startup(async ({ client }) => {
      const { namespace } = cluster
      await client.create(['v1', 'configmaps'], { metadata: { name: 'made', namespace }, data: { color: 'red' } })
      await client.patch(['v1', 'configmaps'], 'made', { data: { color: 'blue' } }, { namespace })
      await client.delete(['v1', 'configmaps'], 'made', { namespace })
    })
  })
  await cluster.until(['v1', 'configmaps'], 'made', { data: { color: 'red' } })
  await cluster.until(['v1', 'configmaps'], 'made', { data: { color: 'blue' } })
  await cluster.untilGone(['v1', 'configmaps'], 'made')
})

test('a wait for a deletion sees an object that was gone only for a moment', async () => {
  await using cluster = await startCluster({ resources: [Job], real })
  const { metadata } = await cluster.create(Job, { name: 'backup', spec })
  await expect(cluster.untilGone(Job, 'backup', { timeout: '200ms' })).rejects.toThrow('"backup" still exists')
  await writeElsewhere(cluster, (kopf) => {
    kopf.on.startup(async ({ client }) => {
      const { namespace } = cluster
      await client.delete(Job, 'backup', { namespace })
      await client.create(Job, { metadata: { name: 'backup', namespace }, spec })
    })
  })
  await cluster.untilGone(Job, 'backup')
  const { uid } = (await cluster.until(Job, 'backup', () => true)).metadata
  expect(uid).not.toBe(metadata.uid)
})

test('a wait for a deletion ignores that the object did not exist yet', async () => {
  await using cluster = await startCluster({ resources: [Job], real })
  await writeElsewhere(cluster, (kopf) => {
    kopf.on.startup(async ({ client }) => {
      await client.create(Job, { metadata: { name: 'made', namespace: cluster.namespace }, spec })
    })
  })
  await expect(cluster.untilGone(Job, 'made', { timeout: '200ms' })).rejects.toThrow('"made" still exists')
  await cluster.untilGone(Job, 'never')
})

test('a wait after a deletion and a creation by the test is for the new object', async () => {
  await using cluster = await startCluster({ resources: [Job], real })
  await cluster.create(Job, { name: 'backup', spec, status: { phase: 'Old' } })
  await cluster.until(Job, 'backup', { status: { phase: 'Old' } })
  await cluster.delete(Job, 'backup')
  const waiting = cluster.until(Job, 'backup', { status: { phase: 'Old' } }, { timeout: '300ms' })
  await expect(waiting).rejects.toThrow('There is no "backup"')
  const { metadata } = await cluster.create(Job, { name: 'backup', spec })
  const found = await cluster.until(Job, 'backup', () => true)
  expect(found.metadata.uid).toBe(metadata.uid)
})

test('a wait for a list sees every state of it, and can filter by labels', async () => {
  await using cluster = await startCluster({ resources: [Job], real })
  await writeElsewhere(cluster, (kopf) => {
    kopf.on.startup(async ({ client }) => {
      const { namespace } = cluster
      for (const name of ['c', 'a', 'b']) {
        await client.create(Job, {
          metadata: { name, namespace, labels: { tier: name === 'b' ? 'gold' : 'tin' } },
          spec,
        })
      }
      await client.delete(Job, 'a', { namespace })
      await client.patch(Job, 'c', { metadata: { labels: { tier: 'gold' } } }, { namespace })
    })
  })
  const all = await cluster.until(Job, {}, (jobs) => jobs.length === 3)
  expect(all.map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c'])
  await cluster.until(Job, {}, (jobs) => jobs.length === 2)
  const gold = await cluster.until(Job, { labelSelector: { tier: 'gold' } }, (jobs) => jobs.length === 2)
  expect(gold.map(({ spec }) => spec.size)).toEqual([1, 1])
  const error = await reasonOf(
    cluster.until(Job, { namespace: null }, (jobs) => jobs.length > 99, { timeout: '200ms' }),
  )
  expect(error).toContain('the list has not reached the expected state: (jobs) => jobs.length > 99')
  expect(error).toContain('"b", "c"')
  const waiting = cluster.until(Job, {}, (jobs) => jobs.length > 99, { timeout: '500ms' })
  await throughPhases(cluster, 'b', 'Done')
  expect(await reasonOf(waiting)).toContain(`${cluster.namespace}/b.status: {"phase":"Done"}`)
})

test('a wait for an empty list ignores that it was empty before the test created objects', async () => {
  await using cluster = await startCluster({ resources: [Job], real })
  await cluster.create(Job, { name: 'one', spec })
  const isEmpty = (jobs: readonly object[]) => jobs.length === 0
  await expect(cluster.until(Job, {}, isEmpty, { timeout: '200ms' })).rejects.toThrow('has 1 objects: "one"')
  await cluster.delete(Job, 'one')
  await cluster.until(Job, {}, isEmpty)
})

test('a wait can start before the resource is defined', async () => {
  const Late = defineResource({ group: 'late.example.com', version: 'v1', kind: 'Late' })
  await using cluster = await startCluster({ real })
  await expect(cluster.until('latecomers.late.example.com', 'x', () => true, { timeout: '200ms' })).rejects.toThrow(
    'Cannot find the resource latecomers.late.example.com: the cluster does not serve it',
  )
  await expect(cluster.untilGone('latecomers.late.example.com', 'x')).rejects.toMatchObject({ code: 'KOPF_RESOURCE' })
  const waiting = cluster.until(Late, 'first', { spec: { size: 1 } })
  const [crd] = toCrds([Late])
  await cluster.client.create(crd!)
  const created = (): Promise<unknown> => cluster.create(Late, { name: 'first', spec: { size: 1 } }).catch(created)
  await Promise.all([created(), waiting])
  await cluster.delete(Late, 'first')
  await cluster.delete('customresourcedefinitions', crd!.metadata.name!)
  await cluster.untilGone('customresourcedefinitions', crd!.metadata.name!)
  await cluster.untilGone(Late, 'first')
})

test('a failed wait reports the changes and the differences, but not the whole object', async () => {
  await using cluster = await startCluster({ resources: [Job], real })
  await cluster.create(Job, { name: 'backup', annotations: { long: 'x'.repeat(50_000) }, spec })
  await throughPhases(cluster, 'backup', 'Starting', 'Running')
  const wait = { timeout: '300ms' } as const
  const error = await reasonOf(cluster.until(Job, 'backup', { spec: { size: 1 }, status: { phase: 'Done' } }, wait))
  expect(error).toContain('\nstatus.phase: expected "Done", is "Running"\n')
  expect(error).toContain('It went through 3 states; the last changes:\n  + status: {"phase":"Starting"}\n')
  expect(error).toContain('\n  ~ status.phase: "Starting" → "Running"\n')
  expect(error).not.toContain('managedFields')
  expect(error.length).toBeLessThan(4000)
})

test('a failed wait does not reveal the values of a Secret', async () => {
  await using cluster = await startCluster({ real })
  await cluster.create('secrets', { name: 'token', stringData: { password: 'swordfish' } })
  const error = await reasonOf(
    cluster.until('secrets', 'token', ({ data }) => data === undefined, { timeout: '200ms' }),
  )
  expect(error).toContain('"password": "(12 characters)"')
  expect(error).not.toContain(Buffer.from('swordfish').toString('base64'))
})
