import { inWorker, Operator } from 'kopf'

const kopf = new Operator()

/** Runs in a worker thread. The result is stored in `status.primes`. */
kopf.on.create('kopfexamples', inWorker(new URL('./primes.ts', import.meta.url)))

/** Continues during the computation. */
kopf.timer('kopfexamples', { interval: '100ms', finalizer: false }, ({ logger }) => logger.info('Still here'))

export default kopf
