/** Compiled, never run: field paths in open and closed types, and the options that compare the value of a field. */
import { ABSENT, all, defineResource, EVERYTHING, Operator, PRESENT, type ResourceDefinition, resource } from 'kopf'
import type { Deployment as DeploymentObject } from 'kopf/kubernetes'
import { z } from 'zod'

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
function holds<_ extends true>(): void {}
/** Neither `any` alone nor `unknown` alone is the same as the other. */
type IsAny<T> = 0 extends 1 & T ? true : false

const kopf = new Operator()

// Resources without schemas are open at every depth.
const Open = defineResource({ group: 'example.com', version: 'v1', kind: 'Open' })
kopf.on.field(Open, 'spec', ({ old }) => old?.anything.goes)
kopf.on.field(Open, 'spec.size', ({ old }) => holds<IsAny<typeof old>>())
kopf.on.field(Open, 'spec.template.spec.size', ({ new: now }) => now.anything.goes)
kopf.on.field(Open, 'status.phase.since', { id: 'phase' }, ({ old }) => holds<IsAny<typeof old>>())
kopf.on.field(Open, ['spec', 'with.dots', 'size'], ({ old }) => holds<IsAny<typeof old>>())
// @ts-expect-error: the object itself has no such field
kopf.on.field(Open, 'spce.size', () => {})

// Resources by name, and open types.
kopf.on.field('kopfexamples', 'spec.a.b.c', ({ old }) => holds<IsAny<typeof old>>())
kopf.on.field(EVERYTHING, 'data.a', ({ old }) => holds<IsAny<typeof old>>())
kopf.on.field(resource<Record<string, unknown>>('things'), 'data.a.b', ({ old }) => holds<Same<typeof old, unknown>>())
kopf.on.field(resource<{ spec: unknown }>('things'), 'spec.a.b', ({ old }) => holds<Same<typeof old, unknown>>())
kopf.on.field(resource<{ spec: object }>('things'), 'spec.a.b', () => {})

// Open parts of closed types.
const Closed = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Closed',
  spec: z.object({
    size: z.number(),
    engine: z.enum(['postgres', 'mysql']),
    users: z.array(z.string()),
    note: z.string().nullable(),
    limits: z.object({ cpu: z.string(), memory: z.string().optional() }).optional(),
    parameters: z.record(z.string(), z.any()),
    settings: z.record(z.string(), z.object({ level: z.number() })),
    values: z.unknown(),
    extra: z.looseObject({ known: z.string() }),
    storage: z.union([
      z.object({ type: z.literal('disk'), path: z.string() }),
      z.object({ type: z.literal('bucket'), bucket: z.object({ name: z.string() }) }),
    ]),
  }),
  status: z.object({ phase: z.string() }),
})
kopf.on.field(Closed, 'spec.parameters.a.b', ({ old }) => holds<IsAny<typeof old>>())
kopf.on.field(Closed, 'spec.values.a.b', ({ old }) => holds<Same<typeof old, unknown>>())
kopf.on.field(Closed, 'spec.extra.anything.goes', ({ old }) => holds<Same<typeof old, unknown>>())
kopf.on.field(Closed, 'spec.extra.known', ({ old }) => holds<Same<typeof old, string | undefined>>())
kopf.on.field(Closed, 'spec.settings.web.level', ({ old }) => holds<Same<typeof old, number | undefined>>())
kopf.on.field(Closed, 'spec.size', ({ old }) => holds<Same<typeof old, number | undefined>>())
kopf.on.field(Closed, 'spec.limits.memory', ({ new: now }) => holds<Same<typeof now, string | undefined>>())
kopf.on.field(Closed, 'spec.users', ({ old }) => holds<Same<typeof old, readonly string[] | undefined>>())
kopf.on.field(Closed, 'spec.note', ({ old }) => holds<Same<typeof old, string | null | undefined>>())
kopf.on.field(Closed, 'spec.storage.bucket.name', ({ old }) => holds<Same<typeof old, string | undefined>>())
kopf.on.field(Closed, 'spec.storage.type', ({ old }) => holds<Same<typeof old, 'disk' | 'bucket' | undefined>>())
kopf.on.field(Closed, ['spec', 'limits', 'cpu'], ({ old }) => holds<Same<typeof old, string | undefined>>())
kopf.on.field(Closed, 'metadata.labels', ({ old }) => old?.['app']?.trim())
kopf.on.field(Closed, 'metadata.labels.app', ({ old }) => holds<Same<typeof old, string | undefined>>())
kopf.on.field(Closed, ['metadata', 'labels', 'example.com/size'], ({ old }) => {
  holds<Same<typeof old, string | undefined>>()
})
// Metadata is there also where a type does not mention it.
kopf.on.field(resource<{ data?: Record<string, string> }>('things'), 'metadata.labels.app', ({ old }) => old?.trim())
// A path that is worked out at run time is not checked.
declare const path: string
declare const keys: readonly string[]
kopf.on.field(Closed, path, ({ old }) => holds<Same<typeof old, unknown>>())
kopf.on.field(Closed, keys, ({ old }) => holds<Same<typeof old, unknown>>())
kopf.on.field(Closed, `spec.${path}`, ({ old }) => holds<Same<typeof old, unknown>>())

