/** Answers of a server that keeps what it holds: none goes out before all that it may be made from is kept. */
import type { Answer } from './call.ts'
import { cannotKeep } from './status.ts'
import type { Store } from './storage/store.ts'

/**
 * Nobody is shown what is not kept yet, be it by an answer or by a refusal. Where it could not be kept, a change is refused;
 * a reader has seen what never was, and looks again.
 */
export async function whenKept(store: Store, isRead: boolean, serve: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const { losses } = store
    const [outcome] = await Promise.allSettled([serve()])
    try {
      await store.settled()
      if (store.losses !== losses) throw cannotKeep('the disk has failed meanwhile')
      if (outcome.status === 'fulfilled') return outcome.value
    } catch (refusal) {
      if (outcome.status === 'fulfilled') await discard(outcome.value)
      if (isRead) continue
      throw refusal
    }
    throw outcome.reason
  }
}

/** A watch that is not read would hold what it has heard. */
async function discard({ body }: Answer): Promise<void> {
  if (typeof body !== 'string') await body[Symbol.asyncIterator]().return?.()
}
