import { Operator } from 'kopf'

const kopf = new Operator({ name: 'shops' })

/** Says what should be there, whatever has happened: it is made, changed, put back and deleted accordingly. */
kopf.reconcile('kopfexamples', { id: 'shop', owns: ['configmaps', 'services'] }, ({ name, spec, children, patch }) => {
  const doors: string[] = spec.doors ?? []
  // As they are, not as they should be: it is called again when that changes.
  patch.status.doors = children.of('services').length
  const menu = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${name}-menu` },
    data: { coffee: String(spec.coffee) },
  }
  const services = doors.map((door) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `${name}-${door}` },
    spec: { selector: { shop: name }, ports: [{ port: 80 }] },
  }))
  return { children: [[menu], services] }
})

export default kopf
