/**
 * Creates, updates, disturbs and restarts with many gadgets, each with a ConfigMap, a Service and a Deployment, and measures the
 * operator's requests (in the audit log), CPU and memory (in `/proc`) in each phase. A wrong child ends the benchmark.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type AuditEntry, isWrite } from '../../tools/kopf/audit-log.ts'
import type { BenchCluster } from '../lib/bench-cluster.ts'
import { Connection, type Request } from '../lib/connection.ts'
import { mergePatch } from '../lib/gadgets.ts'
import { check } from '../lib/measure.ts'
import { sendMany } from '../lib/requests.ts'
import { cpuOf, type RunningOperator, rssMb, untilIdle } from '../lib/running-operator.ts'
import { bodyOf, plural, readAll, toCreations, toResize } from '../lib/schemaless-gadgets.ts'
import type { Reconciler } from './contenders.ts'

/** The figures of one phase, per object. */
export interface Phase {
  readonly writes: number
  /** Gets and lists. */
  readonly reads: number
  /** The refused writes, which are also counted in `writes`. */
  readonly refused: number
  readonly cpuMs: number
}

export interface Phases {
  readonly create: Phase
  readonly resize: Phase
  readonly drift: Phase
  readonly resync: Phase
  readonly restart: Phase
  /** Memory with all objects when the operator is idle. */
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

export async function measurePhases(cluster: BenchCluster, reconciler: Reconciler, count: number): Promise<Phases> {
  const namespace = await cluster.createNamespace()
  const names = Array.from({ length: count }, (_, index) => `gadget-${index}`)
  const scenario = { cluster, namespace, names }
  const first = await runChanges(scenario, reconciler)
  const restart = await runRestart(scenario, reconciler)
  const resync = await runResync(scenario, reconciler)
  return { ...first, ...restart, resync }
}

interface Scenario {
  readonly cluster: BenchCluster
  readonly namespace: string
  readonly names: readonly string[]
}

async function runChanges(
  scenario: Scenario,
  reconciler: Reconciler,
): Promise<Pick<Phases, 'create' | 'resize' | 'drift'>> {
  const { cluster, namespace, names } = scenario
  await using running = await reconciler.start(cluster, { namespace })
  await untilWatching(cluster, running)
  const phase = meterOf(scenario, running)
  const creations = toCreations(namespace, names.length, (index) => bodyOf(names[index]!, 1))
  const create = await phase(creations, 201, { size: 1 })
  const resize = await phase(
    names.map((name) => toResize(namespace, name, 2)),
    200,
    { size: 2 },
  )
  const drift = await phase(
    names.map((name) => toDrift(namespace, name)),
    200,
    { size: 2 },
  )
  return { create, resize, drift }
}

async function runRestart(
  scenario: Scenario,
  reconciler: Reconciler,
): Promise<Pick<Phases, 'restart' | 'rssMb' | 'peakRssMb'>> {
  const { cluster, namespace } = scenario
  await using running = await reconciler.start(cluster, { namespace })
  await untilWatching(cluster, running)
  await untilQuiet(cluster, running)
  const restart = toPhase(scenario, requestsOf(cluster, running), cpuOf(running))
  return { restart, rssMb: rssMb(running), peakRssMb: rssMb(running, 'VmHWM') }
}

/** Measures several rounds after the start, since the resync interval of each object varies. */
async function runResync(scenario: Scenario, reconciler: Reconciler): Promise<Phase> {
  const { cluster, namespace } = scenario
  const rounds = 3
  await using running = await reconciler.start(cluster, { namespace, resyncSeconds })
  await untilWatching(cluster, running)
  await untilIdle(running)
  const before = requestsOf(cluster, running).length
  const cpuBefore = cpuOf(running)
  await sleep(rounds * resyncSeconds * 1000)
  const phase = toPhase(scenario, requestsOf(cluster, running).slice(before), cpuOf(running) - cpuBefore)
  return {
    writes: phase.writes / rounds,
    reads: phase.reads / rounds,
    refused: phase.refused,
    cpuMs: phase.cpuMs / rounds,
  }
}

/** Returns a function that sends requests and measures until all gadgets are reconciled and the operator is idle. */
function meterOf(scenario: Scenario, running: RunningOperator) {
  const { cluster } = scenario
  return async (requests: readonly Request[], status: number, expected: { readonly size: number }): Promise<Phase> => {
    const before = requestsOf(cluster, running).length
    const cpuBefore = cpuOf(running)
    await sendMany(cluster.access, requests, status)
    await untilReconciled(scenario, running, expected.size)
    await untilQuiet(cluster, running)
    return toPhase(scenario, requestsOf(cluster, running).slice(before), cpuOf(running) - cpuBefore)
  }
}

function toPhase({ names }: Scenario, entries: readonly AuditEntry[], cpuMs: number): Phase {
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

/** The operator's requests. A watch has two lines in the audit log; only the first one is counted. */
function requestsOf(cluster: BenchCluster, { user, startedAt, namespace }: RunningOperator): AuditEntry[] {
  return cluster.audit().filter((entry) => {
    const isOurs = entry.user === user && entry.at >= startedAt - 1 && entry.namespace === namespace
    return isOurs && resources.has(entry.resource) && (entry.verb !== 'watch' || entry.stage === 'ResponseStarted')
  })
}

async function untilWatching(cluster: BenchCluster, running: RunningOperator): Promise<void> {
  await until(running, 'did not open all of its watches', () => {
    const watches = requestsOf(cluster, running).filter(({ verb }) => verb === 'watch')
    return new Set(watches.map(({ resource }) => resource)).size === resources.size
  })
}

/** Resolves when the operator has sent no request and used no CPU for a second. */
async function untilQuiet(cluster: BenchCluster, running: RunningOperator): Promise<void> {
  for (let count = -1; count !== requestsOf(cluster, running).length; ) {
    count = requestsOf(cluster, running).length
    await untilIdle(running)
  }
}

async function untilReconciled(
  { cluster, namespace, names }: Scenario,
  running: RunningOperator,
  size: number,
): Promise<void> {
  await until(running, `did not reconcile all gadgets to the size ${size}`, async () => {
    const gadgets = await readAll(cluster.access, namespace)
    if (!gadgets.every(({ status }) => status?.observed === size)) return false
    const children = await Promise.all(
      childKinds.map(([resource, api]) => readChildren(cluster, `${api}/namespaces/${namespace}/${resource}`)),
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

async function readChildren({ access }: BenchCluster, path: string): Promise<Child[]> {
  const connection = await Connection.open(access)
  const { status, body } = await connection.send({ path })
  connection.close()
  check(status === 200, `the children were not listed: ${status}`)
  return (JSON.parse(body.toString()) as { items: Child[] }).items
}

async function until(running: RunningOperator, what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 300_000
  while (!(await isSo())) {
    const { process } = running
    const isOver = process.ended !== undefined || Date.now() > deadline
    check(!isOver, `${process.name} ${what}\n${process.output.slice(-2000)}`)
    await sleep(200)
  }
}
