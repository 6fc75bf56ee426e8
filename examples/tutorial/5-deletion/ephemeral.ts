import { adopt, defineResource, isUnprocessable, Operator, PermanentError } from 'kopf'
import { z } from 'zod'

export const EphemeralVolumeClaim = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'EphemeralVolumeClaim',
  shortNames: ['evc'],
  spec: z.object({ size: z.string().regex(/^[1-9][0-9]*[MGT]i$/) }),
  status: z.object({ size: z.string() }),
  printerColumns: [
    { name: 'Size', path: 'spec.size' },
    { name: 'Age', path: 'metadata.creationTimestamp' },
  ],
})

const kopf = new Operator()
export default kopf

kopf.on.create(EphemeralVolumeClaim, async ({ body, name, spec, client, patch, logger }) => {
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: spec.size } } },
  }
  await client.apply(adopt(claim, body))
  patch.status.size = spec.size
  logger.info(`Created a claim of ${spec.size}`)
})

kopf.on.update(EphemeralVolumeClaim, { field: 'spec.size' }, async ({ name, spec, client, patch, logger }) => {
  const resources = { requests: { storage: spec.size } }
  try {
    await client.patch('persistentvolumeclaims', name, { spec: { resources } })
  } catch (error) {
    if (isUnprocessable(error)) throw new PermanentError(error.message)
    throw error
  }
  patch.status.size = spec.size
  logger.info(`Resized the claim to ${spec.size}`)
})

kopf.on.field(EphemeralVolumeClaim, 'metadata.labels', async ({ name, old, new: labels, diff, client, logger }) => {
  const removed = Object.fromEntries(Object.keys(old ?? {}).map((key) => [key, null]))
  await client.patch('persistentvolumeclaims', name, { metadata: { labels: { ...removed, ...labels } } })
  for (const item of diff) logger.info(`Relabelled the claim: ${JSON.stringify(item)}`)
})

kopf.on.delete(EphemeralVolumeClaim, ({ name, status, logger }) => {
  logger.info(`Deleting ${name} with ${status.size}`)
})
