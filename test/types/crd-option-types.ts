/** Compiled, never run: the paths in the CRD options of `defineResource`, and their type errors. */
import { defineResource } from 'kopf'
import { z } from 'zod'

const names = { group: 'example.com', version: 'v1', kind: 'Database' } as const
const closed = {
  ...names,
  spec: z.object({
    replicas: z.int(),
    engine: z.enum(['postgres', 'mysql']),
    paused: z.boolean().optional(),
    users: z.array(z.string()),
    limits: z.object({ cpu: z.string(), cores: z.number().nullable() }).optional(),
    parameters: z.record(z.string(), z.any()),
  }),
  status: z.object({ phase: z.string(), replicas: z.int().optional(), selector: z.string() }),
}

defineResource({
  ...closed,
  printerColumns: [
    { name: 'Phase', path: 'status.phase' },
    { name: 'Engine', path: 'spec.engine', type: 'string', priority: 1, description: 'The engine.', format: 'byte' },
    { name: 'CPU', path: 'spec.limits.cpu' },
    { name: 'Users', path: 'spec.users' },
    { name: 'Level', path: 'spec.parameters.log.level' },
    { name: 'App', path: 'metadata.labels.app' },
    { name: 'Age', path: 'metadata.creationTimestamp' },
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
  ],
  scale: { specReplicas: 'spec.replicas', statusReplicas: 'status.replicas', selector: 'status.selector' },
  rules: [{ rule: 'self.spec.replicas > 0', message: 'none', reason: 'FieldValueInvalid', fieldPath: 'spec.replicas' }],
  selectableFields: ['spec.engine', 'spec.paused', 'spec.replicas', 'spec.limits.cpu', 'status.phase'],
  deprecated: 'Use v2.',
  served: false,
  storage: false,
})
defineResource({ ...closed, scale: { specReplicas: 'spec.limits.cores', statusReplicas: 'status.replicas' } })

// Any path is allowed in spec and status without schemas, and in open parts of a schema.
defineResource({
  ...names,
  printerColumns: [{ name: 'Any', path: 'status.any.thing' }],
  scale: { specReplicas: 'spec.any', statusReplicas: 'status.any.thing' },
})
defineResource({ ...names, spec: closed.spec, scale: { specReplicas: 'spec.replicas', statusReplicas: 'status.any' } })

// @ts-expect-error: did you mean status.phase?
defineResource({ ...closed, printerColumns: [{ name: 'Phase', path: 'status.phas' }] })
// @ts-expect-error: a list has no fields
defineResource({ ...closed, printerColumns: [{ name: 'User', path: 'spec.users.0' }] })
// @ts-expect-error: did you mean metadata.creationTimestamp?
defineResource({ ...closed, printerColumns: [{ name: 'Age', path: 'metadata.created' }] })
// @ts-expect-error: the object itself has no such field, also without schemas
defineResource({ ...names, printerColumns: [{ name: 'Phase', path: 'stauts.phase' }] })
// @ts-expect-error: there is no such type
defineResource({ ...closed, printerColumns: [{ name: 'Phase', path: 'status.phase', type: 'int' }] })
// @ts-expect-error: the path is missing
defineResource({ ...closed, printerColumns: [{ name: 'Phase' }] })
// @ts-expect-error: the engine is not a number
defineResource({ ...closed, scale: { specReplicas: 'spec.engine', statusReplicas: 'status.replicas' } })
// @ts-expect-error: the desired replicas are in the spec
defineResource({ ...closed, scale: { specReplicas: 'status.replicas', statusReplicas: 'status.replicas' } })
// @ts-expect-error: did you mean status.replicas?
defineResource({ ...closed, scale: { specReplicas: 'spec.replicas', statusReplicas: 'status.replica' } })
// @ts-expect-error: the actual replicas are missing
defineResource({ ...closed, scale: { specReplicas: 'spec.replicas' } })
// @ts-expect-error: did you mean spec.engine?
defineResource({ ...closed, selectableFields: ['spec.engin'] })
// @ts-expect-error: a list is not selectable
defineResource({ ...closed, selectableFields: ['spec.users'] })
// @ts-expect-error: metadata has labels for that
defineResource({ ...closed, selectableFields: ['metadata.name'] })
// @ts-expect-error: did you mean spec.replicas?
defineResource({ ...closed, rules: [{ rule: 'true', fieldPath: 'spec.replica' }] })
// @ts-expect-error: there is no such reason
defineResource({ ...closed, rules: [{ rule: 'true', reason: 'Invalid' }] })
// @ts-expect-error: did you mean message?
defineResource({ ...closed, rules: [{ rule: 'true', mesage: 'never' }] })
// @ts-expect-error: did you mean printerColumns?
defineResource({ ...closed, printerColums: [] })
