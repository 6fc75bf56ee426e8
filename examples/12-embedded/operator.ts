import { EventEmitter } from 'node:events'
import { Operator } from 'kopf'

const kopf = new Operator()
export default kopf

/** The application reads this index: the names of all objects, kept up to date by the operator. */
export const names = kopf.index('kopfexamples', ({ name }) => [['all', name]])

/** The application listens to this emitter. */
export const greetings = new EventEmitter<{ greeted: [name: string] }>()

kopf.on.create('kopfexamples', ({ name, spec, logger }) => {
  logger.info(`Hello, ${spec.who}`)
  greetings.emit('greeted', name)
})
