/**
 * After a hand-over: what the former leader wrote last may not have come by our streams yet. Its handlers were called for it, and
 * are not to be called again; so whoever finds something to handle in a state that is older than our leadership asks once.
 */
import { readObject } from '../core/patching/apply.ts'
import { isOlder } from '../core/watching/versions.ts'
import { noteState } from './idleness.ts'
import { indexAnswer, untilIndexed } from './indexing.ts'
import type { Memory } from './memories.ts'
import type { Runtime } from './runtime.ts'

/** Where there is a newer state, it is the one at hand then. One request for an object at most, and none in calm times. */
export async function confirm(runtime: Runtime, memory: Memory): Promise<'same' | 'newer' | 'gone'> {
  const { session, writing: signal } = runtime
  const { tookOverAt } = runtime.standing
  const known = memory.body.metadata.resourceVersion
  if (tookOverAt === undefined || memory.isConfirmed || isOlder(tookOverAt, known)) return 'same'
  const fresh = await readObject({ session, resource: memory.served.resource, signal }, memory.body)
  memory.isConfirmed = true
  if (fresh === undefined) {
    memory.vanishedAt = known
    return 'gone'
  }
  if (fresh.metadata.resourceVersion === known || isOlder(fresh.metadata.resourceVersion, known)) return 'same'
  noteState(runtime, memory, fresh)
  memory.body = fresh
  indexAnswer(runtime, memory, fresh)
  await untilIndexed(memory)
  return 'newer'
}
