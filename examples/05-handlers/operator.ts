import { defineResource, Operator } from 'kopf'
import { z } from 'zod'

const Volume = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Volume',
  spec: z.object({ size: z.int().min(1) }),
  status: z.object({ size: z.int() }),
})

const kopf = new Operator()

/** Several handlers for the same cause are called in this order. Each one has its own retries. */
kopf.on.create(Volume, { id: 'first' }, ({ logger }) => logger.info('First'))
kopf.on.create(Volume, { id: 'second' }, ({ logger }) => logger.info('Second'))

/** Called for every change of the spec, the labels and the annotations, not of the status. */
kopf.on.update(Volume, ({ diff, logger }) => {
  for (const { op, path, old, new: value } of diff) {
    logger.info(`${op} ${path.join('.')}: ${old} -> ${value}`)
  }
})

/** Called when the field is added (also with a new object), changed or removed. `old` and `new` are numbers, or undefined. */
kopf.on.field(Volume, 'spec.size', { id: 'resize' }, ({ old, new: size, patch, logger }) => {
  logger.info(`The size was ${old} and is ${size}`)
  patch.status.size = size ?? null
})

/** A label is a field, too. The path is an array, since label keys can contain dots. */
kopf.on.field(Volume, ['metadata', 'labels', 'team'], { id: 'move' }, ({ old, new: team, logger }) => {
  logger.info(`Moved from ${old} to ${team}`)
})

/** A finalizer holds the object until this handler has succeeded. */
kopf.on.delete(Volume, ({ name, logger }) => logger.info(`Deleting ${name}`))

export default kopf