// @ts-expect-error: spec has no field sise
kopf.on.field(Closed, 'spec.sise', () => {})
// @ts-expect-error: spec.limits has no field cpus
kopf.on.field(Closed, 'spec.limits.cpus', () => {})
// @ts-expect-error: spec.settings.web has no field levle
kopf.on.field(Closed, 'spec.settings.web.levle', () => {})
// @ts-expect-error: the same in an array of keys
kopf.on.field(Closed, ['spec', 'sise'], () => {})
// @ts-expect-error: no member of the union has it
kopf.on.field(Closed, 'spec.storage.buckte', () => {})
// @ts-expect-error: a list is compared as a whole
kopf.on.field(Closed, 'spec.users.0', () => {})
// @ts-expect-error: the length of a list is no field
kopf.on.field(Closed, 'spec.users.length', () => {})
// @ts-expect-error: the length of a string is no field
kopf.on.field(Closed, 'spec.engine.length', () => {})
// @ts-expect-error: a key with dots is written in an array
kopf.on.field(Closed, 'metadata.labels.example.com/size', () => {})
// @ts-expect-error: old is frozen
kopf.on.field(Closed, 'spec.users', ({ old }) => old?.push('alice'))

const Deployment = resource<DeploymentObject>('apps/v1', 'deployments')
kopf.on.field(Deployment, 'spec.replicas', ({ old }) => holds<Same<typeof old, number | undefined>>())
kopf.on.field(Deployment, 'spec.template.spec.nodeSelector.zone', ({ old }) => old?.trim())
// @ts-expect-error: spec has no field replica
kopf.on.field(Deployment, 'spec.replica', () => {})

// The options value, old and new are of the type of the field.
kopf.on.field(Closed, 'spec.size', { id: 'a', old: 1, new: (size) => (size ?? 0) > 1 }, () => {})
kopf.on.field(Closed, 'spec.size', { id: 'b', value: 2n }, () => {})
kopf.on.field(Closed, 'spec.engine', { id: 'c', new: 'mysql', old: ABSENT }, () => {})
kopf.on.field(Closed, 'spec.users', { id: 'd', new: ['alice'], old: PRESENT }, () => {})
kopf.on.field(Closed, 'spec.users', { id: 'e', new: (users, { spec }) => users?.includes(spec.engine) }, () => {})
kopf.on.field(Open, 'spec.size', { id: 'f', new: { anything: 'goes' } }, () => {})
kopf.on.field(Open, 'spec.size', { id: 'g', new: (size, { namespace }) => size.of === namespace }, () => {})
kopf.on.field(Closed, 'spec.size', { id: 'h', new: all((size: number | undefined) => size !== 1) }, () => {})
// @ts-expect-error: a number
kopf.on.field(Closed, 'spec.size', { new: 'large' }, () => {})
// @ts-expect-error: the engine is one of two
kopf.on.field(Closed, 'spec.engine', { new: 'oracle' }, () => {})
// @ts-expect-error: a number
kopf.on.field(Closed, 'spec.size', { value: (size) => size?.trim() }, () => {})

