import { Operator, TemporaryError } from 'kopf'

const kopf = new Operator()

/** One sub-handler per item. Each one has its own retries; a sub-handler that has succeeded is not called again. */
kopf.on.create('kopfexamples', { id: 'items' }, ({ spec, subhandler }) => {
  for (const item of spec.items) {
    subhandler(item, ({ retry, logger }) => {
      if (item === 'banana' && retry === 0) throw new TemporaryError('The banana is still green', { delay: '1s' })
      logger.info(`Here is the ${item}`)
      return { attempts: retry + 1 }
    })
  }
})

export default kopf
