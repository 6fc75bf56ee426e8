/** Like controller-runtime/main.go: a gadget owns a ConfigMap, a Service and a Deployment; spec.size is copied to status.observed. */
import { adopt, Operator } from 'kopf'

const gadgets = [process.env['BENCH_GROUP'] as string, 'v1', process.env['BENCH_PLURAL'] as string] as const
const resync = process.env['BENCH_RESYNC']

const kopf: Operator = new Operator()
export default kopf

const options = {
  owns: ['configmaps', 'services', ['apps', 'v1', 'deployments']],
  ...(resync && { resync: resync as '10s' }),
}

kopf.reconcile(gadgets, options, ({ body, name, spec, deleting, patch }) => {
  if (deleting) return
  patch.status.observed = spec.size
  const metadata = { name }
  const labels = { app: name }
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { size: String(spec.size) } }
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    // Headless, because the range of cluster IPs is small.
    spec: {
      clusterIP: 'None',
      selector: labels,
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }],
    },
  }
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas: spec.size,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'main', image: 'registry.example.com/app:1' }] },
      },
    },
  }
  return { children: [configMap, service, deployment].map((child) => adopt(child, body)) }
})