// The same options have the type of the field with the option field of all other handlers.
kopf.on.create(Closed, { field: 'spec.size', value: 1 }, () => {})
kopf.on.update(Closed, { field: 'spec.size', old: 1, new: (size, { spec }) => size === spec.size }, () => {})
kopf.on.update(Closed, { field: ['spec', 'engine'], new: 'mysql' }, () => {})
kopf.on.update(Open, { field: 'spec.a.b', new: { anything: 'goes' } }, ({ namespace }) => namespace.trim())
kopf.on.update('kopfexamples', { field: 'spec.a.b', new: (value) => value.anything.goes }, () => {})
kopf.on.resume(Closed, { field: path, value: (value) => holds<Same<typeof value, unknown>>() }, () => {})
kopf.on.delete(Closed, { field: 'spec.parameters.a', value: (value) => value.anything.goes }, () => {})
kopf.on.event(Closed, { field: 'status.phase', value: 'Ready' }, () => {})
kopf.on.validate(Closed, { field: 'spec.size', value: (size) => (size ?? 0) > 10 }, () => {})
kopf.on.mutate(Deployment, { field: 'spec.replicas', value: ABSENT }, ({ patch, namespace }) => {
  patch.spec.replicas = namespace.length
})
kopf.daemon(Closed, { field: 'status.phase', value: 'Ready' }, () => {})
kopf.timer(Closed, { interval: 10, field: 'spec.engine', value: 'mysql' }, () => {})
kopf.reconcile(Closed, { field: 'spec.engine', value: 'mysql', owns: [Deployment] }, ({ children, namespace }) => {
  children.of(Deployment)
  namespace.trim()
})
const sizes = kopf.index(Closed, { field: 'spec.size', value: (size) => size !== 1 }, ({ name }) => [[name, 1]])
sizes.get('a').at(0)?.toFixed()
kopf.on.create(Closed, { id: 'parent' }, ({ subhandler }) => {
  subhandler('child', { field: 'spec.size', value: 1 }, ({ namespace }) => namespace.trim())
  // @ts-expect-error: spec has no field sise
  subhandler('child', { field: 'spec.sise' }, () => {})
  // @ts-expect-error: a number
  subhandler('child', { field: 'spec.size', value: 'large' }, () => {})
})

// @ts-expect-error: spec has no field sise
kopf.on.create(Closed, { field: 'spec.sise' }, () => {})
// @ts-expect-error: a number
kopf.on.update(Closed, { field: 'spec.size', new: 'large' }, () => {})
// @ts-expect-error: spec has no field sise
kopf.daemon(Closed, { field: 'spec.sise' }, () => {})
// @ts-expect-error: spec has no field sise
kopf.timer(Closed, { interval: 10, field: ['spec', 'sise'] }, () => {})
// @ts-expect-error: spec has no field sise
kopf.reconcile(Closed, { field: 'spec.sise' }, () => {})
// @ts-expect-error: spec has no field sise
kopf.on.validate(Closed, { field: 'spec.sise' }, () => {})
// @ts-expect-error: spec has no field sise
kopf.index(Closed, { field: 'spec.sise' }, ({ name }) => name)

// In a generic function the type is not known yet: a path of the type `string` is not checked.
export function registerAll<T extends { spec: { size: number } }>(things: ResourceDefinition<T>): void {
  kopf.on.update(things, { retries: 3, when: ({ spec }) => spec !== undefined }, ({ namespace }) => namespace?.trim())
  kopf.on.update(things, { field: 'spec.size' as string }, () => {})
  kopf.on.field(things, 'spec.size' as string, ({ old }) => old)
}
