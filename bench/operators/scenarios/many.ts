/** (g) Very many objects, all handled by somebody before: what an operator weighs that has looked at each of them. */
import type { Contender } from '../contenders.ts'
import { sendMany, toCreations } from '../load.ts'
import { cpuOf, rssMb, untilIdle, untilWatching, writesOf } from '../meter.ts'
import { handledBodyOf } from '../resource.ts'
import type { World } from '../world.ts'

export interface Many {
  readonly cpuSeconds: number
  readonly rssMb: number
  readonly peakMb: number
  readonly toQuietSeconds: number
  readonly writes: number
}

/** With the finalizer and the last handled state of Kopf, which ours shares; nothing is left to do but to see that. */
export async function prepareMany(world: World, count: number): Promise<string> {
  const namespace = await world.createNamespace()
  await sendMany(
    world.access,
    toCreations(namespace, count, (index) => handledBodyOf(`one-${index}`, index)),
    201,
  )
  return namespace
}

export async function measureMany(world: World, contender: Contender, namespace: string): Promise<Many> {
  // The loop keeps no state of its own on objects, and would handle them all: it only reads.
  const env = contender.isFloor ? { BENCH_READ_ONLY: 'yes' } : {}
  await using running = await contender.start(world, { role: 'contract', namespace, env })
  await untilWatching(world, running, 300_000)
  const toQuietSeconds = await untilIdle(running, 3_000)
  return {
    cpuSeconds: cpuOf(running) / 1000,
    rssMb: rssMb(running),
    peakMb: rssMb(running, 'VmHWM'),
    toQuietSeconds,
    writes: writesOf(world, running).length,
  }
}
