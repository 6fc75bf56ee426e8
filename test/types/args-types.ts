/** Compiled, never run: handlers that are declared apart from their registration, and the type of their namespace. */
import {
  type Args,
  defineResource,
  type FieldArgs,
  inWorker,
  Operator,
  type Reconciled,
  resource,
  type WorkerArgs,
} from 'kopf'
import type { Deployment as DeploymentObject } from 'kubernetes-types/apps/v1.js'
import type { Node as NodeObject, Pod as PodObject } from 'kubernetes-types/core/v1.js'
import { z } from 'zod'

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
function holds<_ extends true>(): void {}

type Notes = { pings: number }
const kopf = new Operator({ memo: (): Notes => ({ pings: 0 }) })
const schema = z.object({ size: z.number(), users: z.array(z.string()) })
const Database = defineResource({ group: 'example.com', version: 'v1', kind: 'Database', spec: schema })
const Zone = defineResource({ group: 'example.com', version: 'v1', kind: 'Zone', scope: 'Cluster', spec: schema })
type DB = typeof Database

// Every type of handler has its arguments.
function changed({ spec, old, namespace, memo }: Args<'create', DB, Notes>): number {
  return spec.size + (old?.spec.size ?? 0) + memo.pings + namespace.length
}
kopf.on.create(Database, changed)
kopf.on.update(Database, changed)
kopf.on.resume(Database, changed)
kopf.on.delete(Database, changed)
holds<Same<Args<'update', DB>, Args<'create', DB>>>()
holds<Same<Args<'delete', DB>, Args<'resume', DB>>>()

function resized({ old, new: size, diff, namespace }: Args<'field', DB, 'spec.size'>): void {
  holds<Same<typeof old, number | undefined>>()
  holds<Same<typeof namespace, string>>()
  void [size?.toFixed(), diff.length]
}
kopf.on.field(Database, 'spec.size', resized)
kopf.on.field(Database, 'spec.size', { id: 'again', old: 1 }, resized)
// @ts-expect-error: spec has no field sise
kopf.on.field(Database, 'spec.sise', ({ old }: Args<'field', DB>) => old)
// @ts-expect-error: it is for numbers
kopf.on.field(Database, 'spec.users', resized)
kopf.on.field(Database, ['spec', 'users'], ({ old }: Args<'field', DB, ['spec', 'users'], Notes>) => old?.at(0)?.trim())
kopf.on.field(Database, 'spec.size', ({ old, memo }: Args<'field', DB, 'spec.size', Notes>) => [old, memo.pings])
kopf.on.field(Database, 'spec.size', ({ old }: Args<'field', DB>) => holds<Same<typeof old, unknown>>())
kopf.on.field('kopfexamples', 'spec.a.b', ({ old }: Args<'field'>) => old)
holds<Same<FieldArgs<{ spec: { size: number } }, Notes, 'spec.size'>['old'], number | undefined>>()
// @ts-expect-error: the path comes before the memo
holds<Same<Args<'field', DB, Notes>, never>>()

kopf.on.event(Database, ({ event, namespace }: Args<'event', DB>) => [event.object.spec.size, namespace.trim()])
kopf.daemon(Database, ({ stopped, namespace }: Args<'daemon', DB>) => [stopped.wait(10), namespace.trim()])
kopf.timer(Database, { interval: 10 }, ({ stopped, namespace }: Args<'timer', DB>) => [
  stopped.isSet(),
  namespace.trim(),
])
kopf.index(Database, ({ spec, namespace }: Args<'index', DB>) => [[namespace.trim(), spec.size]])
kopf.on.validate(Database, ({ warnings, namespace }: Args<'validate', DB>) => void warnings.push(namespace))
kopf.on.mutate(Database, ({ patch, namespace }: Args<'mutate', DB>) =>
  Object.assign(patch.spec, { size: namespace.length }),
)
kopf.reconcile(Database, ({ children, namespace }: Args<'reconcile', DB>): Reconciled => {
  return { requeueAfter: children.size + namespace.length }
})
kopf.on.create(Database, ({ subhandler }) => {
  subhandler('child', ({ spec, namespace }: Args<'subhandler', DB>) => spec.size + namespace.length)
})
kopf.on.convert(Database, { from: Database, to: 'v2' }, ({ from, spec }: Args<'convert', DB>) => {
  return { spec: { [from]: spec.size } }
})
kopf.on.startup(({ settings, memo }: Args<'startup', string, Notes>) => {
  settings.posting.enabled = memo.pings > 0
})
kopf.on.cleanup(({ settings }: Args<'cleanup'>) => settings.posting.enabled)
kopf.on.login(({ retry }: Args<'login'>) => (retry > 1 ? null : undefined))
kopf.on.probe(({ memo }: Args<'probe'>) => memo['pings'])
kopf.on.create('kopfexamples', ({ spec, namespace }: Args<'create'>) => [spec['a'].b, namespace?.trim()])
// @ts-expect-error: there is no such handler
holds<Same<Args<'created', DB>, never>>()

