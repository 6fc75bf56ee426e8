import { defineResource, inWorker, Operator } from 'kopf'
import { z } from 'zod'

export const PrimeList = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'PrimeList',
  spec: z.object({ count: z.int().min(1) }),
  status: z.object({ primes: z.object({ largest: z.int() }) }),
})

const kopf = new Operator()

/** Runs in a worker thread. The result is stored in `status.primes`. */
kopf.on.create(PrimeList, inWorker(new URL('./primes.ts', import.meta.url)))

/** Continues during the computation. */
kopf.timer(PrimeList, { interval: '100ms', finalizer: false }, ({ logger }) => logger.info('Still here'))

export default kopf
