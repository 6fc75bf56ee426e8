/** Compiled, never run: the types of resources and their objects, and their type errors. */
import type { Deployment, Pod } from 'kopf/kubernetes'
import { z } from 'zod'
import { toCrd } from '../../src/kube/crds/crd.ts'
import { adopt } from '../../src/kube/owners.ts'
import {
  defineResource,
  type ObjectOf,
  type OpenObject,
  type ResourceLike,
  resource,
} from '../../src/kube/resources/resources.ts'
import { EVERYTHING } from '../../src/kube/resources/selector-notations.ts'
import { toSelector } from '../../src/kube/resources/selectors.ts'

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
function holds<_ extends true>(): void {}

/** As handlers are registered: any notation, and the object's type from it. */
declare function on<R extends ResourceLike>(resource: R, handler: (object: ObjectOf<R>) => void): void

const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({
    engine: z.enum(['postgres', 'mysql']),
    size: z.number().int().min(1),
    users: z.array(z.string()).default([]),
    note: z.string().optional(),
  }),
  status: z.object({ phase: z.string(), url: z.string() }),
})
type DatabaseObject = ObjectOf<typeof Database>

holds<Same<DatabaseObject['spec']['engine'], 'postgres' | 'mysql'>>()
holds<Same<DatabaseObject['spec']['users'], string[]>>()
holds<Same<DatabaseObject['spec']['note'], string | undefined>>()
holds<Same<NonNullable<DatabaseObject['status']>, { phase: string; url: string }>>()

on(Database, (database) => {
  database.spec.size.toFixed()
  // @ts-expect-error: the status may not be there yet
  database.status.phase
  // @ts-expect-error: there is no such field
  database.spec.sise
  // @ts-expect-error: there is no such engine
  database.spec.engine === 'oracle'
})

const Open = defineResource({ group: 'example.com', version: 'v1', kind: 'Open' })
on(Open, ({ spec, status }) => {
  spec.anything.goes
  status?.anything.goes
})

const HalfOpen = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Half',
  spec: z.object({ a: z.string() }),
})
on(HalfOpen, ({ spec, status }) => {
  status?.anything.goes
  // @ts-expect-error: there is no such field
  spec.b
})

holds<Same<ObjectOf<'widgets'>, OpenObject>>()
holds<Same<ObjectOf<readonly ['kopf.dev', typeof EVERYTHING]>, OpenObject>>()
holds<Same<ObjectOf<{ readonly kind: 'Widget' }>, OpenObject>>()
holds<Same<ObjectOf<() => boolean>, OpenObject>>()
on('widgets', ({ spec, status, metadata }) => {
  spec.containers[0].image
  status.phase
  metadata.name?.length
})
on(['example.com/v1', 'widgets'], ({ spec }) => spec.anything)
on({ group: 'example.com', kind: 'Widget' }, ({ spec }) => spec.anything)
on(EVERYTHING, ({ spec }) => spec.anything)
on(
  ({ group, preferred }) => group === 'apps' && preferred,
  ({ spec }) => spec.anything,
)

const pods = resource<Pod>('v1', 'pods')
holds<Same<ObjectOf<typeof pods>, Pod>>()
on(pods, (pod) => {
  pod.spec.containers.length
  // @ts-expect-error: there is no such field
  pod.spec.container
})
const untyped = resource('pods')
holds<Same<ObjectOf<typeof untyped>, OpenObject>>()
resource<Deployment>('apps/v1', 'deployments')
resource<Deployment>('apps', 'v1', 'deployments')
resource<Deployment>({ group: 'apps', kind: 'Deployment' })

// @ts-expect-error: four parts are too many
resource('a', 'b', 'c', 'd')
// @ts-expect-error: EVERYTHING is last
resource(EVERYTHING, 'pods')
// @ts-expect-error: there is no such keyword
toSelector({ kinds: 'Pod' })
// @ts-expect-error: a number is no notation
toSelector(1)
// @ts-expect-error: the version is missing
defineResource({ group: 'example.com', kind: 'Database' })
// @ts-expect-error: there is no such scope
defineResource({ group: 'example.com', version: 'v1', kind: 'Database', scope: 'Namespace' })
// @ts-expect-error: not a Standard Schema
defineResource({ group: 'example.com', version: 'v1', kind: 'Database', spec: { type: 'object' } })

toCrd(Database)
// @ts-expect-error: only a resource of defineResource has a CRD
toCrd(pods)

declare const body: Readonly<DatabaseObject>
declare const pod: Pod
const child = adopt({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, spec: { replicas: 1 } }, body)
holds<Same<typeof child.spec.replicas, number>>()
const adopted = adopt(pod, body)
holds<[typeof adopted.spec, Pod['spec']] extends [Pod['spec'], typeof adopted.spec] ? true : false>()
adopt([child, child], pod)
// @ts-expect-error: text is no owner
adopt(child, 'owner')
