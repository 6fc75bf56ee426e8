import { buildObject, defineResource, Operator } from 'kopf'
import { ConfigMap } from 'kopf/kubernetes'
import { z } from 'zod'

/** The custom resource: one schema for the TypeScript types and for the CRD (`npm run crd`). */
export const Greeting = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Greeting',
  spec: z.object({ name: z.string().min(1).default('world') }),
  status: z.object({ message: z.string() }),
})

const kopf = new Operator({ name: 'my-operator' })
export default kopf

/** Called when a greeting or its ConfigMap changes. Returns the desired children: the operator applies them and corrects drift. */
kopf.reconcile(Greeting, { owns: [ConfigMap] }, ({ name, spec, patch, logger }) => {
  const message = `Hello, ${spec.name}!`
  logger.info(message)
  patch.status.message = message
  return { children: [buildObject(ConfigMap, { metadata: { name }, data: { message } })] }
})
