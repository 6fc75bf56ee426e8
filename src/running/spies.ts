/** on.event handlers: they see every event, store nothing of their own, and their errors are nobody's but theirs. */

import type { Handler } from '../core/handling/handler.ts'
import { attempt } from '../core/handling/invoke.ts'
import { nameFunctions } from '../core/handling/patch-functions.ts'
import { deliverResult } from '../core/handling/results.ts'
import { selectHandlers } from '../core/handling/select.ts'
import { objectArgs } from '../core/handling/subject.ts'
import { createPatch, mergeInto, type Patch, readPatch, toPlainJson } from '../core/patching/patch.ts'
import type { KubeObject } from '../kube/objects.ts'
import { once } from '../util/once.ts'
import type { Memory } from './memories.ts'
import { type Runtime, subjectOf } from './runtime.ts'
import type { Visit } from './visit.ts'

/** The event as it came over the wire; the type is null for objects that were listed. */
export interface RawEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | null
  readonly object: KubeObject
}

export async function callSpies(runtime: Runtime, memory: Memory, visit: Visit, event: RawEvent): Promise<void> {
  const spies = memory.served.handlers.event
  if (spies.length === 0) return
  const args = once(() => ({
    ...objectArgs({ ...subjectOf(runtime, memory, visit.logger), body: event.object }),
    event,
  }))
  const situation = { resource: memory.served.resource, body: event.object, args }
  for (const handler of selectHandlers(spies, situation)) await callSpy(runtime, memory, visit, { handler, args })
}

interface SpyCall {
  readonly handler: Handler
  readonly args: () => object
}

async function callSpy(runtime: Runtime, memory: Memory, visit: Visit, { handler, args }: SpyCall): Promise<void> {
  const { clock, signal } = runtime
  const patch = createPatch<KubeObject>()
  const progress = { startedMs: clock.now(), retries: 0 }
  const options = {
    clock,
    watch: runtime.watchOf(memory),
    logger: visit.logger,
    defaultBackoffMs: 0,
    what: 'Handler' as const,
  }
  const outcome = await attempt(options, handler, progress, {
    args: () => ({ ...args(), param: handler.param, signal, patch }),
    finish: (result) => {
      readPatch(patch as Patch<never>)
      return toPlainJson(result)
    },
  })
  if (outcome.type !== 'done' || outcome.ignoredError !== undefined) return
  const { merge, fns } = readPatch(patch as Patch<never>)
  mergeInto(visit.merge, merge)
  visit.fns.push(...nameFunctions(fns, handler.id))
  if (outcome.result !== undefined && outcome.result !== null) deliverResult(visit.merge, handler.id, outcome.result)
}
