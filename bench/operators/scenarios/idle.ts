/** (e) From the start of the process to an open watch, and what it weighs with nothing to do. */
import type { Contender } from '../contenders.ts'
import { cpuOf, rssMb, untilIdle, untilWatching } from '../meter.ts'
import type { World } from '../world.ts'

export interface Idle {
  readonly toWatchSeconds: number
  readonly cpuSeconds: number
  readonly rssMb: number
}

export async function measureIdle(world: World, contender: Contender): Promise<Idle> {
  const namespace = await world.createNamespace()
  await using running = await contender.start(world, { role: 'contract', namespace })
  const toWatchSeconds = await untilWatching(world, running)
  await untilIdle(running, 2_000)
  return { toWatchSeconds, cpuSeconds: cpuOf(running) / 1000, rssMb: rssMb(running) }
}