function heavy({ old, namespace }: WorkerArgs<'field', DB, 'spec.size'>): number {
  return (old ?? 0) + namespace.length
}
kopf.on.field(Database, 'spec.size', inWorker<typeof heavy>('./heavy.ts', { name: 'heavy' }))
// @ts-expect-error: the client stays with the operator
holds<Same<WorkerArgs<'field', DB, 'spec.size'>['client'], never>>()

// The namespace is a string where the resource is namespaced, and undefined where it is cluster-scoped.
kopf.on.create(Database, { when: ({ namespace }) => namespace.startsWith('team-') }, ({ namespace }) => {
  holds<Same<typeof namespace, string>>()
})
kopf.on.create(Zone, ({ namespace, subhandler }) => {
  holds<Same<typeof namespace, undefined>>()
  subhandler('child', (args) => holds<Same<typeof args.namespace, undefined>>())
})
kopf.on.validate(Zone, ({ namespace }) => holds<Same<typeof namespace, undefined>>())
declare const scope: 'Namespaced' | 'Cluster'
const Either = defineResource({ group: 'example.com', version: 'v1', kind: 'Either', scope })
kopf.on.create(Either, ({ namespace }) => holds<Same<typeof namespace, string | undefined>>())
const Pod = resource<PodObject>('v1', 'pods')
kopf.daemon(Pod, ({ namespace }) => holds<Same<typeof namespace, string>>())
kopf.on.event(resource<NodeObject>('nodes'), ({ namespace }) => holds<Same<typeof namespace, undefined>>())
kopf.on.event(resource<DeploymentObject>('apps', 'v1', 'deployments'), ({ namespace }) => {
  holds<Same<typeof namespace, string>>()
})
kopf.on.event(resource<{ metadata: { namespace: string } }>('widgets'), ({ namespace }) => {
  holds<Same<typeof namespace, string>>()
})
kopf.on.event('pods', ({ namespace }) => holds<Same<typeof namespace, string>>())
kopf.on.event('nodes', ({ namespace }) => holds<Same<typeof namespace, undefined>>())
kopf.on.event(['v1', 'secrets'], ({ namespace }) => holds<Same<typeof namespace, string>>())
kopf.on.event('deployments.apps', ({ namespace }) => holds<Same<typeof namespace, string>>())
kopf.on.event(['apps/v1', 'deployments'], ({ namespace }) => holds<Same<typeof namespace, string>>())
kopf.on.event(['apps', 'v1', 'deployments'], ({ namespace }) => holds<Same<typeof namespace, string>>())
kopf.on.event(['rbac.authorization.k8s.io', 'clusterroles'], ({ namespace }) => {
  holds<Same<typeof namespace, undefined>>()
})
kopf.on.event(resource('pods'), ({ namespace }) => holds<Same<typeof namespace, string | undefined>>())
kopf.on.event('deployments', ({ namespace }) => holds<Same<typeof namespace, string | undefined>>())
kopf.on.event('kopfexamples', ({ namespace }) => holds<Same<typeof namespace, string | undefined>>())
kopf.on.event(
  ({ plural }) => plural === 'pods',
  ({ namespace }) => {
    holds<Same<typeof namespace, string | undefined>>()
  },
)

// The clock of the operator, items of a diff by name and by position, and conditions as objects.
kopf.on.update(Database, ({ now, diff, conditions }) => {
  holds<Same<ReturnType<typeof now>, Date>>()
  for (const { op, path, old, new: current } of diff) {
    holds<Same<typeof op, 'add' | 'change' | 'remove'>>()
    holds<Same<typeof path, readonly string[]>>()
    void [old, current]
  }
  for (const [op, path] of diff) void [op.trim(), path.at(0)]
  conditions.set({ type: 'Ready', status: true, reason: 'Running', message: 'All is well' })
  // @ts-expect-error: a condition needs a reason
  conditions.set({ type: 'Ready', status: true })
})
kopf.on.startup(({ now }) => now().toISOString())
// @ts-expect-error: the clock stays with the operator
holds<Same<WorkerArgs<'create', DB>['now'], never>>()
