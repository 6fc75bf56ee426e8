/**
 * The life of many gadgets, each with a ConfigMap, a Service and a Deployment, and what the operator asks of the API server in each
 * part of it. Looked at from outside: requests in the audit log, CPU and memory in `/proc`. A wrong child ends the run.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type AuditEntry, isWrite } from '../../tools/kopf/audit-log.ts'
import { Connection, type Request } from '../connection.ts'
import { mergePatch } from '../fixtures.ts'
import { check } from '../measure.ts'
import type { Running } from '../operators/contenders.ts'
import { readAll, sendMany, toCreations, toResize } from '../operators/load.ts'
import { cpuOf, rssMb, untilIdle } from '../operators/meter.ts'
import { bodyOf, plural } from '../operators/resource.ts'
import type { World } from '../operators/world.ts'
import type { Reconciler } from './contenders.ts'

/** One part of the life, per object. */
export interface Part {
  readonly writes: number
  /** Neither writes nor watches: what was asked again. */
  readonly reads: number
  /** Of the writes, those that were refused. */
  readonly refused: number
  readonly cpuMs: number
}

export interface Life {
  readonly create: Part
  readonly resize: Part
  readonly drift: Part
  readonly resync: Part
  readonly restart: Part
  /** With all objects, when nothing happens. */
  readonly rssMb: number
  readonly peakRssMb: number
}

const childKinds = [
  ['configmaps', '/api/v1'],
  ['services', '/api/v1'],
  ['deployments', '/apis/apps/v1'],
] as const

const resources: ReadonlySet<string> = new Set([plural, ...childKinds.map(([resource]) => resource)])

const resyncSeconds = 10

export async function measureLife(world: World, reconciler: Reconciler, count: number): Promise<Life> {
  const namespace = await world.createNamespace()
  const names = Array.from({ length: count }, (_, index) => `gadget-${index}`)
  const stage = { world, namespace, names }
  const first = await playChanges(stage, reconciler)
  const restart = await playRestart(stage, reconciler)
  const resync = await playResync(stage, reconciler)
  return { ...first, ...restart, resync }
}

interface Stage {
  readonly world: World
  readonly namespace: string
  readonly names: readonly string[]
}

async function playChanges(stage: Stage, reconciler: Reconciler): Promise<Pick<Life, 'create' | 'resize' | 'drift'>> {
  const { world, namespace, names } = stage
  await using running = await reconciler.start(world, { namespace })
  await untilWatching(world, running)
  const part = meterOf(stage, running)
  const creations = toCreations(namespace, names.length, (index) => bodyOf(names[index]!, 1))
  const create = await part(creations, 201, { size: 1 })
  const resize = await part(
    names.map((name) => toResize(namespace, name, 2)),
    200,
    { size: 2 },
  )
  const drift = await part(
    names.map((name) => toDrift(namespace, name)),
    200,
    { size: 2 },
  )
  return { create, resize, drift }
}

async function playRestart(
  stage: Stage,
  reconciler: Reconciler,
): Promise<Pick<Life, 'restart' | 'rssMb' | 'peakRssMb'>> {
  const { world, namespace } = stage
  await using running = await reconciler.start(world, { namespace })
  await untilWatching(world, running)
  await untilQuiet(world, running)
  const restart = toPart(stage, requestsOf(world, running), cpuOf(running))
  return { restart, rssMb: rssMb(running), peakRssMb: rssMb(running, 'VmHWM') }
}

/** From the end of the start, over several rounds: their length varies, so that not all come at once. */
async function playResync(stage: Stage, reconciler: Reconciler): Promise<Part> {
  const { world, namespace } = stage
  const rounds = 3
  await using running = await reconciler.start(world, { namespace, resyncSeconds })
  await untilWatching(world, running)
  await untilIdle(running)
  const before = requestsOf(world, running).length
  const cpuBefore = cpuOf(running)
  await sleep(rounds * resyncSeconds * 1000)
  const part = toPart(stage, requestsOf(world, running).slice(before), cpuOf(running) - cpuBefore)
  return { writes: part.writes / rounds, reads: part.reads / rounds, refused: part.refused, cpuMs: part.cpuMs / rounds }
}

