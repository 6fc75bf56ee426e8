/** Compiled, never run: the types of objects and their parts, for functions that handlers share. */
import { type Args, type Body, defineResource, Operator, resource, type Spec, type Status } from 'kopf'
import type { Pod } from 'kopf/kubernetes'
import { z } from 'zod'

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
function holds<_ extends true>(): void {}

const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({ size: z.number(), users: z.array(z.string()) }),
  status: z.object({ phase: z.string() }),
})
const Open = defineResource({ group: 'example.com', version: 'v1', kind: 'Open' })
interface Source {
  apiVersion: string
  kind: string
  metadata: { name?: string }
  spec: { name: string }
}
const Source = resource<Source>(['example.com', 'v1', 'sources'])

// Of a resource, as for `Args`.
holds<Same<Body<typeof Database>, Args<'create', typeof Database>['body']>>()
holds<Same<Spec<typeof Database>, Args<'create', typeof Database>['spec']>>()
holds<Same<Status<typeof Database>, Args<'create', typeof Database>['status']>>()
holds<Same<Body<typeof Source>, Args<'index', typeof Source>['body']>>()
holds<Same<Body<typeof Open>, Args<'create', typeof Open>['body']>>()

// Of a type of objects.
holds<Same<Body<Source>, Body<typeof Source>>>()
holds<Same<Spec<Source>['name'], string>>()
holds<Same<Body<Pod>['spec'], Body<typeof PodResource>['spec']>>()
const PodResource = resource<Pod>('v1', 'pods')

const kopf = new Operator()
function total(database: Body<typeof Database>, spec: Spec<typeof Database>, status: Status<typeof Database>): number {
  return database.spec.size + spec.users.length + (status.phase?.length ?? 0)
}
function nameOf<T extends { metadata: { name?: string } }>(object: Body<T>): Body<T> {
  return object
}
kopf.on.create(Database, ({ body, spec, status }) => {
  total(body, spec, status)
  nameOf(body)
})
kopf.on.create(Source, ({ body }) => {
  // @ts-expect-error: it is no database
  total(body, body.spec, {})
  // @ts-expect-error: bodies are read-only
  body.spec.name = 'other'
  const same: Body<Source> = body
  return same.spec.name
})
