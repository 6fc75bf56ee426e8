import { defineResource, Operator, TemporaryError } from 'kopf'
import { z } from 'zod'

const Basket = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Basket',
  spec: z.object({ items: z.array(z.string()) }),
  // Results are stored in the status. It keeps fields that are not in the schema.
  status: z.object({}),
})

const kopf = new Operator()

/** One sub-handler per item. Each one has its own retries; a sub-handler that has succeeded is not called again. */
kopf.on.create(Basket, { id: 'items' }, ({ spec, subhandler }) => {
  for (const item of spec.items) {
    subhandler(item, ({ retry, logger }) => {
      if (item === 'banana' && retry === 0) throw new TemporaryError('The banana is still green', { delay: '1s' })
      logger.info(`Here is the ${item}`)
      return { attempts: retry + 1 }
    })
  }
})

export default kopf
