/** Compiled, never run: the types of built-in kinds, by the resources of `kopf/kubernetes` and by string literals. */
import { type Args, buildObject, defineResource, type ObjectOf, type OpenObject, Operator, resource } from 'kopf'
import {
  ConfigMap,
  type Container,
  Deployment,
  Event,
  HorizontalPodAutoscaler,
  Node,
  Pod,
  type PodTemplateSpec,
  Service,
  SubjectAccessReview,
} from 'kopf/kubernetes'
import { z } from 'zod'
import { HorizontalPodAutoscaler as OldAutoscaler } from '../../src/kube/builtins/autoscaling/v1.generated.ts'
import { ClusterTrustBundle } from '../../src/kube/builtins/certificates/v1beta1.generated.ts'
import { Event as NewEvent } from '../../src/kube/builtins/events/v1.generated.ts'

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
function holds<_ extends true>(): void {}

const kopf = new Operator()
const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({ size: z.number(), args: z.array(z.string()) }),
})

// A name is a resource and a type.
kopf.on.create(Deployment, ({ spec, status, namespace, body }) => {
  holds<Same<typeof namespace, string>>()
  holds<Same<typeof body.apiVersion, 'apps/v1'>>()
  holds<Same<typeof status.readyReplicas, number | undefined>>()
  spec.template.spec.containers[0]?.image?.trim()
  // @ts-expect-error: there is no such field
  spec.replcas
})
kopf.on.event(Node, ({ namespace }) => holds<Same<typeof namespace, undefined>>())
kopf.on.field(Pod, 'spec.nodeName', ({ new: node }) => holds<Same<typeof node, string | undefined>>())
function declared({ spec }: Args<'update', typeof Service>): string | undefined {
  return spec.clusterIP
}
kopf.on.update(Service, declared)
const container: Container = { name: 'web', image: 'nginx', resources: { limits: { cpu: 1, memory: '1Gi' } } }
const template: PodTemplateSpec = { metadata: { labels: { app: 'web' } }, spec: { containers: [container] } }
const deployment: Deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: { selector: { matchLabels: { app: 'web' } }, strategy: { rollingUpdate: { maxSurge: '25%' } }, template },
}
// @ts-expect-error: the selector is missing
const unselected: Deployment['spec'] = { template }
// @ts-expect-error: the spec is missing
const empty: Deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: {} }
// @ts-expect-error: it is another kind
const mixed: Deployment = { ...deployment, kind: 'DaemonSet' }
void [unselected, empty, mixed]

// Other versions and groups of a kind are in modules of their own.
holds<Same<HorizontalPodAutoscaler['apiVersion'], 'autoscaling/v2'>>()
holds<Same<OldAutoscaler['apiVersion'], 'autoscaling/v1'>>()
holds<Same<Event['apiVersion'], 'v1'>>()
holds<Same<NewEvent['apiVersion'], 'events.k8s.io/v1'>>()
kopf.on.event(ClusterTrustBundle, ({ spec }) => spec.trustBundle.trim())
void [HorizontalPodAutoscaler, OldAutoscaler, Event, NewEvent]

// String literals, arrays and keywords have the same types.
holds<Same<ObjectOf<'pods'>, Pod>>()
holds<Same<ObjectOf<'pod'>, Pod>>()
holds<Same<ObjectOf<'Pod'>, Pod>>()
holds<Same<ObjectOf<'pods.v1'>, Pod>>()
holds<Same<ObjectOf<'Pod.v1'>, Pod>>()
holds<Same<ObjectOf<'deployments'>, Deployment>>()
holds<Same<ObjectOf<'deployments.apps'>, Deployment>>()
holds<Same<ObjectOf<'deployments.v1.apps'>, Deployment>>()
holds<Same<ObjectOf<'Deployment.v1.apps'>, Deployment>>()
holds<Same<ObjectOf<'horizontalpodautoscalers.autoscaling'>, HorizontalPodAutoscaler>>()
holds<Same<ObjectOf<'horizontalpodautoscalers.v1.autoscaling'>, OldAutoscaler>>()
holds<Same<ObjectOf<'events'>, Event>>()
holds<Same<ObjectOf<'events.events.k8s.io'>, NewEvent>>()
holds<Same<ObjectOf<readonly ['pods']>, Pod>>()
holds<Same<ObjectOf<readonly ['v1', 'pods']>, Pod>>()
holds<Same<ObjectOf<readonly ['', 'pods']>, Pod>>()
holds<Same<ObjectOf<readonly ['', 'v1', 'pods']>, Pod>>()
holds<Same<ObjectOf<readonly ['apps', 'deployments']>, Deployment>>()
holds<Same<ObjectOf<readonly ['apps/v1', 'deployments']>, Deployment>>()
holds<Same<ObjectOf<readonly ['apps', 'v1', 'Deployment']>, Deployment>>()
holds<Same<ObjectOf<{ readonly kind: 'Deployment' }>, Deployment>>()
holds<Same<ObjectOf<{ readonly group: 'apps'; readonly version: 'v1'; readonly plural: 'deployments' }>, Deployment>>()
holds<Same<ObjectOf<{ readonly group: ''; readonly singular: 'pod' }>, Pod>>()
holds<Same<ObjectOf<'pods' | 'services'>, Pod | Service>>()

