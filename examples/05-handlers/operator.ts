import { Operator } from 'kopf'

const kopf = new Operator()

/** Several handlers for the same cause are called in this order. Each one has its own retries. */
kopf.on.create('kopfexamples', { id: 'first' }, ({ logger }) => logger.info('First'))
kopf.on.create('kopfexamples', { id: 'second' }, ({ logger }) => logger.info('Second'))

/** Called for every change of the spec, the labels and the annotations, not of the status. */
kopf.on.update('kopfexamples', ({ diff, logger }) => {
  for (const { op, path, old, new: value } of diff) {
    logger.info(`${op} ${path.join('.')}: ${old} -> ${value}`)
  }
})

/** Called when the field is added (also with a new object), changed or removed. `old` and `new` are values of the field. */
kopf.on.field('kopfexamples', 'spec.size', { id: 'resize' }, ({ old, new: size, patch, logger }) => {
  logger.info(`The size was ${old} and is ${size}`)
  patch.status.size = size
})

/** A label is a field, too. The path is an array, since label keys can contain dots. */
kopf.on.field('kopfexamples', ['metadata', 'labels', 'team'], { id: 'move' }, ({ old, new: team, logger }) => {
  logger.info(`Moved from ${old} to ${team}`)
})

/** A finalizer holds the object until this handler has succeeded. */
kopf.on.delete('kopfexamples', ({ name, logger }) => logger.info(`Deleting ${name}`))

export default kopf
