/** The operator of cookbook/database: a server for each Database, volumes that grow, a restore, and a clean-up in steps. */
import { ApiError, buildObject } from 'kopf'
import { CronJob, Job, PersistentVolumeClaim, Secret, Service, StatefulSet, StorageClass } from 'kopf/kubernetes'
import { expect, test } from 'vitest'
import kopf, { Database } from '../../cookbook/database/operator.ts'
import { useProject } from './cookbook-support.ts'

const storageClass = 'cookbook-database'
const project = useProject(kopf, {
  resources: [Database],
  objects: [
    buildObject(StorageClass, {
      metadata: { name: storageClass },
      provisioner: 'example.com/none',
      allowVolumeExpansion: true,
    }),
  ],
})

const backup = { schedule: '0 3 * * *', claim: 'backups', keepDays: 14 }
const spec = { version: '17', storage: '1Gi', storageClass, backup, deletionPolicy: 'Backup' } as const
const status = { subresource: 'status' } as const

interface WithConditions {
  readonly status?: { readonly conditions?: readonly { type: string; reason: string }[] }
}

const has = (type: string, reason: string) => (object: WithConditions) =>
  object.status?.conditions?.some((one) => one.type === type && one.reason === reason) ?? false

/** Writes what the StatefulSet controller and the volume driver would write. */
async function startServer(name: string): Promise<void> {
  const { client } = project.cluster
  const { metadata, spec: server } = await project.cluster.until(StatefulSet, name, () => true)
  const { generation = 1 } = metadata
  const template = server?.volumeClaimTemplates?.[0]
  const claim = {
    metadata: { name: `data-${name}-0`, ...labelsOf(template?.metadata?.labels) },
    spec: template?.spec ?? {},
  }
  await client.create(PersistentVolumeClaim, claim)
  await writeCapacity(name, '1Gi')
  const counts = { replicas: 1, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1, currentReplicas: 1 }
  await client.patch(StatefulSet, name, { status: { observedGeneration: generation, ...counts } }, status)
}

function labelsOf(labels: Record<string, string> | undefined): { labels?: Record<string, string> } {
  return labels === undefined ? {} : { labels }
}

async function writeCapacity(name: string, storage: string): Promise<void> {
  const patch = { status: { phase: 'Bound', capacity: { storage } } }
  await project.cluster.client.patch(PersistentVolumeClaim, `data-${name}-0`, patch, status)
}

/** Ends a Job as its controller would. */
async function complete(name: string): Promise<void> {
  const time = '2026-01-01T00:00:00Z'
  const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => {
    return { type, status: 'True', lastTransitionTime: time, lastProbeTime: time }
  })
  const done = { status: { conditions, startTime: time, completionTime: time, succeeded: 1, terminating: 0 } }
  await project.cluster.client.patch(Job, name, done, status)
}

test('a database gets a server, a password and backups, and its volume grows', async () => {
  const { cluster } = project
  await project.start()
  await cluster.create(Database, { name: 'orders', spec })
  await cluster.until(Database, 'orders', has('Ready', 'Starting'))
  await startServer('orders')
  await cluster.until(Database, 'orders', has('Ready', 'Running'))
  await cluster.until(CronJob, 'orders-backup', () => true)
  const { data, immutable } = await cluster.get(Secret, 'orders-credentials')
  expect(Buffer.from(data?.['password'] ?? '', 'base64')).toHaveLength(32)
  expect(immutable).toBe(true)
  expect((await cluster.get(Service, 'orders')).spec?.clusterIP).toBe('None')

  await cluster.patch(Database, 'orders', { spec: { storage: '2Gi' } })
  await cluster.until(Database, 'orders', has('StorageResized', 'Growing'))
  const claim = await cluster.get(PersistentVolumeClaim, 'data-orders-0')
  expect(claim.spec?.resources?.requests?.['storage']).toBe('2Gi')
  await writeCapacity('orders', '2Gi')
  await cluster.until(Database, 'orders', has('StorageResized', 'AsRequested'))
  expect((await cluster.get(Secret, 'orders-credentials')).data).toEqual(data)
})

test('the API server refuses changes that would lose data', async () => {
  const { cluster } = project
  await cluster.create(Database, { name: 'fixed', spec })
  const refusal = (patch: object) => cluster.patch(Database, 'fixed', { spec: patch }).catch((error: unknown) => error)
  const messages = [
    [{ storage: '512Mi' }, 'storage can only grow'],
    [{ version: '16' }, 'the major version cannot be changed'],
    [{ restoreFrom: 'fixed/1.dump' }, 'restoreFrom cannot be changed'],
    [{ storageClass: null }, 'the storage class cannot be changed'],
    [{ backup: null }, 'deletionPolicy "Backup" needs spec.backup'],
  ] as const
  for (const [patch, message] of messages) {
    const error = await refusal(patch)
    expect(error).toBeInstanceOf(ApiError)
    expect(String(error)).toContain(message)
  }
})

test('a database is restored once', async () => {
  const { cluster } = project
  await project.start()
  const restoreFrom = 'orders/20260101T030000Z.dump'
  await cluster.create(Database, { name: 'copy', spec: { ...spec, restoreFrom } })
  await startServer('copy')
  await cluster.until(Database, 'copy', has('Ready', 'Restoring'))
  await cluster.until(Job, 'copy-restore', () => true)
  await complete('copy-restore')
  const restored = await cluster.until(Database, 'copy', has('Ready', 'Running'))
  expect(restored.status?.restoredFrom).toBe(restoreFrom)
})

test('a deleted database is backed up before its data and its password are deleted', async () => {
  const { cluster } = project
  await project.start()
  await cluster.create(Database, { name: 'old', spec })
  await startServer('old')
  const { metadata } = await cluster.until(Database, 'old', has('Ready', 'Running'))
  await cluster.delete(Database, 'old')
  await cluster.until(Database, 'old', has('Ready', 'BackingUp'))
  expect(await cluster.get(PersistentVolumeClaim, 'data-old-0')).toBeDefined()
  await complete(`old-last-backup-${metadata.uid?.slice(0, 8)}`)
  await cluster.untilGone(Database, 'old')
  await cluster.untilGone(StatefulSet, 'old')
  await cluster.untilGone(Secret, 'old-credentials')
  // A real cluster keeps the claim until its protection controller removes the finalizer.
  const claims = await cluster.list(PersistentVolumeClaim, { labelSelector: { 'example.com/database': 'old' } })
  expect(claims.filter((claim) => claim.metadata.deletionTimestamp === undefined)).toEqual([])
})
