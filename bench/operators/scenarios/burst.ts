/** (c) Many creations as fast as the server takes them, and (d) a restart with all of them handled. */
import type { Contender } from '../contenders.ts'
import { checkHandled, HandledWatch, readAll, sendMany, toCreations } from '../load.ts'
import { cpuOf, rssMb, untilIdle, untilWatching, writesOf } from '../meter.ts'
import { bodyOf } from '../resource.ts'
import type { World } from '../world.ts'

export interface Burst {
  readonly cpuMsPerObject: number
  readonly handledPerSecond: number
  readonly writesPerObject: number
  readonly peakMb: number
  /** Where the objects are. */
  readonly namespace: string
}

export async function measureBurst(world: World, contender: Contender, count: number): Promise<Burst> {
  const namespace = await world.createNamespace()
  await using running = await contender.start(world, { role: 'contract', namespace })
  await untilWatching(world, running)
  await untilIdle(running)
  const handled = await HandledWatch.open(world.access, namespace)
  const cpu = cpuOf(running)
  const began = performance.now()
  await sendMany(
    world.access,
    toCreations(namespace, count, (index) => bodyOf(`burst-${index}`, index)),
    201,
  )
  const ended = await handled.until(count, 300_000)
  // The state of the last handlers may be written after their status.
  await untilIdle(running)
  handled.close()
  checkHandled(await readAll(world.access, namespace), count)
  return {
    cpuMsPerObject: (cpuOf(running) - cpu) / count,
    handledPerSecond: (count * 1000) / (ended - began),
    writesPerObject: writesOf(world, running).length / count,
    peakMb: rssMb(running, 'VmHWM'),
    namespace,
  }
}

export interface Restart {
  readonly cpuSeconds: number
  readonly rssMb: number
  readonly toWatchSeconds: number
  readonly toQuietSeconds: number
  readonly writes: number
}

/** On the objects that a burst has left. */
export async function measureRestart(world: World, contender: Contender, namespace: string): Promise<Restart> {
  await using running = await contender.start(world, { role: 'contract', namespace })
  const toWatchSeconds = await untilWatching(world, running)
  const toQuietSeconds = await untilIdle(running, 2_000)
  return {
    cpuSeconds: cpuOf(running) / 1000,
    rssMb: rssMb(running),
    toWatchSeconds,
    toQuietSeconds,
    writes: writesOf(world, running).length,
  }
}
