/** Runs the operator on an embedded cluster, whose controllers start pods, run Jobs and bind claims. Time is skipped. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildObject, isUnprocessable, type Spec } from 'kopf'
import { CronJob, Job, PersistentVolumeClaim, Secret, Service, StatefulSet } from 'kopf/kubernetes'
import { type Cluster, startCluster } from 'kopf/testing'
import kopf, { Database } from './operator.ts'
import { toBytes } from './storage.ts'

const controllers = ['statefulsets', 'cronjobs'] as const
const backup = { schedule: '0 3 * * *', claim: 'backups', keepDays: 14 }
const spec = { version: '17', storage: '1Gi', deletionPolicy: 'Retain' } as const
const backups = buildObject(PersistentVolumeClaim, {
  metadata: { name: 'backups' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '20Gi' } } },
})
const openCluster = () => startCluster({ resources: [Database], objects: [backups], controllers })

interface WithConditions {
  readonly status?: { readonly conditions?: readonly { type: string; status: string; reason: string }[] }
}

/** Whether a condition of the database has this reason. */
const has = (type: string, reason: string) => (database: WithConditions) =>
  database.status?.conditions?.some((one) => one.type === type && one.reason === reason) ?? false

const isRunning = has('Ready', 'Running')

async function createRunning(cluster: Cluster, fields: Partial<Spec<typeof Database>> = {}): Promise<void> {
  await cluster.create(Database, { name: 'orders', spec: { ...spec, ...fields } })
  await cluster.until(Database, 'orders', isRunning)
}

/** Waits for a Job whose name begins with this text. */
async function untilJob(cluster: Cluster, prefix: string): Promise<string> {
  const jobs = await cluster.until(Job, {}, (list) => list.some(({ metadata }) => metadata.name.startsWith(prefix)))
  const found = jobs.find(({ metadata }) => metadata.name.startsWith(prefix))
  assert.ok(found)
  return found.metadata.name
}

test('a database has a server, an address, a password and backups', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  await createRunning(cluster, { backup })
  const { status } = await cluster.get(Database, 'orders')
  assert.equal(status?.host, 'orders.default.svc')
  assert.equal((await cluster.get(Service, 'orders')).spec?.clusterIP, 'None')
  const { data } = await cluster.get(Secret, 'orders-credentials')
  const password = Buffer.from(data?.['password'] ?? '', 'base64').toString()
  assert.match(password, /^[\w-]{32}$/)
  assert.ok(!cluster.logs.some((line) => line.includes(password)), 'the password is logged')
  await cluster.until(CronJob, 'orders-backup', ({ status }) => status?.lastSuccessfulTime !== undefined, {
    timeout: '2d',
  })
  await cluster.until(Database, 'orders', ({ status }) => status?.lastBackup !== undefined)
})

test('the password stays the same after restarts and changes', async () => {
  await using cluster = await openCluster()
  const first = await kopf.start(cluster)
  await createRunning(cluster)
  const before = await cluster.get(Secret, 'orders-credentials')
  await first.stop()
  await using _second = await kopf.start(cluster)
  await cluster.patch(Database, 'orders', { spec: { version: '17.2' } })
  await cluster.until(StatefulSet, 'orders', ({ spec }) =>
    Boolean(spec?.template.spec?.containers[0]?.image?.endsWith(':17.2')),
  )
  await cluster.settled()
  const after = await cluster.get(Secret, 'orders-credentials')
  assert.deepEqual([after.metadata.uid, after.data], [before.metadata.uid, before.data])
})

test('no password is generated for data that has one already', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  await createRunning(cluster)
  await cluster.delete(Secret, 'orders-credentials')
  await cluster.patch(Database, 'orders', { metadata: { labels: { team: 'sales' } } })
  await cluster.until(Database, 'orders', has('Ready', 'PasswordMissing'))
  assert.deepEqual(await cluster.list(Secret, { labelSelector: 'example.com/database=orders' }), [])
})

test('the Secret of another application is neither used nor changed', async () => {
  await using cluster = await openCluster()
  await cluster.create(Secret, { name: 'orders-credentials', stringData: { password: 'theirs' } })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec: { ...spec, deletionPolicy: 'Delete' } })
  await cluster.until(Database, 'orders', has('Ready', 'SecretNotOwned'))
  assert.deepEqual(await cluster.list(StatefulSet), [])
  await cluster.delete(Database, 'orders')
  await cluster.untilGone(Database, 'orders')
  assert.ok(await cluster.get(Secret, 'orders-credentials'))
})

