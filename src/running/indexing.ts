/**
 * Objects and their indices: which states of an object are indexed, and when it is gone from there. States are brought at
 * the door, before the queue; the worker of the object waits until they are in.
 */
import { objectArgs } from '../core/handling/subject.ts'
import { createIndexedObject, isNewTo, type Sight } from '../features/indexing/indexed-object.ts'
import type { KubeObject } from '../kube/objects.ts'
import { once } from '../util/once.ts'
import type { Memory, Served } from './memories.ts'
import { loggerOf, type Runtime, subjectOf } from './runtime.ts'

/** A state that a stream has brought: so the object is there. */
export function indexState(runtime: Runtime, memory: Memory, body: KubeObject): void {
  if (memory.served.handlers.index.length === 0) return
  memory.indexed ??= createIndexedObject()
  memory.indexed.isGone = false
  bring(runtime, memory, body)
}

/** The answer to our own write: it may come when the object is gone, and does not bring it back. */
export function indexAnswer(runtime: Runtime, memory: Memory, body: KubeObject): void {
  if (memory.indexed?.isGone === false) bring(runtime, memory, body)
}

export function unindex({ indexer }: Runtime, { indexed, served }: Memory): void {
  if (indexed !== undefined) indexer.discard(indexed, served.handlers.index)
}

/** Resolves when the indices have all that was known of the object at the time of the call. */
export async function untilIndexed({ indexed }: Memory): Promise<void> {
  await indexed?.done
}

/** The same for all objects of a resource. */
export async function untilAllIndexed({ memories }: Served): Promise<void> {
  await Promise.all(Array.from(memories.values(), ({ indexed }) => indexed?.done))
}

function bring(runtime: Runtime, memory: Memory, body: KubeObject): void {
  const { indexed, served } = memory
  if (indexed === undefined || !isNewTo(indexed, body)) return
  if (runtime.large.isTooLarge(body)) {
    unindex(runtime, memory)
    return
  }
  const logger = loggerOf(runtime, body, { isLocal: true })
  const sight: Sight = {
    resource: served.resource,
    body,
    handlers: served.handlers.index,
    args: once(() => objectArgs(Object.assign(subjectOf(runtime, memory, logger), { body }))),
    logger,
    watch: runtime.watchOf(memory),
    reserve: () => runtime.large.reserveIndexing(body),
  }
  runtime.indexer.bring(indexed, sight)
}
