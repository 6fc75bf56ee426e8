import { Operator } from 'kopf'

const kopf = new Operator()

/** As many handlers for the same as you like: they are called in this order, and each is retried by itself. */
kopf.on.create('kopfexamples', { id: 'first' }, ({ logger }) => logger.info('First'))
kopf.on.create('kopfexamples', { id: 'second' }, ({ logger }) => logger.info('Second'))

/** Every change of what people write: spec, labels, annotations. Not status. */
kopf.on.update('kopfexamples', ({ diff, logger }) => {
  for (const { op, path, old, new: value } of diff) {
    logger.info(`${op} ${path.join('.')}: ${old} -> ${value}`)
  }
})

/** One field, when it comes (also with the object itself), changes, or goes: `old` and `new` are its own. */
kopf.on.field('kopfexamples', 'spec.size', { id: 'resize' }, ({ old, new: size, patch, logger }) => {
  logger.info(`The size was ${old} and is ${size}`)
  patch.status.size = size
})

/** A label is a field too: as an array, since keys of labels may have dots in them. */
kopf.on.field('kopfexamples', ['metadata', 'labels', 'team'], { id: 'move' }, ({ old, new: team, logger }) => {
  logger.info(`Moved from ${old} to ${team}`)
})

/** The object stays until this has succeeded. */
kopf.on.delete('kopfexamples', ({ name, logger }) => logger.info(`Good-bye, ${name}`))

export default kopf
