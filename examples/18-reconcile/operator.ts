import { buildObject, Operator } from 'kopf'
import { Deployment, Service } from 'kopf/kubernetes'

const kopf = new Operator({ name: 'shops' })

/** Returns the desired children. The operator creates, updates, restores and deletes them. The children are typed. */
kopf.reconcile('kopfexamples', { id: 'shop', owns: [Deployment, Service] }, ({ name, spec, children, patch }) => {
  const replicas: number = spec.replicas ?? 1
  const labels = { app: name }
  const containers = [{ name: 'web', image: String(spec.image) }]

  // `children` are the existing children. The reconciler is called again when they change.
  const ready = children.get(Deployment, name)?.status?.readyReplicas ?? 0
  patch.status.ready = `${ready}/${replicas}`
  patch.status.phase = ready === replicas ? 'Ready' : 'Progressing'

  const deployment = buildObject(Deployment, {
    metadata: { name, labels },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  })
  const service = buildObject(Service, {
    metadata: { name, labels },
    spec: { selector: labels, ports: [{ port: Number(spec.port) }] },
  })
  return { children: spec.port === undefined ? [deployment] : [deployment, service] }
})

export default kopf