test('a Service that was changed or deleted is put back', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  await createRunning(cluster)
  const before = await cluster.get(Service, 'orders')
  await cluster.patch(Service, 'orders', { spec: { selector: { 'example.com/component': 'other' } } })
  await cluster.until(Service, 'orders', (service) => service.spec?.selector?.['example.com/component'] === 'server')
  await cluster.delete(Service, 'orders')
  const again = await cluster.until(Service, 'orders', () => true)
  assert.deepEqual(again.spec?.selector, before.spec?.selector)
})

test('the volume grows with the storage, and the server is not replaced', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  await createRunning(cluster)
  const server = await cluster.get(StatefulSet, 'orders')
  await cluster.patch(Database, 'orders', { spec: { storage: '2Gi' } })
  await cluster.until(Database, 'orders', has('StorageResized', 'Growing'))
  const claim = await cluster.get(PersistentVolumeClaim, 'data-orders-0')
  assert.equal(claim.spec?.resources?.requests?.['storage'], '2Gi')
  // The driver of a real volume reports the new capacity.
  const capacity = { status: { capacity: { storage: '2Gi' } } }
  await cluster.client.patch(PersistentVolumeClaim, 'data-orders-0', capacity, { subresource: 'status' })
  const { status } = await cluster.until(Database, 'orders', has('StorageResized', 'AsRequested'))
  assert.equal(status?.storage, '2Gi')
  assert.equal((await cluster.get(StatefulSet, 'orders')).metadata.uid, server.metadata.uid)
})

test('a volume that cannot grow is reported, and the server goes on', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  await createRunning(cluster)
  const refusal = { type: 'error', status: 403 } as const
  cluster.faults.add({ on: { verb: 'patch', resource: 'persistentvolumeclaims' }, effect: refusal })
  await cluster.patch(Database, 'orders', { spec: { storage: '2Gi' } })
  const database = await cluster.until(Database, 'orders', has('StorageResized', 'ResizeRefused'))
  assert.ok(isRunning(database))
})

test('a smaller storage is refused by the API server, and reported if the volume is larger', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  await createRunning(cluster)
  await assert.rejects(cluster.patch(Database, 'orders', { spec: { storage: '512Mi' } }), (error) => {
    return isUnprocessable(error) && error.message.includes('storage can only grow')
  })
  await cluster.patch(PersistentVolumeClaim, 'data-orders-0', { spec: { resources: { requests: { storage: '1Ti' } } } })
  await cluster.until(Database, 'orders', has('StorageResized', 'ShrinkRefused'))
  const claim = await cluster.get(PersistentVolumeClaim, 'data-orders-0')
  assert.equal(claim.spec?.resources?.requests?.['storage'], '1Ti')
})

test('a new database restores its backup once', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  const restoreFrom = 'orders/20260101T030000Z.dump'
  await cluster.create(Database, { name: 'orders', spec: { ...spec, backup, restoreFrom } })
  await cluster.until(Database, 'orders', has('Ready', 'Restoring'))
  const { status } = await cluster.until(Database, 'orders', isRunning)
  assert.equal(status?.restoredFrom, restoreFrom)
  await cluster.untilGone(Job, 'orders-restore')
  await cluster.patch(Database, 'orders', { metadata: { labels: { team: 'sales' } } })
  await cluster.settled()
  assert.deepEqual(await cluster.list(Job), [])
})

test('a restored database is not restored again if the operator is killed before the status is written', async () => {
  await using cluster = await startCluster({ resources: [Database], controllers: ['statefulsets'] })
  const first = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec: { ...spec, backup, restoreFrom: 'orders/1.dump' } })
  await cluster.until(Database, 'orders', has('Ready', 'Restoring'))
  const { metadata } = await cluster.until(Job, 'orders-restore', () => true)
  const failure = { type: 'error', status: 500 } as const
  const fault = cluster.faults.add({ on: { verb: 'patch', resource: 'databases.example.com' }, effect: failure })
  await finish(cluster, 'orders-restore', 'Complete')
  await cluster.until(() => fault.hits > 0)
  await first.stop()
  assert.equal((await cluster.get(Job, 'orders-restore')).metadata.uid, metadata.uid)
  cluster.faults.clear()
  await using _second = await kopf.start(cluster)
  await cluster.untilGone(Job, 'orders-restore')
  assert.ok(isRunning(await cluster.get(Database, 'orders')))
})

