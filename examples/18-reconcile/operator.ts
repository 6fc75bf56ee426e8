import { buildObject, defineResource, Operator } from 'kopf'
import { Deployment, Service } from 'kopf/kubernetes'
import { z } from 'zod'

const Shop = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Shop',
  spec: z.object({ image: z.string(), replicas: z.int().min(0).default(1), port: z.int().optional() }),
  status: z.object({ ready: z.string(), phase: z.enum(['Progressing', 'Ready']) }),
})

const kopf = new Operator({ name: 'shops' })

/** Returns the desired children. The operator creates, updates, restores and deletes them. The children are typed. */
kopf.reconcile(Shop, { id: 'shop', owns: [Deployment, Service] }, ({ name, spec, children, patch }) => {
  const { image, replicas, port } = spec
  const labels = { app: name }
  const containers = [{ name: 'web', image }]

  // `children` are the existing children. The reconciler is called again when they change.
  const ready = children.get(Deployment, name)?.status?.readyReplicas ?? 0
  patch.status.ready = `${ready}/${replicas}`
  patch.status.phase = ready === replicas ? 'Ready' : 'Progressing'

  const deployment = buildObject(Deployment, {
    metadata: { name, labels },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  })
  if (port === undefined) return { children: [deployment] }
  const service = buildObject(Service, { metadata: { name, labels }, spec: { selector: labels, ports: [{ port }] } })
  return { children: [deployment, service] }
})

export default kopf
