/** Compiled, never run: typical operators, with inference without annotations, and type errors in one line. */
import {
  ABSENT,
  type Args,
  adopt,
  all,
  type Body,
  ConnectionInfo,
  defineResource,
  loginViaClient,
  loginWithKubeconfig,
  loginWithServiceAccount,
  type Memo,
  type Meta,
  not,
  Operator,
  PermanentError,
  PRESENT,
  type RawEvent,
  resource,
  type Spec,
  type Status,
  TemporaryError,
} from 'kopf'
import type { Pod as PodObject } from 'kopf/kubernetes'
import { z } from 'zod'

const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({
    engine: z.enum(['postgres', 'mysql']),
    size: z.number().int().min(1),
    users: z.array(z.string()).default([]),
  }),
  status: z.object({ phase: z.string(), url: z.string() }),
})
const Pod = resource<PodObject>('v1', 'pods')
const kopf = new Operator({ memo: () => ({ pings: 0 }) })

declare const cloud: {
  ensure(name: string, engine: 'postgres' | 'mysql', size: number): Promise<{ failed: boolean; url?: string }>
  resize(name: string, change: { from: number | undefined; to: number | undefined }): Promise<void>
}

// Untyped, as in Kopf: every field may be there.
kopf.on.create('kopfexamples', ({ spec, patch, logger }) => {
  logger.info(`And here we are! ${spec['field']}`)
  patch.status['greeted'] = true
  return { message: 'hello world' }
})

kopf.on.create(Database, { timeout: '1h' }, async ({ name, spec, patch, retry, memo, signal }) => {
  const database = await cloud.ensure(name, spec.engine, spec.size)
  if (database.failed) throw new PermanentError('The cloud refused')
  if (!database.url) throw new TemporaryError('The database is still booting', { delay: 10 + retry })
  patch.status.phase = 'Ready'
  patch.status.url = database.url
  patch.metadata.labels['a'] = 'b'
  patch.metadata.annotations = { note: null }
  patch.fns.push((body) => {
    body.spec.users.push('x')
  })
  memo.pings += 1
  signal.throwIfAborted()
})

kopf.on.update(Database, { retries: 5, backoff: '10s' }, ({ diff, old, new: now, logger }) => {
  for (const [op, field, before, after] of diff) logger.info(`${op} ${field.join('.')}`, { before, after })
  const sizes: [number | undefined, number | undefined] = [old?.spec.size, now?.spec.size]
  return { sizes }
})

kopf.on.field(Database, 'spec.size', async ({ name, old, new: size }) => {
  const typed: number | undefined = size
  await cloud.resize(name, { from: old, to: typed })
})

kopf.on.delete(Database, { optional: true }, ({ name, logger }) => logger.info(`Dropped ${name}`))

kopf.on.event(Pod, { labels: { database: PRESENT } }, ({ event, status, logger }) => {
  logger.debug(`${event.type ?? 'LISTED'}: ${status.phase}`)
})

kopf.on.startup(({ settings, logger, memo }) => {
  settings.execution.defaultBackoff = '15s'
  logger.info(`${memo.pings}`)
})

kopf.on.login({ retries: 3 }, () => loginWithServiceAccount() ?? loginWithKubeconfig({ context: 'dev' }))
kopf.on.login({ id: 'other' }, () => loginWithKubeconfig() ?? loginWithServiceAccount())
kopf.on.login({ id: 'client' }, loginViaClient)
kopf.on.login({ id: 'awaited' }, async () => (await loginWithKubeconfig()) ?? (await loginViaClient()))
void (() => kopf.start({ connection: () => loginWithKubeconfig({ path: 'config' }) }))
kopf.on.login({ id: 'vault' }, async ({ memo }) =>
  memo.pings > 0 ? new ConnectionInfo({ server: 'https://a' }) : null,
)
kopf.on.probe({ id: 'pings' }, ({ memo }) => memo.pings)

kopf.on.create(Database, { id: 'users' }, ({ spec, subhandler, execute }) => {
  for (const user of spec.users) subhandler(user, { retries: 3 }, async ({ name }) => name.length)
  return execute()
})

