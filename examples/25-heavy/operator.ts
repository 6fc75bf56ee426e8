import { inWorker, Operator } from 'kopf'

const kopf = new Operator()

/** Runs in a worker thread: `status.primes` gets what it returns. */
kopf.on.create('kopfexamples', inWorker(new URL('./primes.ts', import.meta.url)))

/** Goes on ticking meanwhile. */
kopf.timer('kopfexamples', { interval: '100ms', finalizer: false }, ({ logger }) => logger.info('Still here'))

export default kopf
