/** Compiled, never run: reconcilers are typed by their resource, their owned and their watched resources. */
import { type Args, defineResource, Operator, type Reconciled, resource } from 'kopf'

interface Deployment {
  apiVersion?: 'apps/v1'
  kind?: 'Deployment'
  metadata?: { name?: string }
  spec?: { replicas?: number }
  status?: { readyReplicas?: number }
}
interface ConfigMap {
  metadata?: { name?: string; namespace?: string; labels?: Record<string, string> }
  data?: Record<string, string>
}

const Database = defineResource({ group: 'example.com', version: 'v1', kind: 'Database' })
const Deployments = resource<Deployment>('apps/v1', 'deployments')
const ConfigMaps = resource<ConfigMap>('v1', 'configmaps')

const kopf = new Operator({ memo: () => ({ pings: 0 }) })

kopf.reconcile(Database, ({ name, memo, deleting, children }) => {
  const pings: number = memo.pings
  const gone: boolean = deleting
  const none: number = children.size
  return { requeueAfter: pings + none + name.length, children: gone ? [] : [] }
})

kopf.reconcile(Database, { owns: [Deployments, ConfigMaps, 'services'], resync: '10m' }, async ({ children, spec }) => {
  const ready: number | undefined = children.of(Deployments)[0]?.status?.readyReplicas
  const color: string | undefined = children.get(ConfigMaps, 'settings')?.data?.['color']
  const service = children.get('services', 'web', { namespace: 'elsewhere' })
  for (const child of children) void child.metadata
  // @ts-expect-error: it is not owned
  children.of('secrets')
  // @ts-expect-error: children are read-only; the desired state is returned
  children.of(Deployments)[0]!.spec = {}
  const wanted: Deployment = { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: spec['size'] } }
  const config = { apiVersion: 'v1', kind: 'ConfigMap', data: { ready: `${ready} ${color} ${service?.spec?.type}` } }
  return { children: [[wanted], { children: [config], ready: () => true }] }
})

kopf.reconcile(
  Database,
  {
    cleanup: true,
    watches: [
      [ConfigMaps, ({ metadata, data }) => [metadata?.labels?.['database'] ?? '', { name: data?.['name'] ?? '' }]],
      ['secrets', ({ metadata }) => ({ name: metadata.name!, namespace: metadata.namespace })],
    ],
    when: ({ spec }) => spec['size'] > 0,
  },
  () => {},
)

kopf.reconcile(Database, { owns: [ConfigMaps], existing: 'leave' }, ({ spec }) => ({
  children: [{ children: [{ apiVersion: 'v1', kind: 'ConfigMap' }], existing: 'refuse' }],
  existing: spec['replace'] ? 'adopt' : 'leave',
}))
// @ts-expect-error: it is one of "refuse", "leave" and "adopt"
kopf.reconcile(Database, { owns: [ConfigMaps], existing: 'keep' }, () => {})
// @ts-expect-error: likewise
kopf.reconcile(Database, { owns: [ConfigMaps] }, () => ({ children: [], existing: 'keep' }))

kopf.reconcile(Database, { cleanup: true }, async ({ step }) => {
  const size: number = await step('size', () => 1)
  // @ts-expect-error: a stored step result would be a string instead of a Date
  await step('date', () => new Date())
  return { requeueAfter: size }
})

// @ts-expect-error: owned resources are resources
kopf.reconcile(Database, { owns: [42] }, () => {})
// @ts-expect-error: a list of them
kopf.reconcile(Database, { owns: Deployments }, () => {})
// @ts-expect-error: a delay is a duration
kopf.reconcile(Database, () => ({ requeueAfter: 'soon' }))
// @ts-expect-error: children are objects
kopf.reconcile(Database, () => ({ children: ['web'] }))
// @ts-expect-error: a map function returns owners
kopf.reconcile(Database, { watches: [[ConfigMaps, () => 42]] }, () => {})

function declared({ name, children }: Args<'reconcile', typeof Database>): Reconciled {
  return { children: [...children, { metadata: { name } }] }
}
kopf.reconcile(Database, { id: 'declared', owns: [Deployments] }, declared)
