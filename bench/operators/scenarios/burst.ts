/** (c) Many creations as fast as the server accepts them, and (d) a restart when all objects are handled. */

import type { BenchCluster } from '../../lib/bench-cluster.ts'
import { sendMany } from '../../lib/requests.ts'
import { cpuOf, rssMb, untilIdle, untilWatching, writesOf } from '../../lib/running-operator.ts'
import { bodyOf, readAll, toCreations } from '../../lib/schemaless-gadgets.ts'
import type { Contender } from '../contenders.ts'
import { checkHandled, HandledWatch } from '../handled-watch.ts'

export interface Burst {
  readonly cpuMsPerObject: number
  readonly handledPerSecond: number
  readonly writesPerObject: number
  readonly peakMb: number
  /** The namespace of the objects. */
  readonly namespace: string
}

export async function measureBurst(cluster: BenchCluster, contender: Contender, count: number): Promise<Burst> {
  const namespace = await cluster.createNamespace()
  await using running = await contender.start(cluster, { role: 'contract', namespace })
  await untilWatching(cluster, running)
  await untilIdle(running)
  const handled = await HandledWatch.open(cluster.access, namespace)
  const cpu = cpuOf(running)
  const began = performance.now()
  await sendMany(
    cluster.access,
    toCreations(namespace, count, (index) => bodyOf(`burst-${index}`, index)),
    201,
  )
  const ended = await handled.until(count, 300_000)
  // The operator may write the stored state of the last objects after their status.
  await untilIdle(running)
  handled.close()
  checkHandled(await readAll(cluster.access, namespace), count)
  return {
    cpuMsPerObject: (cpuOf(running) - cpu) / count,
    handledPerSecond: (count * 1000) / (ended - began),
    writesPerObject: writesOf(cluster, running).length / count,
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

/** Starts the operator in the namespace of a burst. */
export async function measureRestart(cluster: BenchCluster, contender: Contender, namespace: string): Promise<Restart> {
  await using running = await contender.start(cluster, { role: 'contract', namespace })
  const toWatchSeconds = await untilWatching(cluster, running)
  const toQuietSeconds = await untilIdle(running, 2_000)
  return {
    cpuSeconds: cpuOf(running) / 1000,
    rssMb: rssMb(running),
    toWatchSeconds,
    toQuietSeconds,
    writes: writesOf(cluster, running).length,
  }
}
