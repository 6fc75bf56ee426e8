/**
 * (a) How many requests a change takes: for objects with 1, 3 and 10 handlers, which write the status or do not, with a
 * finalizer or without. All at once in one operator: an object's labels say which case it is.
 * Also the substance of test/real/writes.test.ts.
 */
import { check } from '../../measure.ts'
import type { Contender, Running } from '../contenders.ts'
import { readAll, sendMany, toResize } from '../load.ts'
import { requestsOf, runsOf, untilSettled, untilWatching, writesOf } from '../meter.ts'
import { bodyOf, pathOf } from '../resource.ts'
import type { World } from '../world.ts'

export interface Case {
  readonly handlers: number
  readonly status: 'yes' | 'no'
  readonly finalizer: 'yes' | 'no'
}

/** Writes of the operator for one object, by what was done to it. */
export interface Writes {
  readonly create: number
  readonly update: number
  readonly resume: number
  readonly delete: number
}

export interface Requests {
  readonly writes: ReadonlyMap<string, Writes>
  /** Writes after which the object had the version it had before. */
  readonly noops: number
  /** Of both processes, the one before and the one after the restart. */
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

/** The loop without a framework has one handler, and keeps nothing but the status. */
function casesOf({ isFloor }: Contender): readonly Case[] {
  return isFloor ? cases.filter(({ handlers, status }) => handlers === 1 && status === 'yes') : cases
}

export type Storage = 'annotations' | 'status'

/** One operator sees objects made and changed; the next one, after a restart, finds them there, and sees them go. */
export async function measureRequests(world: World, contender: Contender, storage: Storage): Promise<Requests> {
  const namespace = await world.createNamespace()
  const some = casesOf(contender)
  const stage: Stage = { world, contender, namespace, some, counts: new Map(some.map((each) => [nameOf(each), {}])) }
  const env = { BENCH_PRINT: 'yes', BENCH_STORAGE: storage }
  const traffic: Traffic[] = []
  for (const play of [playChanges, playDeletions]) {
    await using running = await contender.start(world, { role: 'requests', namespace, env })
    await untilWatching(world, running)
    await play(stage, running)
    traffic.push(trafficOf(world, running))
  }
  return {
    writes: stage.counts as ReadonlyMap<string, Writes>,
    noops: countNoops(world, namespace),
    watches: traffic.map(({ watches }) => watches),
    listsAfterStart: traffic.reduce((sum, { listsAfterStart }) => sum + listsAfterStart, 0),
  }
}

interface Stage {
  readonly world: World
  readonly contender: Contender
  readonly namespace: string
  readonly some: readonly Case[]
  readonly counts: Map<string, Partial<Record<keyof Writes, number>>>
}

async function playChanges(stage: Stage, running: Running): Promise<void> {
  const { world, namespace, some } = stage
  const settle = settler(stage, running)
  await sendMany(
    world.access,
    some.map((each) => toCreation(namespace, each)),
    201,
  )
  await settle('create')
  await sendMany(
    world.access,
    some.map((each) => toResize(namespace, nameOf(each), 2)),
    200,
  )
  await settle('update')
  checkStates(await readAll(world.access, namespace), some)
}

async function playDeletions(stage: Stage, running: Running): Promise<void> {
  const { world, namespace, some } = stage
  const settle = settler(stage, running)
  await settle('resume')
  const deletions = some.map((each) => ({ method: 'DELETE', path: `${pathOf(namespace)}/${nameOf(each)}` }))
  await sendMany(world.access, deletions, 200)
  await settle('delete')
  check((await readAll(world.access, namespace)).length === 0, 'objects were left after their deletion')
}

/** Waits until all handlers have run and all is written, and counts what was written since the last time. */
function settler({ world, contender, some, counts }: Stage, running: Running) {
  let seen = 0
  return async (what: keyof Writes): Promise<void> => {
    await untilSettled(world, running, () => haveRun(running, contender, some, what))
    const writes = writesOf(world, running)
    for (const [name, row] of counts) row[what] = writes.slice(seen).filter((entry) => entry.name === name).length
    seen = writes.length
  }
}

function toCreation(namespace: string, each: Case) {
  const { handlers, status, finalizer } = each
  const labels = { handlers: String(handlers), status, finalizer }
  return { method: 'POST', path: pathOf(namespace), body: bodyOf(nameOf(each), 1, labels) }
}

/** Each handler once per change: more would be as wrong as fewer, and is seen in the next step. */
function haveRun(running: Running, contender: Contender, some: readonly Case[], reason: keyof Writes): boolean {
  if (contender.isFloor) return some.every((each) => runsOf(running, undefined, nameOf(each)) >= floorRuns[reason])
  return some.every((each) => {
    const expected = reason === 'delete' && each.finalizer === 'no' ? 0 : each.handlers
    const runs = runsOf(running, reason, nameOf(each))
    check(runs <= expected, `${nameOf(each)}: ${runs} runs for ${reason} where ${expected} are right`)
    return runs === expected
  })
}

/** The loop tells creations and updates not apart, and has nothing to run for the others. */
const floorRuns: Readonly<Record<keyof Writes, number>> = { create: 1, update: 2, resume: 0, delete: 0 }

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
function countNoops(world: World, namespace: string): number {
  const versions = new Map<string, string>()
  let noops = 0
  for (const { namespace: its, verb, name, code, resourceVersion } of world.audit()) {
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

/** Of a process from its start until now. */
function trafficOf(world: World, running: Running): Traffic {
  const requests = requestsOf(world, running)
  const first = requests.findIndex(({ verb }) => verb === 'watch')
  return {
    watches: requests.filter(({ verb, stage }) => verb === 'watch' && stage === 'ResponseStarted').length,
    listsAfterStart: requests.slice(first).filter(({ verb }) => verb === 'list').length,
  }
}
