import { adopt, buildObject, Operator } from 'kopf'
import { Pod } from 'kopf/kubernetes'

const kopf = new Operator()

/** A reconciler is the better way to manage children: see 18-reconcile. */
kopf.on.create('kopfexamples', { id: 'createPod' }, async ({ body, name, spec, client, logger }) => {
  const command = ['sh', '-c', `sleep ${spec.seconds}`]
  const containers = [{ name: 'main', image: 'busybox', command }]
  const pod = buildObject(Pod, { metadata: { name }, spec: { containers } })
  // `adopt` sets the namespace, the labels and the owner of the pod. `apply` does not fail if an earlier attempt has created the pod.
  await client.apply(adopt(pod, body))
  logger.info(`Created the pod ${name}`)
})

export default kopf
