/** How long an object has been as it is, for timers that wait until its changes have settled. Told of every state at once. */
import { digestEssence } from '../core/causation/essence-digest.ts'
import { essenceOf } from '../core/handling/compare.ts'
import { isOlder } from '../core/watching/versions.ts'
import type { KubeObject } from '../kube/objects.ts'
import { monotonicOf } from '../util/clock.ts'
import { shareText } from '../util/lazy-json.ts'
import type { Memory, Served } from './memories.ts'
import type { Runtime } from './runtime.ts'

/** What counts is the essence: neither the status nor what we store. Kopf lets every event count where nothing was stored. */
export function noteState(runtime: Runtime, memory: Memory, object: KubeObject): void {
  // What has not changed of a large object is parsed and digested once.
  shareText(object, memory.body)
  if (!memory.served.hasIdling || runtime.large.isTooLarge(object)) return
  const { essence: before } = memory
  const { resourceVersion } = object.metadata
  // What came last need not be the last: the answer to a write may come after the event of a later change.
  if (before !== undefined && isOlder(resourceVersion, before.version)) return
  memory.essence = { digest: digest(runtime, memory.served, object), version: resourceVersion }
  // Of the first state it is known since when: since the memory of it was made.
  if (before === undefined || before.digest === memory.essence.digest) return
  memory.changedMs = monotonicOf(runtime.clock)
  if (memory.tasks !== undefined) runtime.background.noteChange(memory.tasks)
}

function digest({ settings }: Runtime, { handlers: { extraFields } }: Served, body: KubeObject): string {
  return digestEssence(essenceOf(settings, { body, extraFields }))
}
