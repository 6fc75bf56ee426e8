/**
 * (a) Counts the requests for one change, for objects with 1, 3 and 10 handlers, with and without status writes and a finalizer.
 * One operator has the handlers of all cases; the labels of an object select its case. Also used by test/real/write-counts.test.ts.
 */

import type { BenchCluster } from '../../lib/bench-cluster.ts'
import { check } from '../../lib/measure.ts'
import { sendMany } from '../../lib/requests.ts'
import {
  type RunningOperator,
  requestsOf,
  runsOf,
  untilSettled,
  untilWatching,
  writesOf,
} from '../../lib/running-operator.ts'
import { bodyOf, pathOf, readAll, toResize } from '../../lib/schemaless-gadgets.ts'
import type { Contender } from '../contenders.ts'

export interface Case {
  readonly handlers: number
  readonly status: 'yes' | 'no'
  readonly finalizer: 'yes' | 'no'
}

/** The operator's writes for one object, by type of change. */
export interface Writes {
  readonly create: number
  readonly update: number
  readonly resume: number
  readonly delete: number
}

export interface Requests {
  readonly writes: ReadonlyMap<string, Writes>
  /** Writes that did not change the version of the object. */
  readonly noops: number
  /** The number of watches before and after the restart. */
  readonly watches: readonly number[]
  readonly listsAfterStart: number
}

export const cases: readonly Case[] = [1, 3, 10].flatMap((handlers) =>
  (['no', 'yes'] as const).flatMap((status) =>
    (['no', 'yes'] as const).map((finalizer) => ({ handlers, status, finalizer })),
  ),
)

export function nameOf({ handlers, status, finalizer }: Case): string {
  return `h${handlers}-status-${status}-finalizer-${finalizer}`
}

/** The baseline has one handler and stores only the status. */
function casesOf({ isBaseline }: Contender): readonly Case[] {
  return isBaseline ? cases.filter(({ handlers, status }) => handlers === 1 && status === 'yes') : cases
}

export type Storage = 'annotations' | 'status'

/** The first operator process handles creations and updates; after a restart, the second one resumes the objects and deletes them. */
export async function measureRequests(
  cluster: BenchCluster,
  contender: Contender,
  storage: Storage,
): Promise<Requests> {
  const namespace = await cluster.createNamespace()
  const some = casesOf(contender)
  const scenario: Scenario = {
    cluster,
    contender,
    namespace,
    some,
    counts: new Map(some.map((each) => [nameOf(each), {}])),
  }
  const env = { BENCH_PRINT: 'yes', BENCH_STORAGE: storage }
  const traffic: Traffic[] = []
  for (const runPhase of [runChanges, runDeletions]) {
    await using running = await contender.start(cluster, { role: 'requests', namespace, env })
    await untilWatching(cluster, running)
    await runPhase(scenario, running)
    traffic.push(trafficOf(cluster, running))
  }
  return {
    writes: scenario.counts as ReadonlyMap<string, Writes>,
    noops: countNoops(cluster, namespace),
    watches: traffic.map(({ watches }) => watches),
    listsAfterStart: traffic.reduce((sum, { listsAfterStart }) => sum + listsAfterStart, 0),
  }
}

interface Scenario {
  readonly cluster: BenchCluster
  readonly contender: Contender
  readonly namespace: string
  readonly some: readonly Case[]
  readonly counts: Map<string, Partial<Record<keyof Writes, number>>>
}

async function runChanges(scenario: Scenario, running: RunningOperator): Promise<void> {
  const { cluster, namespace, some } = scenario
  const settle = settler(scenario, running)
  await sendMany(
    cluster.access,
    some.map((each) => toCreation(namespace, each)),
    201,
  )
  await settle('create')
  await sendMany(
    cluster.access,
    some.map((each) => toResize(namespace, nameOf(each), 2)),
    200,
  )
  await settle('update')
  checkStates(await readAll(cluster.access, namespace), some)
}

