/** (e) The time from the start of the process to its watch, and CPU and memory with no objects. */

import type { BenchCluster } from '../../lib/bench-cluster.ts'
import { cpuOf, rssMb, untilIdle, untilWatching } from '../../lib/running-operator.ts'
import type { Contender } from '../contenders.ts'

export interface Idle {
  readonly toWatchSeconds: number
  readonly cpuSeconds: number
  readonly rssMb: number
}

export async function measureIdle(cluster: BenchCluster, contender: Contender): Promise<Idle> {
  const namespace = await cluster.createNamespace()
  await using running = await contender.start(cluster, { role: 'contract', namespace })
  const toWatchSeconds = await untilWatching(cluster, running)
  await untilIdle(running, 2_000)
  return { toWatchSeconds, cpuSeconds: cpuOf(running) / 1000, rssMb: rssMb(running) }
}