// Anything else stays open.
holds<Same<ObjectOf<string>, OpenObject>>()
holds<Same<ObjectOf<'widgets'>, OpenObject>>()
holds<Same<ObjectOf<'pods.metrics.k8s.io'>, OpenObject>>()
holds<Same<ObjectOf<'deployments.v1beta1.apps'>, OpenObject>>()
holds<Same<ObjectOf<readonly ['example.com/v1', 'deployments']>, OpenObject>>()
holds<Same<ObjectOf<readonly ['example.com', string]>, OpenObject>>()
holds<Same<ObjectOf<{ readonly category: 'all' }>, OpenObject>>()
holds<Same<ObjectOf<{ readonly group: 'example.com'; readonly kind: 'Deployment' }>, OpenObject>>()
kopf.on.create(resource('pods'), ({ spec }) => spec['anything'].goes)

// The client.
kopf.on.create('pods', { id: 'client' }, async ({ client, spec }) => {
  holds<Same<typeof spec.containers, readonly Args<'create', 'pods'>['spec']['containers'][number][]>>()
  const config = await client.get('configmaps', 'settings')
  holds<Same<typeof config.data, ConfigMap['data']>>()
  for (const pod of await client.list(['v1', 'pods'])) pod.spec.containers.push(container)
  for await (const { object } of client.watch('deployments.apps')) object.spec.replicas?.toFixed()
  const { status } = await client.create(SubjectAccessReview, { spec: { user: 'alice' } })
  holds<Same<NonNullable<typeof status>['allowed'], boolean>>()
  const scale = await client.get(Deployment, 'web', { subresource: 'scale' })
  holds<Same<(typeof scale)['spec'], OpenObject['spec']>>()
  await client.create('pods', { metadata: { name: 'web' }, deleteOptions: {} }, { subresource: 'eviction' })
  const { status: reported } = await client.get(Deployment, 'web', { subresource: 'status' })
  reported?.readyReplicas?.toFixed()
  await client.create(Deployment, { metadata: { name: 'web' }, spec: deployment.spec })
  // @ts-expect-error: the selector is missing
  await client.create(Deployment, { metadata: { name: 'web' }, spec: { template } })
})

// Patches are checked: all fields are optional, null removes one, and lists are complete.
kopf.on.update(Database, async ({ client, name, spec }) => {
  await client.patch(Database, name, { spec: { size: 1 } })
  await client.patch(Database, name, { spec: { size: null, args: spec.args }, metadata: { labels: { a: null } } })
  await client.patch(Database, name, [{ op: 'replace', path: '/spec/size', value: 1 }])
  await client.patch(Database, name, [{ op: 'move', from: '/spec/a', path: '/spec/b' }], { type: 'json' })
  await client.patch('deployments', name, { spec: { replicas: 1 } }, { fieldManager: 'a' })
  const containers = [
    { name: 'web', image: 'nginx:2' },
    { name: 'old', $patch: 'delete' },
  ] as const
  await client.patch('deployments', name, { spec: { template: { spec: { containers } } } }, { type: 'strategic' })
  await client.patch('widgets', name, { spec: { anything: { goes: 1 } }, more: true })
  await client.patch(Deployment, name, { spec: { anything: 1 } }, { subresource: 'scale' })
  // @ts-expect-error: there is no such field
  await client.patch(Database, name, { spec: { sise: 1 } })
  // @ts-expect-error: the size is a number
  await client.patch(Database, name, { spec: { size: '1' } })
  // @ts-expect-error: a merge patch replaces the list, and the other fields of the item are missing
  await client.patch(Deployment, name, { spec: { template: { spec: { containers: [{ image: 'nginx:2' }] } } } })
  // @ts-expect-error: the value is missing
  await client.patch(Database, name, [{ op: 'replace', path: '/spec/size' }])
  // @ts-expect-error: there is no such operation
  await client.patch(Database, name, [{ op: 'change', path: '/spec/size', value: 1 }])
  // @ts-expect-error: a JSON patch is a list
  await client.patch(Database, name, { spec: { size: 1 } }, { type: 'json' })

  await client.apply(Database, { metadata: { name }, spec: { size: 1 } })
  await client.apply(deployment, { force: true })
  await client.apply(buildObject(ConfigMap, { metadata: { name } }))
  // @ts-expect-error: there is no such field
  await client.apply(Database, { metadata: { name }, spec: { sise: 1 } })
})

