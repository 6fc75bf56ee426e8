/** How long to wait before the first call of a daemon or a timer; a function of the user is asked for each object. */
import { KopfError } from '../../errors.ts'
import { type Duration, toMs } from '../../util/duration.ts'
import type { Host } from './host.ts'
import type { Task } from './task.ts'

/** In milliseconds. Throws what the function throws, and where its answer will not do. */
export function initialDelayOf<O>(host: Host<O>, { handler, owner }: Task<O>): number {
  const { initialDelay } = handler.background!
  if (typeof initialDelay === 'number') return initialDelay
  const args = host.argsOf(owner, handler, host.loggerOf(owner))
  const answer = (initialDelay as (args: object) => unknown)(args)
  if (answer instanceof Promise) {
    // Nobody waits for it; its failure must not end the process.
    answer.catch(() => undefined)
    throw new KopfError(
      'KOPF_DURATION',
      'Cannot use a promise as a delay: it is async, and nobody waits for its answer',
    )
  }
  return toMs(answer as Duration, `the initialDelay of "${handler.id}"`)
}
