import { Operator } from 'kopf'

const kopf = new Operator()

/** The peering "default" is used if it exists. Other operators notice after the lifetime that this operator was killed. */
kopf.on.startup(({ settings }) => {
  settings.peering.lifetime = '30s'
})

/** Stopped while another operator has a higher priority, and started again afterwards. */
kopf.daemon('kopfexamples', async ({ name, stopped, logger }) => {
  logger.info(`Looking after ${name}`)
  await stopped.wait()
  logger.info(`Not looking after ${name} any more: ${stopped.reason}`)
})

export default kopf
