/** Compiled, never run: parts of a body can be handed in everywhere, and `deepCopy` makes a copy that can be changed. */
import {
  adopt,
  appendOwnerReference,
  type Body,
  deepCopy,
  defineResource,
  label,
  type Mutable,
  Operator,
  resource,
} from 'kopf'
import { runHandler, startCluster } from 'kopf/testing'
import type { Deployment as DeploymentObject } from 'kubernetes-types/apps/v1.js'
import type { ConfigMap as ConfigMapObject, Pod as PodObject } from 'kubernetes-types/core/v1.js'
import { z } from 'zod'

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
function holds<_ extends true>(): void {}

const spec = z.object({
  size: z.number(),
  users: z.array(z.string()),
  ports: z.array(z.object({ name: z.string(), numbers: z.array(z.number()) })),
  pair: z.tuple([z.string(), z.array(z.number())]),
  id: z.string().brand('Id'),
  options: z.record(z.string(), z.any()),
})
const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec,
  status: z.object({ users: z.array(z.string()), ports: spec.shape.ports }),
})
const Copy = defineResource({ group: 'example.com', version: 'v1', kind: 'Copy', spec })
const Deployment = resource<DeploymentObject>('apps/v1', 'deployments')
const Pod = resource<PodObject>('v1', 'pods')
const kopf = new Operator()

// All verbs take parts of a body.
kopf.on.create(Database, async ({ body, spec, meta, status, client, name, namespace }) => {
  await client.create(Copy, { metadata: { name, namespace, labels: meta.labels ?? {} }, spec })
  await client.create(Copy, { metadata: meta, spec: { ...spec, size: 1 } })
  await client.replace(Database, body)
  await client.replace(Database, { ...body, status: { users: spec.users, ports: spec.ports } })
  await client.apply(Copy, { metadata: { name }, spec: { users: spec.users, pair: spec.pair, id: spec.id } })
  await client.patch(Copy, name, { spec: { users: spec.users } })
  await client.patch(Copy, name, [{ op: 'replace', path: '/spec', value: spec }] as const)
  await client.create('copies', { metadata: meta, spec, status })
  const stored = await client.create({ apiVersion: 'example.com/v1', kind: 'Copy', metadata: { name }, spec })
  // The answer of the server is a new object, which can be changed.
  stored.spec.users.push('alice')
  stored.spec.pair[1].push(1)
  stored.metadata.labels = {}
  const replaced = await client.replace({ ...body, spec: { ...spec, users: [] as readonly string[] } })
  replaced.spec.users.push('alice')
  // @ts-expect-error: the size is a number
  await client.create(Copy, { spec: { ...spec, size: 'large' } })
  // @ts-expect-error: no such field
  await client.replace(Database, { ...body, spce: spec })
})

kopf.on.update(Deployment, async ({ body, spec, client }) => {
  const pod = adopt({ apiVersion: 'v1', kind: 'Pod', spec: spec.template.spec! }, body)
  pod.spec.containers.push({ name: 'sidecar' })
  await client.create(pod)
  await client.create(Pod, { metadata: { generateName: 'a-' }, spec: spec.template.spec! })
  const labelled = label([spec.template, spec.template], { a: 'b' }, { nested: 'spec' })
  labelled[0]!.metadata.finalizers = []
  labelled[0]!.spec!.containers.pop()
  appendOwnerReference(body, body).metadata.ownerReferences!.pop()
})

// So do patches, reconcilers and results.
kopf.on.update(Database, { id: 'patch' }, ({ spec, old, status, patch }) => {
  patch.spec.users = spec.users
  patch.spec.users = old?.spec.users ?? []
  patch.spec.ports = spec.ports
  patch.spec.pair = spec.pair
  patch.spec.id = spec.id
  patch.spec = spec
  patch.status.users = [...spec.users, 'alice']
  patch.status = { users: spec.users, ports: status.ports ?? [] }
  patch.metadata.finalizers = ['a'] as const
  // @ts-expect-error: users are strings
  patch.spec.users = [1]
  return { users: spec.users }
})
kopf.on.field(Database, 'spec.ports', ({ new: ports, patch }) => {
  patch.status.ports = ports ?? []
})
kopf.reconcile(Database, { owns: [Deployment, Database, 'copies'] }, ({ spec, body, children }) => ({
  children: [...children, { apiVersion: 'example.com/v1', kind: 'Copy', metadata: body.metadata, spec }, body],
}))

// The testing kit takes them, too.
export async function inTests(): Promise<void> {
  const body = (await import('kopf')) as unknown as Body<{ metadata: { name: string }; spec: z.output<typeof spec> }>
  await using cluster = await startCluster({
    objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: body.metadata }],
  })
  await cluster.create(Copy, { metadata: body.metadata, spec: body.spec })
  await cluster.replace(Copy, { metadata: body.metadata, spec: body.spec })
  await cluster.patch(Copy, 'a', { spec: { users: body.spec.users } })
  await cluster.events(body)
  await runHandler(kopf, { id: 'patch', resource: Database, spec: body.spec, old: { spec: body.spec } })
}