test('a restore that fails is reported, and repeated when its Job is deleted', async () => {
  await using cluster = await startCluster({ resources: [Database], controllers: ['statefulsets'] })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec: { ...spec, backup, restoreFrom: 'orders/1.dump' } })
  await cluster.until(Job, 'orders-restore', () => true)
  await finish(cluster, 'orders-restore', 'Failed')
  await cluster.until(Database, 'orders', has('Ready', 'RestoreFailed'))
  await cluster.delete(Job, 'orders-restore')
  await cluster.until(Database, 'orders', has('Ready', 'Restoring'))
  await finish(cluster, 'orders-restore', 'Complete')
  await cluster.until(Database, 'orders', isRunning)
})

test('a claim that appears while the database is deleted is deleted, too', async () => {
  await using cluster = await startCluster({ resources: [Database] })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec: { ...spec, deletionPolicy: 'Delete' } })
  await cluster.until(StatefulSet, 'orders', () => true)
  await cluster.patch(StatefulSet, 'orders', { metadata: { finalizers: ['example.com/hold'] } })
  await cluster.delete(Database, 'orders')
  await cluster.until(Database, 'orders', has('Ready', 'Deleting'))
  // The StatefulSet controller is late.
  const labels = { 'example.com/database': 'orders' }
  await cluster.create(PersistentVolumeClaim, { name: 'data-orders-0', labels, spec: backups.spec ?? {} })
  await cluster.patch(StatefulSet, 'orders', { metadata: { finalizers: null } })
  await cluster.untilGone(Database, 'orders')
  await cluster.untilGone(PersistentVolumeClaim, 'data-orders-0')
})

test('a database without data needs no last backup', async () => {
  await using cluster = await startCluster({ resources: [Database] })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec: { ...spec, backup, deletionPolicy: 'Backup' } })
  await cluster.until(StatefulSet, 'orders', () => true)
  await cluster.delete(Database, 'orders')
  await cluster.untilGone(Database, 'orders')
  assert.deepEqual(await cluster.list(Job), [])
})

test('a last backup that cannot be created is reported, and the data stays', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  await createRunning(cluster, { backup, deletionPolicy: 'Backup' })
  const refusal = { type: 'error', status: 403 } as const
  cluster.faults.add({ on: { verb: 'create', resource: 'jobs.batch' }, effect: refusal })
  await cluster.delete(Database, 'orders')
  await cluster.until(Database, 'orders', has('Ready', 'BackupFailed'))
  assert.ok(await cluster.get(PersistentVolumeClaim, 'data-orders-0'))
  cluster.faults.clear()
  await cluster.untilGone(Database, 'orders')
  await cluster.untilGone(PersistentVolumeClaim, 'data-orders-0')
})

test('a server that outlives its database keeps its data', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  await createRunning(cluster, { deletionPolicy: 'Delete' })
  await cluster.client.delete(Database, 'orders', { propagationPolicy: 'Orphan' })
  await cluster.untilGone(Database, 'orders')
  assert.ok(await cluster.get(StatefulSet, 'orders'))
  assert.ok(await cluster.get(PersistentVolumeClaim, 'data-orders-0'))
  assert.ok(await cluster.get(Secret, 'orders-credentials'))
})

test('data is deleted after the last backup, and the backups stay', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  await createRunning(cluster, { backup, deletionPolicy: 'Backup' })
  await cluster.delete(Database, 'orders')
  const job = await untilJob(cluster, 'orders-last-backup-')
  assert.ok(await cluster.get(StatefulSet, 'orders'), 'the server is needed for the backup')
  assert.ok(await cluster.get(PersistentVolumeClaim, 'data-orders-0'))
  await cluster.until(Job, job, ({ status }) => status?.succeeded === 1)
  await cluster.untilGone(PersistentVolumeClaim, 'data-orders-0')
  await cluster.untilGone(Secret, 'orders-credentials')
  await cluster.untilGone(StatefulSet, 'orders')
  await cluster.untilGone(Database, 'orders')
  assert.ok(await cluster.get(PersistentVolumeClaim, 'backups'))
})