async function runDeletions(scenario: Scenario, running: RunningOperator): Promise<void> {
  const { cluster, namespace, some } = scenario
  const settle = settler(scenario, running)
  await settle('resume')
  const deletions = some.map((each) => ({ method: 'DELETE', path: `${pathOf(namespace)}/${nameOf(each)}` }))
  await sendMany(cluster.access, deletions, 200)
  await settle('delete')
  check((await readAll(cluster.access, namespace)).length === 0, 'objects were left after their deletion')
}

/** Returns a function that waits until all handlers have run and written, and counts the writes since its last call. */
function settler({ cluster, contender, some, counts }: Scenario, running: RunningOperator) {
  let seen = 0
  return async (what: keyof Writes): Promise<void> => {
    await untilSettled(cluster, running, () => haveRun(running, contender, some, what))
    const writes = writesOf(cluster, running)
    for (const [name, row] of counts) row[what] = writes.slice(seen).filter((entry) => entry.name === name).length
    seen = writes.length
  }
}

function toCreation(namespace: string, each: Case) {
  const { handlers, status, finalizer } = each
  const labels = { handlers: String(handlers), status, finalizer }
  return { method: 'POST', path: pathOf(namespace), body: bodyOf(nameOf(each), 1, labels) }
}

/** Whether each handler has run once for the change. More runs than that end the benchmark. */
function haveRun(running: RunningOperator, contender: Contender, some: readonly Case[], reason: keyof Writes): boolean {
  if (contender.isBaseline)
    return some.every((each) => runsOf(running, undefined, nameOf(each)) >= baselineRuns[reason])
  return some.every((each) => {
    const expected = reason === 'delete' && each.finalizer === 'no' ? 0 : each.handlers
    const runs = runsOf(running, reason, nameOf(each))
    check(runs <= expected, `${nameOf(each)}: ${runs} runs for ${reason} instead of ${expected}`)
    return runs === expected
  })
}

/** The baseline does not distinguish creations from updates, and runs nothing for resumes and deletions. */
const baselineRuns: Readonly<Record<keyof Writes, number>> = { create: 1, update: 2, resume: 0, delete: 0 }

function checkStates(gadgets: Awaited<ReturnType<typeof readAll>>, some: readonly Case[]): void {
  const found = new Map(gadgets.map((gadget) => [gadget.metadata.name, gadget]))
  for (const each of some) {
    const gadget = found.get(nameOf(each))
    const { length = 0 } = gadget?.metadata.finalizers ?? []
    check(length === (each.finalizer === 'yes' ? 1 : 0), `${nameOf(each)} has ${length} finalizers`)
    if (each.status === 'no') continue
    for (let number = 0; number < each.handlers; number += 1) {
      check(gadget?.status?.[`observed${number}`] === 2, `${nameOf(each)}: handler ${number} has not observed the size`)
    }
  }
}

/** Needs the audit level "RequestResponse". */
function countNoops(cluster: BenchCluster, namespace: string): number {
  const versions = new Map<string, string>()
  let noops = 0
  for (const { namespace: its, verb, name, code, resourceVersion } of cluster.audit()) {
    if (its !== namespace || resourceVersion === undefined || code >= 300) continue
    if (verb === 'patch' && versions.get(name) === resourceVersion) noops += 1
    if (verb === 'patch' || verb === 'create') versions.set(name, resourceVersion)
  }
  return noops
}

interface Traffic {
  readonly watches: number
  readonly listsAfterStart: number
}

/** Counts the watches and lists of one operator process since its start. */
function trafficOf(cluster: BenchCluster, running: RunningOperator): Traffic {
  const requests = requestsOf(cluster, running)
  const first = requests.findIndex(({ verb }) => verb === 'watch')
  return {
    watches: requests.filter(({ verb, stage }) => verb === 'watch' && stage === 'ResponseStarted').length,
    listsAfterStart: requests.slice(first).filter(({ verb }) => verb === 'list').length,
  }
}
