/** The tutorial with kubectl, on the embedded server and on a real cluster. */
import { join } from 'node:path'
import { ConnectionInfo, Operator, type RunningOperator } from 'kopf'
import { afterAll, beforeAll, describe, expect, inject } from 'vitest'
import { createLogSink } from '../../src/util/log/log.ts'
import { useCluster } from '../support/cluster.ts'
import { crdsPath } from '../support/crds.ts'
import { realKubectl } from '../tutorial/tutorial-kubectl.ts'
import { walkThrough } from '../tutorial/walk-through.ts'

const { kubectl, kubeconfigs, url, caPem, admin } = inject('realCluster')

describe('the tutorial with kubectl on the embedded server', () => {
  walkThrough({ kubectl: (folder) => realKubectl(kubectl, join(folder, 'kubeconfig')) })
})

/** The default StorageClass that the setup page requires. */
const storageClass = {
  metadata: { name: 'standard', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: 'example.com/none',
  allowVolumeExpansion: true,
}

/** Binds volume claims and releases deleted ones, as a cluster with storage does and a bare control plane does not. */
function volumes(): Operator {
  const operator = new Operator()
  operator.on.event('persistentvolumeclaims', async ({ name, uid, meta, spec, status, event, client }) => {
    if (event.type === 'DELETED') return
    if (meta.deletionTimestamp !== undefined) {
      await client.patch('persistentvolumeclaims', name, { metadata: { finalizers: null } })
    } else if (status['phase'] !== 'Bound') {
      await client.patch('persistentvolumeclaims', name, { spec: { volumeName: `pvc-${uid}` } })
      const { resources, accessModes = [] } = spec
      const bound = { phase: 'Bound', capacity: resources?.requests ?? {}, accessModes }
      await client.patch('persistentvolumeclaims', name, { status: bound }, { subresource: 'status' })
    }
  })
  return operator
}

describe('the tutorial with kubectl on a real cluster', () => {
  const cluster = useCluster()
  const classesPath = '/apis/storage.k8s.io/v1/storageclasses'
  let storage: RunningOperator

  beforeAll(async () => {
    const { status } = await cluster.api.post(classesPath, storageClass)
    expect(status).toBe(201)
    const { certPem: certificateData, keyPem: privateKeyData } = admin
    const connection = new ConnectionInfo({ server: url, caData: caPem, certificateData, privateKeyData })
    storage = await volumes().start({
      connection,
      namespaces: ['default'],
      logging: createLogSink({ write: () => {} }),
    })
    await storage.ready
  })
  afterAll(async () => {
    await storage.stop()
    await cluster.api.delete(`${classesPath}/${storageClass.metadata.name}`)
    await cluster.api.delete(`${crdsPath}/ephemeralvolumeclaims.example.com`)
  })

  walkThrough({ kubectl: () => realKubectl(kubectl, kubeconfigs.admin), cluster: kubeconfigs.admin })
})
