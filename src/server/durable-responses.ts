/** Responses of a server with a data directory: sent only after all changes they may be based on are on disk. */
import type { ApiResponse } from './call.ts'
import { cannotStore } from './status.ts'
import type { ServerStore } from './storage/store.ts'

/**
 * Waits until all changes are durable, before a response or a failure. If they were rolled back, a write fails, and a read is repeated
 * because it may have seen them.
 */
export async function whenDurable(
  store: ServerStore,
  isRead: boolean,
  serve: () => Promise<ApiResponse>,
): Promise<ApiResponse> {
  for (;;) {
    const { rollbacks } = store
    const [outcome] = await Promise.allSettled([serve()])
    try {
      await store.settled()
      if (store.rollbacks !== rollbacks) throw cannotStore('the disk has failed meanwhile')
      if (outcome.status === 'fulfilled') return outcome.value
    } catch (refusal) {
      if (outcome.status === 'fulfilled') await discard(outcome.value)
      if (isRead) continue
      throw refusal
    }
    throw outcome.reason
  }
}

/** Ends the stream of an unsent watch, which would collect changes otherwise. */
async function discard({ body }: ApiResponse): Promise<void> {
  if (typeof body !== 'string') await body[Symbol.asyncIterator]().return?.()
}
