import { Operator } from 'kopf'
import { Pod } from 'kopf/kubernetes'

const kopf = new Operator()

/**
 * Starts with the pod, or with the operator for an existing pod. There is no finalizer, so that other deletions of the pod do not wait.
 * Pods in system namespaces are ignored.
 */
kopf.daemon(
  Pod,
  { id: 'kill', finalizer: false, when: ({ namespace }) => !namespace?.startsWith('kube-') },
  async ({ name, client, stopped, logger }) => {
    logger.info('Will be deleted in 30 seconds')
    if (await stopped.wait('30s')) return
    await client.delete(Pod, name)
    logger.info('Deleting the pod')
  },
)

export default kopf
