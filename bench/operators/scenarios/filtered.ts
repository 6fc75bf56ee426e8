/** (f) Many objects, one in a hundred with the label of the handlers: measures the cost of the unselected ones. */

import type { BenchCluster } from '../../lib/bench-cluster.ts'
import { check } from '../../lib/measure.ts'
import { sendMany } from '../../lib/requests.ts'
import { cpuOf, rssMb, untilIdle, untilWatching } from '../../lib/running-operator.ts'
import { bodyOf, readAll, toCreations } from '../../lib/schemaless-gadgets.ts'
import { type Contender, contenders } from '../contenders.ts'
import { checkHandled, HandledWatch } from '../handled-watch.ts'

export interface Filtered {
  readonly cpuSeconds: number
  readonly peakMb: number
  readonly handledSeconds: number
}

/** Creates one set of objects for all operators; each operator selects another hundredth. */
export async function prepareFiltered(cluster: BenchCluster, count: number): Promise<string> {
  const namespace = await cluster.createNamespace()
  const names = contenders.map(({ name }) => name)
  const labelsOf = (index: number): Record<string, string> => {
    const picked = names[index % 100]
    return picked === undefined ? {} : { picked }
  }
  const toBody = (index: number): string => bodyOf(`one-${index}`, index, labelsOf(index))
  await sendMany(cluster.access, toCreations(namespace, count, toBody), 201)
  return namespace
}

export async function measureFiltered(
  cluster: BenchCluster,
  contender: Contender,
  namespace: string,
): Promise<Filtered> {
  const isPicked = (labels: Readonly<Record<string, string>> = {}): boolean => labels['picked'] === contender.name
  const before = await readAll(cluster.access, namespace)
  const count = before.filter(({ metadata }) => isPicked(metadata.labels)).length
  check(count === before.length / 100, `${count} of ${before.length} objects are picked`)
  const handled = await HandledWatch.open(cluster.access, namespace, `picked=${contender.name}`)
  const began = performance.now()
  const env = { BENCH_PICKED: contender.name }
  await using running = await contender.start(cluster, { role: 'filtered', namespace, env })
  await untilWatching(cluster, running)
  const ended = await handled.until(count, 120_000)
  handled.close()
  await untilIdle(running, 2_000)
  const after = await readAll(cluster.access, namespace)
  checkHandled(
    after.filter(({ metadata }) => isPicked(metadata.labels)),
    count,
  )
  return {
    cpuSeconds: cpuOf(running) / 1000,
    peakMb: rssMb(running, 'VmHWM'),
    handledSeconds: (ended - began) / 1000,
  }
}
