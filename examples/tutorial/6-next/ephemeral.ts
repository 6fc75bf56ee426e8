import { buildObject, defineResource, Operator } from 'kopf'
import { PersistentVolumeClaim } from 'kopf/kubernetes'
import { z } from 'zod'

export const EphemeralVolumeClaim = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'EphemeralVolumeClaim',
  shortNames: ['evc'],
  spec: z.object({
    size: z.string().regex(/^[1-9][0-9]*[MGT]i$/),
    lifetimeSeconds: z.number().int().min(1).optional(),
  }),
  status: z.object({ size: z.string() }),
  printerColumns: [
    { name: 'Size', path: 'spec.size' },
    { name: 'Age', path: 'metadata.creationTimestamp' },
  ],
})

const kopf = new Operator({ name: 'ephemeral-volumes' })
export default kopf

kopf.reconcile(EphemeralVolumeClaim, { owns: [PersistentVolumeClaim] }, ({ name, labels, spec, children, patch }) => {
  const capacity = children.get(PersistentVolumeClaim, name)?.status?.capacity
  patch.status.size = capacity?.['storage']?.toString() ?? null
  const claim = buildObject(PersistentVolumeClaim, {
    metadata: { name, labels },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: spec.size } } },
  })
  return { children: [claim] }
})

kopf.reconcile(EphemeralVolumeClaim, { id: 'expire' }, async ({ name, meta, spec, started, client, logger }) => {
  if (spec.lifetimeSeconds === undefined) return undefined
  const age = (started.getTime() - Date.parse(meta.creationTimestamp!)) / 1000
  if (age < spec.lifetimeSeconds) return { requeueAfter: spec.lifetimeSeconds - age }
  logger.info(`Deleting ${name} after ${spec.lifetimeSeconds} seconds`)
  await client.delete(EphemeralVolumeClaim, name)
  return undefined
})
