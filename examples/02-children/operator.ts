import { adopt, isAlreadyExists, Operator } from 'kopf'

const kopf = new Operator()

/** A reconciler is the better way to manage children: see 18-reconcile. `adopt` sets the name, namespace, labels and owner of the pod. */
kopf.on.create('kopfexamples', { id: 'createPod' }, async ({ body, name, spec, client, logger }) => {
  const command = ['sh', '-c', `sleep ${spec.seconds}`]
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {},
    spec: { containers: [{ name: 'main', image: 'busybox', command }] },
  }
  try {
    await client.create(adopt(pod, body, { strict: true }))
    logger.info(`Created the pod ${name}`)
  } catch (error) {
    // An earlier attempt may have created the pod before it was interrupted.
    if (!isAlreadyExists(error)) throw error
  }
})

export default kopf