/** Does something to all gadgets, and measures until all is right and the operator quiet. */
function meterOf(stage: Stage, running: Running) {
  const { world } = stage
  return async (requests: readonly Request[], status: number, expected: { readonly size: number }): Promise<Part> => {
    const before = requestsOf(world, running).length
    const cpuBefore = cpuOf(running)
    await sendMany(world.access, requests, status)
    await untilRight(stage, running, expected.size)
    await untilQuiet(world, running)
    return toPart(stage, requestsOf(world, running).slice(before), cpuOf(running) - cpuBefore)
  }
}

function toPart({ names }: Stage, entries: readonly AuditEntry[], cpuMs: number): Part {
  const writes = entries.filter(isWrite)
  const reads = entries.filter(({ verb }) => verb === 'get' || verb === 'list')
  const refused = writes.filter(({ code }) => code >= 400)
  const each = (many: number): number => many / names.length
  return {
    writes: each(writes.length),
    reads: each(reads.length),
    refused: each(refused.length),
    cpuMs: each(cpuMs),
  }
}

function toDrift(namespace: string, name: string): Request {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`
  return { method: 'PATCH', path, body: JSON.stringify({ spec: { replicas: 7 } }), contentType: mergePatch }
}

/** Once each: a watch has a line at its beginning and one at its end. */
function requestsOf(world: World, { user, startedAt, namespace }: Running): AuditEntry[] {
  return world.audit().filter((entry) => {
    const isOurs = entry.user === user && entry.at >= startedAt - 1 && entry.namespace === namespace
    return isOurs && resources.has(entry.resource) && (entry.verb !== 'watch' || entry.stage === 'ResponseStarted')
  })
}

async function untilWatching(world: World, running: Running): Promise<void> {
  await until(running, 'opened not all of its watches', () => {
    const watches = requestsOf(world, running).filter(({ verb }) => verb === 'watch')
    return new Set(watches.map(({ resource }) => resource)).size === resources.size
  })
}

/** No request for a second, and no work. */
async function untilQuiet(world: World, running: Running): Promise<void> {
  for (let count = -1; count !== requestsOf(world, running).length; ) {
    count = requestsOf(world, running).length
    await untilIdle(running)
  }
}

async function untilRight({ world, namespace, names }: Stage, running: Running, size: number): Promise<void> {
  await until(running, `did not bring all to the size of ${size}`, async () => {
    const gadgets = await readAll(world.access, namespace)
    if (!gadgets.every(({ status }) => status?.observed === size)) return false
    const children = await Promise.all(
      childKinds.map(([resource, api]) => readChildren(world, `${api}/namespaces/${namespace}/${resource}`)),
    )
    const [maps = [], services = [], deployments = []] = children.map((some) => some.filter(isOwned))
    const isComplete = [maps, services, deployments].every(({ length }) => length === names.length)
    return (
      isComplete &&
      maps.every(({ data }) => data?.['size'] === String(size)) &&
      deployments.every(({ spec }) => spec?.['replicas'] === size)
    )
  })
}

interface Child {
  readonly metadata: { readonly ownerReferences?: readonly { readonly kind: string; readonly controller?: boolean }[] }
  readonly spec?: Readonly<Record<string, unknown>>
  readonly data?: Readonly<Record<string, string>>
}

function isOwned({ metadata }: Child): boolean {
  return metadata.ownerReferences?.some(({ kind, controller }) => kind === 'Gadget' && controller === true) ?? false
}

async function readChildren({ access }: World, path: string): Promise<Child[]> {
  const connection = await Connection.open(access)
  const { status, body } = await connection.send({ path })
  connection.close()
  check(status === 200, `the children were not listed: ${status}`)
  return (JSON.parse(body.toString()) as { items: Child[] }).items
}

async function until(running: Running, what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 300_000
  while (!(await isSo())) {
    const { process } = running
    const isOver = process.ended !== undefined || Date.now() > deadline
    check(!isOver, `${process.name} ${what}\n${process.output.slice(-2000)}`)
    await sleep(200)
  }
}
