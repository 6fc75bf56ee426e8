import { adopt, isAlreadyExists, Operator } from 'kopf'

const kopf = new Operator()

/** Whatever is adopted is named after its owner, lives in its namespace, has its labels, and goes when it goes. */
kopf.on.create('kopfexamples', { id: 'make' }, async ({ body, name, spec, client, logger }) => {
  const child = { apiVersion: 'v1', kind: 'ConfigMap', data: { color: String(spec.color) }, metadata: {} }
  try {
    await client.create(adopt(child, body, { strict: true }))
    logger.info(`Made the config map ${name}`)
  } catch (error) {
    // An earlier attempt may have made it and not lived to tell.
    if (!isAlreadyExists(error)) throw error
  }
})

kopf.on.update('kopfexamples', { id: 'paint', field: 'spec.color' }, async ({ name, spec, client, logger }) => {
  await client.patch('configmaps', name, { data: { color: spec.color } })
  logger.info(`Painted it ${spec.color}`)
})

export default kopf
