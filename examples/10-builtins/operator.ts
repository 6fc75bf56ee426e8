import { Operator } from 'kopf'
import { Pod } from 'kopf/kubernetes'

const kopf = new Operator()

/**
 * Begins with the pod, or with the operator where the pod was there before. Without a finalizer: a pod that goes before its
 * time need not wait for us. What is in kube-system and the like is left alone, or there would soon be no cluster.
 */
kopf.daemon(
  Pod,
  { id: 'kill', finalizer: false, when: ({ namespace }) => !namespace?.startsWith('kube-') },
  async ({ name, client, stopped, logger }) => {
    logger.info('Has 30 seconds to live')
    if (await stopped.wait('30s')) return
    await client.delete(Pod, name)
    logger.info('Its time is up')
  },
)

export default kopf
