import { Operator } from 'kopf'

/** The replicas elect a leader with a Lease of this name. The others watch the same resources, and write nothing. */
const kopf = new Operator({ name: 'greeters', settings: { election: { enabled: true } } })

kopf.on.create('kopfexamples', ({ name, logger }) => logger.info(`Hello, ${name}`))

/** Called when another replica becomes the leader. Handlers that have succeeded are not called again. */
kopf.on.resume('kopfexamples', ({ name, logger }) => logger.info(`Taking over ${name}`))

export default kopf
