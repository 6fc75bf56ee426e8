/** (f) Many objects of which a label picks one in a hundred: whether the rest costs anything. */
import { check } from '../../measure.ts'
import { type Contender, contenders } from '../contenders.ts'
import { checkHandled, HandledWatch, readAll, sendMany, toCreations } from '../load.ts'
import { cpuOf, rssMb, untilIdle, untilWatching } from '../meter.ts'
import { bodyOf } from '../resource.ts'
import type { World } from '../world.ts'

export interface Filtered {
  readonly cpuSeconds: number
  readonly peakMb: number
  readonly handledSeconds: number
}

/** One set of objects for all operators, each with its own hundredth. */
export async function prepareFiltered(world: World, count: number): Promise<string> {
  const namespace = await world.createNamespace()
  const names = contenders.map(({ name }) => name)
  const labelsOf = (index: number): Record<string, string> => {
    const picked = names[index % 100]
    return picked === undefined ? {} : { picked }
  }
  const toBody = (index: number): string => bodyOf(`one-${index}`, index, labelsOf(index))
  await sendMany(world.access, toCreations(namespace, count, toBody), 201)
  return namespace
}

export async function measureFiltered(world: World, contender: Contender, namespace: string): Promise<Filtered> {
  const isPicked = (labels: Readonly<Record<string, string>> = {}): boolean => labels['picked'] === contender.name
  const before = await readAll(world.access, namespace)
  const count = before.filter(({ metadata }) => isPicked(metadata.labels)).length
  check(count === before.length / 100, `${count} of ${before.length} objects are picked`)
  const handled = await HandledWatch.open(world.access, namespace, `picked=${contender.name}`)
  const began = performance.now()
  const env = { BENCH_PICKED: contender.name }
  await using running = await contender.start(world, { role: 'filtered', namespace, env })
  await untilWatching(world, running)
  const ended = await handled.until(count, 120_000)
  handled.close()
  await untilIdle(running, 2_000)
  const after = await readAll(world.access, namespace)
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
