import { buildObject, Operator } from 'kopf'
import { ConfigMap, Service } from 'kopf/kubernetes'

const kopf = new Operator({ name: 'shops' })

/** Says what should be there, whatever has happened: it is made, changed, put back and deleted accordingly. */
kopf.reconcile('kopfexamples', { id: 'shop', owns: [ConfigMap, Service] }, ({ name, spec, children, patch }) => {
  const doors: string[] = spec.doors ?? []
  // As they are, not as they should be: it is called again when that changes.
  patch.status.doors = children.of(Service).length
  const menu = buildObject(ConfigMap, { metadata: { name: `${name}-menu` }, data: { coffee: String(spec.coffee) } })
  const services = doors.map((door) =>
    buildObject(Service, {
      metadata: { name: `${name}-${door}` },
      spec: { selector: { shop: name }, ports: [{ port: 80 }] },
    }),
  )
  return { children: [[menu], services] }
})

export default kopf
