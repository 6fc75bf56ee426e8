/** Compiled, never run: arguments, options and results of admission handlers and conversions, and their type errors. */
import { AdmissionError, type Args, defineResource, inWorker, Operator, PRESENT, type WorkerArgs } from 'kopf'
import { z } from 'zod'

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
function holds<_ extends true>(): void {}

const DatabaseV1 = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({ size: z.number(), users: z.array(z.string()) }),
  status: z.object({ phase: z.string() }),
})
const DatabaseV2 = defineResource({
  group: 'example.com',
  version: 'v2',
  kind: 'Database',
  spec: z.object({ storage: z.object({ gigabytes: z.number() }), users: z.array(z.string()) }),
  status: z.object({ phase: z.string() }),
})
const kopf = new Operator({ memo: () => ({ reviews: 0 }) })

// All arguments are inferred without annotations.
kopf.on.validate(DatabaseV1, ({ spec, status, old, new: now, diff, name, uid, namespace, memo, warnings, ...rest }) => {
  holds<Same<typeof spec.users, readonly string[]>>()
  holds<Same<typeof name, string | undefined>>()
  holds<Same<typeof uid, string | undefined>>()
  holds<Same<typeof namespace, string>>()
  holds<Same<typeof memo, { reviews: number }>>()
  holds<Same<typeof rest.operation, 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'>>()
  holds<Same<typeof rest.subresource, string | undefined>>()
  holds<Same<typeof rest.dryrun, boolean>>()
  holds<Same<typeof rest.headers, Readonly<Record<string, string>>>>()
  if ((old?.spec.size ?? 0) > (now?.spec.size ?? 0)) throw new AdmissionError('It cannot shrink', { status: 422 })
  warnings.push(`${status.phase}: ${diff.length} ${rest.userinfo.username} ${rest.userinfo.groups?.length}`)
  const subject: string | readonly string[] | undefined = rest.sslpeer?.subject['CN']
  return [subject, rest.retry, rest.signal.aborted, rest.resource.plural, rest.client, rest.indices, rest.recorder]
})
kopf.on.mutate(DatabaseV1, { id: 'defaults' }, ({ spec, patch }) => {
  patch.spec.size = spec.size + 1
  patch.spec.users = null
  patch.metadata.labels['reviewed'] = 'yes'
  patch.fns.push((body) => void body.spec.users.push('root'))
})
kopf.on.validate('widgets', { id: 'open' }, ({ spec, body }) => [spec['anything'], body['anything']])

// All options.
kopf.on.mutate(
  DatabaseV1,
  {
    id: 'options',
    operations: ['CREATE', 'UPDATE'],
    subresource: 'status',
    persistent: true,
    sideEffects: true,
    ignoreFailures: true,
    labels: { app: PRESENT, tier: (tier) => tier?.startsWith('x') ?? false },
    annotations: { note: 'x' },
    field: 'spec.size',
    value: (_size, { operation }) => operation === 'CREATE',
    when: ({ spec, memo, dryrun, old }) => spec.size > memo.reviews && !dryrun && old === undefined,
    param: 1,
  },
  () => {},
)

// A handler that is declared apart from its registration.
function check({ spec, operation }: Args<'validate', typeof DatabaseV1>): string {
  return `${operation} ${spec.size}`
}
kopf.on.validate(DatabaseV1, check)
function checkInThread({ spec, warnings }: WorkerArgs<'mutate', typeof DatabaseV1>): void {
  warnings.push(`${spec.size}`)
}
kopf.on.mutate(DatabaseV1, { id: 'thread' }, inWorker<typeof checkInThread>('file:///x.js'))

// Each mistake is an error in its own line.

// @ts-expect-error: operations are in capitals
kopf.on.validate(DatabaseV1, { operations: ['create'] }, () => {})

// @ts-expect-error: a list of them
kopf.on.validate(DatabaseV1, { operations: 'CREATE' }, () => {})

// @ts-expect-error: no such option
kopf.on.validate(DatabaseV1, { sideEffect: true }, () => {})

// @ts-expect-error: admission handlers are not retried
kopf.on.validate(DatabaseV1, { retries: 3 }, () => {})

// @ts-expect-error: likewise
kopf.on.mutate(DatabaseV1, { errors: 'temporary' }, () => {})

// @ts-expect-error: admission handlers have no option old
kopf.on.mutate(DatabaseV1, { field: 'spec.size', old: 1 }, () => {})

// @ts-expect-error: a flag
kopf.on.mutate(DatabaseV1, { persistent: 'yes' }, () => {})

kopf.on.validate(DatabaseV1, { id: 'readonly' }, ({ spec, old, userinfo, headers, warnings }) => {
  // @ts-expect-error: the spec is read-only; changes belong into the patch
  spec.size = 1
  // @ts-expect-error: all the way down
  spec.users.push('x')
  // @ts-expect-error: the old object is read-only
  old!.spec.size = 1
  // @ts-expect-error: the user is read-only
  userinfo.username = 'root'
  // @ts-expect-error: the headers are read-only
  headers['x'] = 'y'
  // @ts-expect-error: warnings are text
  warnings.push(5)
})

kopf.on.mutate(DatabaseV1, { id: 'misspelt' }, ({ spec, patch }) => {
  // @ts-expect-error: no such field
  spec.sise
  // @ts-expect-error: not a number
  patch.spec.size = 'large'
})

// @ts-expect-error: there are no sub-handlers
kopf.on.validate(DatabaseV1, { id: 'subhandlers' }, ({ subhandler }) => subhandler)

// @ts-expect-error: the status is a number
new AdmissionError('no', { status: '422' })

// Conversions: from one definition to another.
kopf.on.convert(DatabaseV1, { from: DatabaseV1, to: DatabaseV2 }, ({ spec, body, name, from, to, memo }) => {
  holds<Same<typeof spec.size, number>>()
  holds<Same<typeof name, string>>()
  holds<Same<typeof memo, { reviews: number }>>()
  return {
    spec: { storage: { gigabytes: spec.size }, users: spec.users },
    metadata: { labels: { ...body.metadata?.labels, from, to }, annotations: null },
  }
})
kopf.on.convert(DatabaseV1, { from: DatabaseV2, to: DatabaseV1 }, async ({ spec, status }) => ({
  spec: { size: spec.storage.gigabytes, users: spec.users },
  status: status.phase === undefined ? null : { phase: status.phase },
}))
kopf.on.convert('databases.example.com', { from: 'v1', to: 'v2', id: 'open' }, ({ spec }) => ({
  spec: { ...spec, x: 1 },
}))
kopf.on.convert(DatabaseV1, { from: DatabaseV1, to: 'v3' }, ({ body, spec }) => ({ ...body, spec: { any: spec.size } }))

// @ts-expect-error: the option from is missing
kopf.on.convert(DatabaseV1, { to: 'v2' }, () => ({}))

// @ts-expect-error: conversions have no filters
kopf.on.convert(DatabaseV1, { from: 'v1', to: 'v2', labels: {} }, () => ({}))

// @ts-expect-error: a conversion must return the changed parts
kopf.on.convert(DatabaseV1, { from: DatabaseV1, to: DatabaseV2 }, () => {})

// @ts-expect-error: the form of the other version
kopf.on.convert(DatabaseV1, { from: DatabaseV1, to: DatabaseV2 }, ({ spec }) => ({ spec: { size: spec.size } }))

// @ts-expect-error: no patch
kopf.on.convert(DatabaseV1, { from: DatabaseV1, to: DatabaseV2 }, ({ patch }) => patch)
