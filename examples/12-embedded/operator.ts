import { Operator } from 'kopf'

const kopf = new Operator()
export default kopf

/** All that the application has to do with it: what is there, kept up to date by the operator. */
export const names = kopf.index('kopfexamples', ({ name }) => [['all', name]])

kopf.on.create('kopfexamples', ({ spec, logger }) => logger.info(`Hello, ${spec.who}`))
kopf.on.delete('kopfexamples', ({ spec, logger }) => logger.info(`Good-bye, ${spec.who}`))
