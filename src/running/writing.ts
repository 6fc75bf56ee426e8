/** Writing to an object: one request at a time, whoever wants something written. Two at once would only get in each other's way. */
import type { Wishes } from '../core/handling/results.ts'
import { applyWish, type Written } from '../core/patching/apply.ts'
import type { Logger } from '../util/log.ts'
import { writerOf } from './consistency.ts'
import type { Memory } from './memories.ts'
import type { Runtime } from './runtime.ts'

/** On the state that is the newest when its turn comes. */
export function writeWish(
  runtime: Runtime,
  memory: Memory,
  { logger, merge, fns }: Wishes & { readonly logger: Logger },
): Promise<Written> {
  return inTurn(memory, () => applyWish(writerOf(runtime, memory, logger), memory.body, { merge, fns }))
}

/** In the order in which they were asked for; each begins when the one before is over, whatever came of it. */
export function inTurn<T>(memory: Memory, work: () => Promise<T>): Promise<T> {
  const before = memory.writing
  const done = (async () => {
    await before
    return work()
  })()
  const settled = done.then(
    () => {},
    () => {},
  )
  memory.writing = settled
  void settled.then(() => {
    if (memory.writing === settled) memory.writing = undefined
  })
  return done
}
