/** (g) Very many objects that are already handled: CPU and memory of an operator that has read all of them. */

import type { BenchCluster } from '../../lib/bench-cluster.ts'
import { sendMany } from '../../lib/requests.ts'
import { cpuOf, rssMb, untilIdle, untilWatching, writesOf } from '../../lib/running-operator.ts'
import { handledBodyOf, toCreations } from '../../lib/schemaless-gadgets.ts'
import type { Contender } from '../contenders.ts'

export interface Many {
  readonly cpuSeconds: number
  readonly rssMb: number
  readonly peakMb: number
  readonly toQuietSeconds: number
  readonly writes: number
}

/** Creates objects with Kopf's finalizer and last handled state, which ours shares, so that no handler has to run. */
export async function prepareMany(cluster: BenchCluster, count: number): Promise<string> {
  const namespace = await cluster.createNamespace()
  await sendMany(
    cluster.access,
    toCreations(namespace, count, (index) => handledBodyOf(`one-${index}`, index)),
    201,
  )
  return namespace
}

export async function measureMany(cluster: BenchCluster, contender: Contender, namespace: string): Promise<Many> {
  // The baseline stores no state on objects and would handle all of them, so here it only reads.
  const env = contender.isBaseline ? { BENCH_READ_ONLY: 'yes' } : {}
  await using running = await contender.start(cluster, { role: 'contract', namespace, env })
  await untilWatching(cluster, running, 300_000)
  const toQuietSeconds = await untilIdle(running, 3_000)
  return {
    cpuSeconds: cpuOf(running) / 1000,
    rssMb: rssMb(running),
    peakMb: rssMb(running, 'VmHWM'),
    toQuietSeconds,
    writes: writesOf(cluster, running).length,
  }
}
