/** Objects that controllers of the embedded server create for namespaces, services and volume claims. */
import { resource } from 'kopf'
import { startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import { deployment, type Loose, template } from './workload-manifests.ts'

const claims = resource('v1', 'persistentvolumeclaims')
const volumes = resource('v1', 'persistentvolumes')
const classes = resource('storage.k8s.io/v1', 'storageclasses')
const slices = resource('discovery.k8s.io/v1', 'endpointslices')
const pods = resource('v1', 'pods')

const claim = (spec: object = {}) => ({
  name: 'data',
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
})

test('every namespace has a default service account and the ConfigMap kube-root-ca.crt', async () => {
  await using cluster = await startCluster({ controllers: ['serviceaccounts'] })
  await cluster.create(['v1', 'namespaces'], { name: 'mine' })
  await cluster.settled()
  for (const namespace of ['default', 'kube-system', 'mine']) {
    await cluster.get(['v1', 'serviceaccounts'], 'default', { namespace })
    expect((await cluster.get(['v1', 'configmaps'], 'kube-root-ca.crt', { namespace })).data).toEqual({ 'ca.crt': '' })
  }
  await cluster.delete(['v1', 'serviceaccounts'], 'default', { namespace: 'mine' })
  await cluster.settled()
  await cluster.get(['v1', 'serviceaccounts'], 'default', { namespace: 'mine' })
  await cluster.delete(['v1', 'namespaces'], 'mine')
  await cluster.untilGone(['v1', 'namespaces'], 'mine')
})

test('a Service has endpoints for its selected pods as they become ready', async () => {
  await using cluster = await startCluster({ controllers: ['services', 'deployments'] })
  await cluster.create(['v1', 'services'], {
    name: 'web',
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
  })
  await cluster.create(
    ['apps/v1', 'deployments'],
    deployment({ replicas: 2, template: template({ pod: 'ready after 1m' }) }),
  )
  await cluster.settled()
  const [slice] = await cluster.list(slices)
  expect(slice!.metadata.labels).toMatchObject({ 'kubernetes.io/service-name': 'web' })
  expect(slice!.endpoints.map(({ conditions }: Loose) => conditions.ready)).toEqual([false, false])
  await cluster.clock.advance('1m')
  const [ready] = await cluster.list(slices)
  expect(ready!.endpoints.map(({ conditions }: Loose) => conditions.ready)).toEqual([true, true])
  expect(ready!.ports).toEqual([{ name: '', port: 8080, protocol: 'TCP' }])
  const { subsets } = await cluster.get(['v1', 'endpoints'], 'web')
  expect(subsets?.[0]?.addresses).toHaveLength(2)
  await cluster.delete(['v1', 'services'], 'web')
  await cluster.settled()
  expect(await cluster.list(slices)).toEqual([])
  expect(await cluster.list(['v1', 'endpoints'])).toEqual([])
})

test('a claim is bound to a new volume, which is deleted with the claim', async () => {
  await using cluster = await startCluster({ controllers: ['persistentvolumeclaims'] })
  await cluster.create(claims, claim())
  const { spec, status } = await cluster.until(claims, 'data', ({ status }) => status.phase === 'Bound')
  expect(spec.storageClassName).toBe('standard')
  expect(status.capacity).toEqual({ storage: '1Gi' })
  const volume = await cluster.get(volumes, spec.volumeName)
  expect(volume.spec.claimRef).toMatchObject({ name: 'data', namespace: 'default' })
  expect(volume.status.phase).toBe('Bound')
  await cluster.delete(claims, 'data')
  await cluster.untilGone(volumes, spec.volumeName)
})

test('a claim without a class gets the StorageClass that is annotated as default', async () => {
  await using cluster = await startCluster({ controllers: ['persistentvolumeclaims'] })
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
  await cluster.create(classes, { name: 'zoned', annotations, provisioner: 'example.com/disks' })
  await cluster.create(claims, claim())
  const { spec } = await cluster.until(claims, 'data', ({ status }) => status.phase === 'Bound')
  expect(spec.storageClassName).toBe('zoned')
})

test('a volume with reclaimPolicy Retain is released when its claim is deleted', async () => {
  await using cluster = await startCluster({ controllers: ['persistentvolumeclaims'] })
  await cluster.create(classes, { name: 'kept', provisioner: 'example.com/disks', reclaimPolicy: 'Retain' })
  await cluster.create(claims, claim({ storageClassName: 'kept' }))
  const { spec } = await cluster.until(claims, 'data', ({ status }) => status.phase === 'Bound')
  await cluster.delete(claims, 'data')
  await cluster.until(volumes, spec.volumeName, ({ status }) => status.phase === 'Released')
})

test('a claim is bound to the smallest volume that is large enough', async () => {
  await using cluster = await startCluster({ controllers: ['persistentvolumeclaims'] })
  const spec = { storageClassName: 'manual', accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } }
  for (const storage of ['500Mi', '5Gi', '2Gi']) {
    await cluster.create(volumes, { name: `disk-${storage.toLowerCase()}`, spec: { ...spec, capacity: { storage } } })
  }
  await cluster.create(claims, claim({ storageClassName: 'manual' }))
  const bound = await cluster.until(claims, 'data', ({ status }) => status.phase === 'Bound')
  expect(bound.spec.volumeName).toBe('disk-2gi')
  expect((await cluster.get(volumes, 'disk-5gi')).status.phase).toBe('Available')
})

test('a claim of a class with WaitForFirstConsumer is bound when a pod uses it', async () => {
  await using cluster = await startCluster({ controllers: ['persistentvolumeclaims', 'pods'] })
  await cluster.create(classes, {
    name: 'local',
    provisioner: 'example.com/disks',
    volumeBindingMode: 'WaitForFirstConsumer',
  })
  await cluster.create(claims, claim({ storageClassName: 'local' }))
  await cluster.settled()
  expect((await cluster.get(claims, 'data')).status.phase).toBe('Pending')
  const volumesOfPod = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
  await cluster.create(pods, { name: 'web', spec: { ...template()['spec'], volumes: volumesOfPod } })
  await cluster.until(pods, 'web', ({ status }) => status.phase === 'Running')
  expect((await cluster.get(claims, 'data')).status.phase).toBe('Bound')
})