test('data stays while the last backup fails, until the policy allows to continue without it', async () => {
  await using cluster = await startCluster({ resources: [Database], controllers: ['statefulsets'] })
  await using _operator = await kopf.start(cluster)
  await createRunning(cluster, { backup, deletionPolicy: 'Backup' })
  await cluster.delete(Database, 'orders')
  await finish(cluster, await untilJob(cluster, 'orders-last-backup-'), 'Failed')
  await cluster.until(Database, 'orders', has('Ready', 'BackupFailed'))
  assert.ok(await cluster.get(PersistentVolumeClaim, 'data-orders-0'))
  await cluster.patch(Database, 'orders', { spec: { deletionPolicy: 'Retain' } })
  await cluster.untilGone(Database, 'orders')
  assert.ok(await cluster.get(PersistentVolumeClaim, 'data-orders-0'))
})

test('finished steps of a deletion are not repeated after a restart', async () => {
  await using cluster = await openCluster()
  const first = await kopf.start(cluster)
  await createRunning(cluster, { backup, deletionPolicy: 'Backup' })
  // The operator cannot delete claims for now, and so it is stopped between its steps.
  const refusal = { type: 'error', status: 403 } as const
  const fault = cluster.faults.add({ on: { verb: 'delete', resource: 'persistentvolumeclaims' }, effect: refusal })
  await cluster.delete(Database, 'orders')
  const job = await untilJob(cluster, 'orders-last-backup-')
  await cluster.until(() => fault.hits > 0)
  await first.stop()
  cluster.faults.clear()
  await cluster.delete(Job, job)
  await cluster.untilGone(Job, job)
  await using _second = await kopf.start(cluster)
  await cluster.untilGone(Database, 'orders')
  await cluster.untilGone(PersistentVolumeClaim, 'data-orders-0')
  assert.deepEqual(await cluster.list(Job), [])
})

test('the permissions in the manifests are enough', async () => {
  const manifests = [new URL('./manifests/operator.yaml', import.meta.url)]
  await using cluster = await startCluster({ manifests, objects: [backups], controllers, authorization: 'rbac' })
  const access = await cluster.as({ serviceAccount: 'database-operator' })
  await using _operator = await kopf.start(access)
  await createRunning(cluster, { backup, deletionPolicy: 'Backup' })
  await cluster.patch(Database, 'orders', { spec: { storage: '2Gi' } })
  await cluster.until(Database, 'orders', has('StorageResized', 'Growing'))
  await cluster.delete(Database, 'orders')
  await cluster.untilGone(Database, 'orders')
  await cluster.untilGone(PersistentVolumeClaim, 'data-orders-0')
  assert.deepEqual(cluster.requests.last({ status: 403 }), [])
})

test('by default, a database of the same name has the data and the password of the deleted one', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  await createRunning(cluster)
  const { data } = await cluster.get(Secret, 'orders-credentials')
  const { metadata } = await cluster.get(PersistentVolumeClaim, 'data-orders-0')
  await cluster.delete(Database, 'orders')
  await cluster.untilGone(StatefulSet, 'orders')
  await cluster.untilGone(Database, 'orders')
  await createRunning(cluster)
  assert.deepEqual((await cluster.get(Secret, 'orders-credentials')).data, data)
  assert.equal((await cluster.get(PersistentVolumeClaim, 'data-orders-0')).metadata.uid, metadata.uid)
})

test('the longest name is short enough for all objects, and names that no Service can have are refused', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  const name = 'd'.repeat(40)
  await cluster.create(Database, {
    name,
    spec: { ...spec, backup, deletionPolicy: 'Backup', restoreFrom: 'old/1.dump' },
  })
  await cluster.until(Database, name, isRunning)
  assert.ok(await cluster.until(CronJob, `${name}-backup`, () => true))
  await cluster.delete(Database, name)
  await untilJob(cluster, `${name}-last-backup-`)
  await cluster.untilGone(Database, name)
  for (const wrong of ['d'.repeat(41), '1st', 'my.orders']) {
    await assert.rejects(cluster.create(Database, { name: wrong, spec }), /the name must have at most 40 characters/)
  }
})

test('quantities are compared by their bytes', () => {
  assert.equal(toBytes('1024Gi'), toBytes('1Ti'))
  assert.equal(toBytes('1.5Gi'), toBytes('1536Mi'))
  assert.ok(toBytes('1G') < toBytes('1Gi'))
  assert.ok(Number.isNaN(toBytes('much')))
})

/** Ends a Job as its controller would. */
async function finish(cluster: Cluster, name: string, type: 'Complete' | 'Failed'): Promise<void> {
  const conditions = [{ type, status: 'True' }]
  await cluster.client.patch(Job, name, { status: { conditions } }, { subresource: 'status' })
}
