import { adopt, isAlreadyExists, Operator } from 'kopf'

const kopf = new Operator()

/** What is adopted is named after its owner, lives in its namespace, has its labels, and goes when it goes. */
kopf.on.create('kopfexamples', { id: 'make' }, async ({ body, name, spec, client, logger }) => {
  const command = ['sh', '-c', `sleep ${spec.seconds}`]
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {},
    spec: { containers: [{ name: 'main', image: 'busybox', command }] },
  }
  try {
    await client.create(adopt(pod, body, { strict: true }))
    logger.info(`Made the pod ${name}`)
  } catch (error) {
    // An earlier attempt may have made it and not lived to tell.
    if (!isAlreadyExists(error)) throw error
  }
})

export default kopf