kopf.on.resume(
  Database,
  {
    labels: { tier: 'production', legacy: ABSENT, team: (team) => team?.startsWith('data-') ?? false },
    when: all(
      ({ spec }) => spec.size > 10,
      not(({ annotations }) => 'paused' in annotations),
    ),
  },
  ({ recorder }) => recorder.info('Resumed', 'Watching this database again'),
)

function describe(body: Body, meta: Meta, spec: Spec, status: Status, event: RawEvent, memo: Memo): string {
  return `${body.kind} ${meta.name} ${spec['size']} ${status['phase']} ${event.type} ${Object.keys(memo).length}`
}
kopf.on.event('widgets', { id: 'describe' }, ({ body, meta, spec, status, event, memo }) => {
  describe(body, meta, spec, status, event, { ...memo })
})

async function greet({ name, logger }: Args<'create', typeof Database>): Promise<void> {
  logger.info(`Hello, ${name}`)
}
kopf.on.create(Database, { id: 'greet' }, greet)
kopf.on.resume(Database, { id: 'greet' }, greet)

kopf.on.create(Database, { id: 'children' }, async ({ body, client, namespace }) => {
  const child = adopt({ apiVersion: 'v1', kind: 'ConfigMap', data: { a: 'b' } }, body)
  const data: { a: string } = child.data
  const { metadata } = await client.create(child)
  const pod = await client.get(Pod, 'web', namespace === undefined ? {} : { namespace })
  return { data, child: metadata.name, phase: pod.status?.phase }
})

// Each mistake is an error in its own line.

// @ts-expect-error: there is no such field
kopf.on.field(Database, 'spec.sise', () => {})

// @ts-expect-error: there is no such status
kopf.on.create(Database, { id: 'a' }, ({ patch }) => (patch.status.fase = 'x'))

// @ts-expect-error: the body is read-only
kopf.on.create(Database, { id: 'b' }, ({ spec }) => (spec.size = 5))

// @ts-expect-error: no such option
kopf.on.create(Database, { retriez: 5 }, () => {})

// @ts-expect-error: not a duration
kopf.on.create(Database, { id: 'c', backoff: '10 seconds' }, () => {})

// @ts-expect-error: the engine is one of two
kopf.on.create(Database, { id: 'd' }, ({ spec }) => spec.engine === 'oracle')

// @ts-expect-error: no such setting
new Operator({ settings: { queueing: { workerLimt: 5 } } })

// @ts-expect-error: on.event has no retries
kopf.on.event(Pod, { retries: 5 }, () => {})

// @ts-expect-error: not a ConnectionInfo
kopf.on.login(() => ({ server: 'https://10.0.0.1:6443' }))

// @ts-expect-error: the memo has no such field
kopf.on.create(Database, { id: 'e' }, ({ memo }) => memo.pongs)

class Counts {
  #count = 0
  next(): number {
    this.#count += 1
    return this.#count
  }
  clone(): Counts {
    return new Counts()
  }
}
new Operator({ memo: () => new Counts() }).on.create(Database, ({ memo }) => memo.next().toFixed())
new Operator({ memo: () => ({ clone: () => ({ size: 1 }), size: 1 }) })
// @ts-expect-error: the copy is another thing than the memo
new Operator({ memo: () => ({ clone: () => 'copy', size: 1 }) })
// @ts-expect-error: clone is not async
new Operator({ memo: () => ({ clone: async () => new Counts() }) })

kopf.on.create(Database, { id: 'outcomes' }, async ({ execute, subhandler }) => {
  subhandler('declared', () => {})
  const outcomes = await execute({ network: () => 1, disks: async () => 2 }, { throwOnFailure: true })
  const succeeded: boolean = outcomes.network.succeeded && outcomes.disks.succeeded
  const message: string | undefined = outcomes['declared']?.message
  // @ts-expect-error A sub-handler with filters may have no outcome.
  const unchecked: boolean = outcomes['declared'].succeeded
  // @ts-expect-error There is no such option.
  await execute({}, { throwOnFailures: true })
  return { succeeded, message, unchecked }
})
