import { Operator } from 'kopf'

const kopf = new Operator()

kopf.on.create('kopfexamples', ({ spec, patch, logger }) => {
  logger.info(`And here we are! ${spec.field}`)
  patch.status.greeted = true
  return { message: 'hello world' }
})

export default kopf
