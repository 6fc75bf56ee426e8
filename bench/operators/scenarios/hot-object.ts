/** (b) A hundred edits a second of one object: counts the handler runs and the writes. */

import type { BenchCluster } from '../../lib/bench-cluster.ts'
import { check } from '../../lib/measure.ts'
import { sendMany, sendPaced } from '../../lib/requests.ts'
import { cpuOf, runsOf, untilSettled, untilWatching, writesOf } from '../../lib/running-operator.ts'
import { bodyOf, readAll, toCreations, toResize } from '../../lib/schemaless-gadgets.ts'
import type { Contender } from '../contenders.ts'

export interface HotObject {
  readonly runs: number
  readonly writes: number
  readonly cpuMs: number
}

const name = 'hot'

export async function measureHotObject(cluster: BenchCluster, contender: Contender, edits: number): Promise<HotObject> {
  const namespace = await cluster.createNamespace()
  await using running = await contender.start(cluster, { role: 'contract', namespace, env: { BENCH_PRINT: 'yes' } })
  await untilWatching(cluster, running)
  await sendMany(
    cluster.access,
    toCreations(namespace, 1, () => bodyOf(name, 0)),
    201,
  )
  await untilSettled(cluster, running, () => runsOf(running) > 0)
  const before = { runs: runsOf(running), writes: writesOf(cluster, running).length, cpu: cpuOf(running) }

  const requests = Array.from({ length: edits }, (_, index) => toResize(namespace, name, index + 1))
  await sendPaced(cluster.access, requests, 100)
  await untilSettled(cluster, running, () => runsOf(running) > before.runs)

  const [gadget] = await readAll(cluster.access, namespace)
  check(gadget?.status?.observed === gadget?.spec.size, `the last edit was not observed: ${gadget?.status?.observed}`)
  return {
    runs: runsOf(running) - before.runs,
    writes: writesOf(cluster, running).length - before.writes,
    cpuMs: cpuOf(running) - before.cpu,
  }
}