// The children of a reconciler have the types of `owns`.
const labels = { app: 'web' }
kopf.reconcile(Database, { owns: [Deployment, 'services', ConfigMap, Database] }, async ({ name, spec, children }) => {
  const ready: number | undefined = children.get(Deployment, name)?.status?.readyReplicas
  const port: number | undefined = children.of('services')[0]?.spec?.ports?.[0]?.port
  if (spec.size === 0) return
  if (spec.size === 1) return { requeueAfter: '1m' }
  return {
    children: [
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name },
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: 'web', args: spec.args }] } },
        },
      },
      { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ port: 80, targetPort: 'http' }] } },
      buildObject(ConfigMap, { metadata: { name }, data: { ready: `${ready} ${port}` } }),
      buildObject(Database, { metadata: { name }, spec }),
    ],
  }
})
kopf.reconcile(Database, { id: 'groups', owns: [ConfigMap] }, ({ name, children }) => ({
  children: [[buildObject(ConfigMap, { metadata: { name } })], { children: children.of(ConfigMap), ready: () => true }],
}))
// @ts-expect-error: the selector is missing
kopf.reconcile(Database, { id: 'a', owns: [Deployment] }, () => {
  return { children: [{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: {}, spec: { template } }] }
})
kopf.reconcile(Database, { id: 'b', owns: [ConfigMap] }, () => ({
  // @ts-expect-error: the apiVersion is missing
  children: [{ kind: 'ConfigMap', metadata: {} }],
}))
kopf.reconcile(Database, { id: 'c', owns: [ConfigMap, Deployment] }, () => ({
  // @ts-expect-error: Secrets are not owned
  children: [{ apiVersion: 'v1', kind: 'Secret', metadata: {} }],
}))
kopf.reconcile(Database, { id: 'd', owns: [ConfigMap] }, ({ name }) => ({
  // @ts-expect-error: Services are not owned
  children: [buildObject(Service, { metadata: { name } })],
}))
kopf.reconcile(Database, { id: 'e', owns: [ConfigMap] }, () => ({
  // @ts-expect-error: the values of ConfigMaps are strings
  children: [[{ apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { a: 1 } }]],
}))
kopf.reconcile(Database, { id: 'f' }, () => ({
  // @ts-expect-error: nothing is owned
  children: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }],
}))

// With untyped resources in `owns`, any fields are accepted, but not a missing apiVersion.
const names: string[] = ['widgets.example.com']
kopf.reconcile(Database, { id: 'g', owns: [ConfigMap, 'widgets.example.com'] }, ({ name }) => ({
  children: [{ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, spec: { anything: 1 } }],
}))
kopf.reconcile(Database, { id: 'h', owns: names }, ({ name }) => ({
  children: [{ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, spec: { anything: 1 } }],
}))
kopf.reconcile(Database, { id: 'i', owns: names }, ({ name }) => ({
  // @ts-expect-error: the apiVersion is missing
  children: [{ kind: 'Widget', metadata: { name }, spec: { anything: 1 } }],
}))

// The helper is checked too, including misspelt fields.
holds<Same<ReturnType<typeof buildObject<typeof Deployment>>, Deployment>>()
// @ts-expect-error: the selector is missing
buildObject(Deployment, { metadata: { name: 'web' }, spec: { template } })
// @ts-expect-error: there is no such field
buildObject(ConfigMap, { metadata: { name: 'web' }, dato: {} })
// @ts-expect-error: the size is a number
buildObject(Database, { metadata: { name: 'web' }, spec: { size: '1', args: [] } })
// @ts-expect-error: the kind is unknown
buildObject(resource<Pod>('v1', 'pods'), { metadata: { name: 'web' } })
// @ts-expect-error: the kind is unknown
buildObject('pods', { metadata: { name: 'web' } })
