import { buildObject, defineResource, Operator } from 'kopf'
import { ConfigMap } from 'kopf/kubernetes'
import { z } from 'zod'

/** The resource: its TypeScript types, and its CustomResourceDefinition (`npm run crd`). */
export const Greeting = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Greeting',
  spec: z.object({ name: z.string().min(1).default('world') }),
  status: z.object({ message: z.string() }),
})

const kopf = new Operator({ name: 'my-operator' })
export default kopf

/** Called when a Greeting or its ConfigMap changes. Returns the desired children: kopf creates, corrects and deletes them. */
kopf.reconcile(Greeting, { owns: [ConfigMap] }, ({ name, spec, patch, logger }) => {
  const message = `Hello, ${spec.name}!`
  logger.info(message)
  patch.status.message = message
  return { children: [buildObject(ConfigMap, { metadata: { name }, data: { message } })] }
})
