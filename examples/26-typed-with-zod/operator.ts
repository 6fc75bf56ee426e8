import { defineResource, Operator } from 'kopf'
import { z } from 'zod'

/** One definition for the types, the CRD and its validation in the cluster. */
const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  shortNames: ['db'],
  spec: z.object({
    engine: z.enum(['postgres', 'mysql']),
    size: z.number().int().min(1).default(1),
    users: z.array(z.string()).default(['admin']),
  }),
  status: z.object({ phase: z.enum(['Booting', 'Ready']), url: z.string() }),
  printerColumns: [
    { name: 'Engine', path: 'spec.engine' },
    { name: 'Size', path: 'spec.size' },
    { name: 'Phase', path: 'status.phase' },
    { name: 'URL', path: 'status.url', priority: 1 },
    { name: 'Age', path: 'metadata.creationTimestamp' },
  ],
  selectableFields: ['spec.engine'],
})

const kopf = new Operator()

kopf.on.create(Database, ({ name, spec, patch, logger }) => {
  logger.info(`A ${spec.engine} of size ${spec.size} for ${spec.users.join(', ')}`)
  patch.status.phase = 'Ready'
  patch.status.url = `${spec.engine}://${name}`
})

kopf.on.field(Database, 'spec.size', { old: (size) => size !== undefined }, ({ old = 0, new: size = 0, logger }) => {
  logger.info(size > old ? `Growing by ${size - old}` : `Shrinking by ${old - size}`)
})

export default kopf