// A deep copy has the type that the object had before it was read-only.
kopf.on.create(Database, { id: 'copy' }, ({ body, spec, patch }) => {
  const copy = deepCopy(body)
  copy.spec.users.push('alice')
  copy.spec.ports[0]!.numbers.push(1)
  copy.spec.pair[0] = 'a'
  copy.metadata.labels ??= {}
  copy.metadata.labels['a'] = 'b'
  holds<Same<typeof copy.spec.users, string[]>>()
  holds<Same<typeof copy.spec.pair, [string, number[]]>>()
  holds<Same<typeof copy.spec.id, string & z.core.$brand<'Id'>>>()
  const users: string[] = deepCopy(spec.users)
  const anything: { goes: string } = deepCopy(spec.options['anything'])
  patch.fns.push((fresh) => {
    fresh.spec.users = users
    fresh.spec.ports = deepCopy(spec.ports)
    fresh.spec.options = anything
  })
  // @ts-expect-error: users are strings
  copy.spec.users.push(1)
  // @ts-expect-error: structuredClone keeps the types, and the copy is as read-only as the body
  structuredClone(body).spec.users.push('alice')
})
kopf.daemon(Pod, ({ body }) => {
  const copy = deepCopy(body)
  const mutable: PodObject = copy
  copy.spec!.containers[0]!.env = []
  return mutable
})
kopf.on.event('widgets', ({ body }) => deepCopy(body).spec['anything'].goes)
holds<Same<Mutable<readonly [1, readonly { readonly a: 1 }[]]>, [1, { a: 1 }[]]>>()

// Objects of kubernetes-types with apiVersion and kind need no resource argument.
export async function otherTypes(
  config: ConfigMapObject,
  pod: PodObject,
  deployment: Body<DeploymentObject>,
): Promise<void> {
  await using cluster = await startCluster({ objects: [config, pod, deployment] })
  const { client } = cluster
  const created = await client.create(config)
  holds<Same<typeof created.data, ConfigMapObject['data']>>()
  created.metadata.name?.trim()
  created.metadata.labels = {}
  const dry = await client.create(pod, { dryRun: true })
  dry.spec?.containers.push({ name: 'sidecar' })
  await client.apply(pod, { force: true })
  await client.replace(deployment)
  await client.create(Pod, pod)
  await client.replace(Pod, pod, { dryRun: true })
  await client.apply(Pod, pod)
  await client.create(adopt(pod, deployment))
  await client.create(adopt([pod], deployment)[0]!)
  await cluster.create(Pod, { metadata: pod.metadata ?? {} })
  await cluster.events(pod)
  const owns = [resource<ConfigMapObject>('v1', 'configmaps'), Pod, Deployment] as const
  kopf.reconcile(Database, { id: 'kubernetes-types', owns }, ({ body }) => ({
    children: [config, adopt(pod, body), [deployment]],
  }))
  // @ts-expect-error: apiVersion and kind are missing
  await client.create({ metadata: { name: 'a' } })
  // @ts-expect-error: the apiVersion is missing
  await client.create({ kind: 'ConfigMap', metadata: { name: 'a' } })
  // @ts-expect-error: the metadata are missing
  await client.apply({ apiVersion: 'v1', kind: 'ConfigMap' })
}
// Resources by keywords are no objects.
kopf.on.create(Database, { id: 'keywords' }, async ({ client, resource }) => {
  const made = await client.create({ group: 'example.com', kind: 'Widget' }, { metadata: { name: 'a' }, spec: {} })
  made.spec['anything'].goes
  await client.create(resource, { metadata: { name: 'a' } })
  const database = await client.create(Database, { metadata: { name: 'a' } })
  database.spec.users.push('alice')
})

// Stored objects have metadata with a name, also where the type of another library makes them optional.
kopf.on.create(Database, { id: 'names' }, async ({ client }) => {
  const pod = await client.get(Pod, 'web')
  const pods = await client.list(Pod)
  const created = await client.create(Pod, { metadata: { generateName: 'web-' } })
  const made = await client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'a-' } })
  const patched = await client.patch(Pod, 'web', {})
  const applied = await client.apply(Pod, { metadata: { name: 'web' } })
  const replaced = await client.replace(Pod, pod)
  const open = await client.get('configmaps', 'settings')
  const deleted = await client.delete(Pod, 'web')
  const all = [pod, ...pods, created, made, patched, applied, replaced, open]
  const names: string[] = all.map(({ metadata }) => metadata.name)
  const last: string | undefined = deleted?.metadata.name
  pod.metadata.labels = { app: 'web' }
  const version: string | undefined = pod.metadata.resourceVersion
  // @ts-expect-error: not every API has versions, such as that of metrics
  const sure: string = pod.metadata.resourceVersion
  return { names, last, version, sure }
})
