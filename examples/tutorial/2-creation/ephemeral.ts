import { adopt, defineResource, Operator } from 'kopf'
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
