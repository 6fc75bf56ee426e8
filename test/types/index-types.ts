/** Compiled, never run: the type of an index follows from the return type of its function. */
import { type Body, defineResource, type Index, type ObjectOf, Operator, PRESENT, resource, type Store } from 'kopf'
import type { Pod as PodObject } from 'kubernetes-types/core/v1.js'
import { z } from 'zod'

const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({ engine: z.enum(['postgres', 'mysql']), size: z.number() }),
})
type DatabaseObject = ObjectOf<typeof Database>
const Pod = resource<PodObject>('v1', 'pods')
const kopf = new Operator({ memo: () => ({ pings: 0 }) })

/** Compiles only where the index is exactly of the type. */
function check<Expected>() {
  return <Actual>(_index: Actual, ..._isSame: Same<Actual, Expected> extends true ? [] : [never]): void => {}
}
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

// The sample of the guide.
const podsOf = kopf.index(Pod, { labels: { database: PRESENT } }, ({ labels, name }) => [[labels['database'], name]])
check<Index<string | undefined, string>>()(podsOf)

kopf.timer(Database, { id: 'count', interval: 30 }, ({ name }) => {
  const names: Store<string> = podsOf.get(name)
  return { pods: names.length }
})

// Pairs, and keys of several parts.
const sizes = kopf.index(Database, ({ namespace, name, spec }) => [[[namespace, name], spec.size]])
check<Index<[string, string], number>>()(sizes)
check<Index<string, [string, string]>>()(
  kopf.index(Database, ({ namespace, name, spec }) => [[spec.engine as string, [namespace, name]]]),
)
check<Index<[string, string], string>>()(
  kopf.index(Pod, ({ labels, name }) => Object.entries(labels).map((label) => [label, name])),
)
check<Index<string, string>>()(
  kopf.index(Pod, ({ labels, name }) => (labels['app'] === undefined ? [] : [[labels['app'], name]])),
)
check<Index<string, string>>()(
  kopf.index(Pod, ({ labels, name }) => (labels['app'] === undefined ? undefined : [[labels['app'], name]])),
)
check<Index<string, string>>()(
  kopf.index(Pod, function* ({ labels, name }) {
    for (const label of Object.keys(labels)) yield [label, name] as const
  }),
)

// Maps.
check<Index<string, number>>()(kopf.index(Database, ({ name, spec }) => new Map([[name, spec.size]])))
check<Index<string, 'postgres' | 'mysql'>>()(
  kopf.index(Database, { id: 'engines' }, async ({ name, spec }) => new Map([[name, spec.engine]])),
)

// Plain objects, as Kopf's dicts.
check<Index<string, number>>()(kopf.index(Database, ({ name, spec }) => ({ [name]: spec.size })))
check<Index<string, string>>()(kopf.index(Pod, ({ labels }) => labels))
check<Index<'size' | 'engine', string | number>>()(
  kopf.index(Database, ({ spec }) => ({ size: spec.size, engine: String(spec.engine) })),
)
check<Index<string, Body<DatabaseObject>>>()(kopf.index(Database, ({ name, body }) => ({ [name]: body })))
check<Index<string, number>>()(kopf.index(Database, ({ name, spec }) => (spec.size > 1 ? { [name]: spec.size } : {})))
check<Index<string | null, number>>()(kopf.index(Database, ({ name, spec }) => (spec.size > 1 ? { [name]: 1 } : 2)))
check<Index<'metadata', string>>()(kopf.index(Database, ({ name }) => ({ metadata: name })))

// Anything else is a value without a key.
check<Index<null, string>>()(kopf.index(Pod, ({ name }) => name))
check<Index<null, boolean>>()(kopf.index(Pod, async ({ name }) => name === 'a'))
check<Index<null, string | number>>()(kopf.index(Database, ({ name, spec }) => (spec.size > 1 ? name : spec.size)))
check<Index<null, Set<string>>>()(kopf.index(Pod, ({ name }) => new Set([name])))
check<Index<null, readonly [string, string]>>()(kopf.index(Pod, ({ namespace, name }) => [namespace, name] as const))
check<Index<null, readonly string[]>>()(
  kopf.index(Pod, function* ({ labels }) {
    yield* Object.keys(labels)
  }),
)
check<Index<null, Date>>()(kopf.index(Pod, () => new Date()))

// The object itself is a value without a key too, typed or open, with a required or an optional kind.
check<Index<null, Body<DatabaseObject>>>()(kopf.index(Database, ({ body }) => body))
check<Index<null, Body<PodObject>>>()(kopf.index(Pod, ({ body }) => body))
check<Index<null, Body>>()(kopf.index('pods', ({ body }) => body))

// The arguments: attempts, the memo and the other indices, but no patch.
kopf.index(Database, { errors: 'temporary', backoff: '10s', retries: 3, timeout: '1h' }, (args) => {
  const { retry, started, runtime, signal, memo, indices, param } = args
  memo.pings += 1
  const others: Index<unknown, unknown> | undefined = indices['podsOf']
  return [[retry + runtime, [started, signal.aborted, others?.size, param]]]
})
// @ts-expect-error: index functions have no patch.
kopf.index(Database, ({ patch }) => patch)
// @ts-expect-error: there is no such option.
kopf.index(Database, { interval: 5 }, ({ name }) => name)

// An index is read-only.
// @ts-expect-error: only its function fills an index.
podsOf.set('a', 'b')
// @ts-expect-error: as above.
podsOf.get('a').push('b')
// @ts-expect-error: as above.
podsOf.size = 0
// @ts-expect-error: keys are of the type that the function returns.
podsOf.get(5)
for (const [[namespace, name], values] of sizes) values.map((size) => `${namespace}/${name}: ${size + 1}`)
sizes.forEach((values, [, name]) => void [...values, name])
