/** Compiled, never run: the types of the testing kit for a resource, and their type errors. */
import { defineResource, Operator, resource } from 'kopf'
import type { Pod as PodObject } from 'kopf/kubernetes'
import { KopfRunner, runHandler, SkippingClock, startCluster } from 'kopf/testing'
import { z } from 'zod'

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
function holds<_ extends true>(): void {}

const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({ engine: z.enum(['postgres', 'mysql']), size: z.number(), users: z.array(z.string()).default([]) }),
  status: z.object({ phase: z.string(), url: z.string() }),
})
const Pod = resource<PodObject>('v1', 'pods')
const kopf = new Operator({ memo: () => ({ pings: 0 }) })
const spec = { engine: 'postgres', size: 1, users: [] } as const

export async function clusters(): Promise<void> {
  await using cluster = await startCluster({ resources: [Database], real: process.env['CLUSTER'] === 'real' })
  await using _operator = await kopf.start(cluster)
  await using _other = await kopf.start({ ...cluster, namespaces: ['default'] })
  await cluster.create(Database, { name: 'orders', spec: { engine: 'postgres', size: 1, users: [] } })
  const { status } = await cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Ready')
  holds<Same<typeof status, { phase: string; url: string } | undefined>>()
  const ready = await cluster.until(Database, 'orders', { spec: { size: 1 }, status: { phase: 'Ready' } })
  holds<Same<typeof ready.spec.engine, 'postgres' | 'mysql'>>()
  const many = await cluster.until(Database, { labelSelector: { tier: 'gold' }, namespace: null }, (all) => {
    return all.every(({ status }) => status?.phase === 'Ready')
  })
  holds<Same<(typeof many)[number], typeof ready>>()
  await cluster.until('pods', {}, (pods) => pods.length === 3, { timeout: '1m' })
  await cluster.until('configmaps', 'settings', { data: { color: 'blue' } }, { namespace: 'other' })
  // @ts-expect-error: a number
  await cluster.until(Database, 'orders', { spec: { size: 'large' } })
  // @ts-expect-error: no such field
  await cluster.until(Database, 'orders', { status: { colour: 'red' } })
  const [applied] = await cluster.apply('orders.yaml', new URL('file:///x.yaml'), { apiVersion: 'v1', kind: 'List' })
  applied?.metadata.name.trim()
  await using _many = await startCluster({ manifests: ['crds'], namespaces: ['blue'] })
  // @ts-expect-error: no kind
  await startCluster({ manifests: [{ apiVersion: 'v1' }] })
  // @ts-expect-error: a list is no object
  await cluster.until(Database, {}, ({ status }) => status)
  const pod = await cluster.create(Pod, { name: 'web', spec: { containers: [{ name: 'c', image: 'i' }] } })
  holds<Same<typeof pod, PodObject & { metadata: { name: string } }>>()
  const open = await cluster.get('configmaps', 'settings')
  open.data?.['anything']?.trim()
  const [first] = await cluster.list(Database)
  first?.spec.users.push('alice')
  await cluster.events(pod)
  await cluster.until(Pod, 'web', ({ metadata }) => metadata.name.startsWith('w') && metadata.labels?.['app'])
  await cluster.until(Pod, {}, (pods) => pods.every(({ metadata }) => metadata.name.length > 3))
  await cluster.clock.advance('10m')
  cluster.faults.add({ on: { verb: 'patch' }, effect: { type: 'error', status: 503 } }).remove()
  // @ts-expect-error: no such engine
  await cluster.create(Database, { name: 'orders', spec: { engine: 'oracle', size: 1, users: [] } })
  // @ts-expect-error: a number
  await cluster.until(Database, 'orders', ({ spec }) => spec.size === 'large')
  // @ts-expect-error: no such field
  await cluster.until(Database, 'orders', ({ status }) => status?.colour)
}

export async function handlers(): Promise<void> {
  const { outcome, object, memo, patch } = await runHandler(kopf, { resource: Database, id: 'create', name: 'x', spec })
  holds<Same<typeof memo, { pings: number }>>()
  holds<Same<typeof object.spec.engine, 'postgres' | 'mysql'>>()
  if (outcome.type === 'retry') outcome.delay.toFixed()
  if (outcome.type === 'skipped') outcome.reason.trim()
  patch['status']
  await runHandler(kopf, { id: 'startup', kind: 'startup' })
  await runHandler(kopf, {
    resource: Database,
    id: 'update',
    spec,
    old: { spec: { ...spec, size: 2 } },
    memo: { pings: 1 },
  })
  await runHandler(kopf, { id: 'create', resource: 'kopfexamples', spec: { anything: 'goes' } })
  // @ts-expect-error: not the memo of this operator
  await runHandler(kopf, { resource: Database, id: 'create', spec, memo: { pongs: 1 } })
  // @ts-expect-error: a number
  await runHandler(kopf, { resource: Database, id: 'create', spec: { ...spec, size: 'large' } })
  // @ts-expect-error: no such kind
  await runHandler(kopf, { resource: Database, id: 'create', spec, kind: 'created' })
}

export async function others(): Promise<void> {
  await using runner = new KopfRunner(['run', 'operator.ts'], {
    timeout: '10s',
    reraise: false,
    cwd: '.',
    env: { A: 'b' },
  })
  await runner.until(/ready/)
  const code: number | null | undefined = runner.exitCode
  const clock = new SkippingClock()
  await clock.advance(code ?? 1)
}
