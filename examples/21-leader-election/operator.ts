import { Operator } from 'kopf'

/** The replicas elect one of them, by a Lease of this name. The others watch what it watches, and write nothing. */
const kopf = new Operator({ name: 'greeters', settings: { election: { enabled: true } } })

kopf.on.create('kopfexamples', ({ name, logger }) => logger.info(`Hello, ${name}`))

/** What the former leader has done is not done again. */
kopf.on.resume('kopfexamples', ({ name, logger }) => logger.info(`${name} is mine now`))

export default kopf
