/** (b) A storm of edits to one object, a hundred a second: how often handlers run, how much is written. */
import { check } from '../../measure.ts'
import type { Contender } from '../contenders.ts'
import { readAll, sendMany, sendPaced, toCreations, toResize } from '../load.ts'
import { cpuOf, runsOf, untilSettled, untilWatching, writesOf } from '../meter.ts'
import { bodyOf } from '../resource.ts'
import type { World } from '../world.ts'

export interface Storm {
  readonly runs: number
  readonly writes: number
  readonly cpuMs: number
}

const name = 'hot'

export async function measureStorm(world: World, contender: Contender, edits: number): Promise<Storm> {
  const namespace = await world.createNamespace()
  await using running = await contender.start(world, { role: 'contract', namespace, env: { BENCH_PRINT: 'yes' } })
  await untilWatching(world, running)
  await sendMany(
    world.access,
    toCreations(namespace, 1, () => bodyOf(name, 0)),
    201,
  )
  await untilSettled(world, running, () => runsOf(running) > 0)
  const before = { runs: runsOf(running), writes: writesOf(world, running).length, cpu: cpuOf(running) }

  const requests = Array.from({ length: edits }, (_, index) => toResize(namespace, name, index + 1))
  await sendPaced(world.access, requests, 100)
  await untilSettled(world, running, () => runsOf(running) > before.runs)

  const [gadget] = await readAll(world.access, namespace)
  check(gadget?.status?.observed === gadget?.spec.size, `the last edit was not observed: ${gadget?.status?.observed}`)
  return {
    runs: runsOf(running) - before.runs,
    writes: writesOf(world, running).length - before.writes,
    cpuMs: cpuOf(running) - before.cpu,
  }
}
