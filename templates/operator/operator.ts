import { buildObject, defineResource, Operator } from 'kopf'
import { ConfigMap } from 'kopf/kubernetes'
import { z } from 'zod'

/** What people write into the cluster: its types, and its definition there (`npm run crd`). */
export const Greeting = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Greeting',
  spec: z.object({ name: z.string().min(1).default('world') }),
  status: z.object({ message: z.string() }),
})

const kopf = new Operator({ name: 'my-operator' })
export default kopf

/** Called whenever a greeting, or a config map of it, is not as it was. What is returned is what there should be. */
kopf.reconcile(Greeting, { owns: [ConfigMap] }, ({ name, spec, patch, logger }) => {
  const message = `Hello, ${spec.name}!`
  logger.info(message)
  patch.status.message = message
  return { children: [buildObject(ConfigMap, { metadata: { name }, data: { message } })] }
})
