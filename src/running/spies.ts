/** on.event handlers: they see every event, store nothing of their own, and their errors are nobody's but theirs. */

import { createConditions } from '../core/handling/conditions.ts'
import type { Handler } from '../core/handling/handler.ts'
import { attempt } from '../core/handling/invoke.ts'
import { checkResult, collectWish } from '../core/handling/results.ts'
import { selectHandlers } from '../core/handling/select.ts'
import { objectArgs } from '../core/handling/subject.ts'
import { createPatch } from '../core/patching/patch.ts'
import type { KubeObject } from '../kube/objects.ts'
import { join } from '../util/join.ts'
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
  if (spies.length === 0 || runtime.large.isTooLarge(event.object)) return
  if (runtime.large.isParsedInTurn(event.object)) await visit.held.hold(event.object)
  const args = once(() =>
    join(objectArgs({ ...subjectOf(runtime, memory, visit.logger), body: event.object }), { event }),
  )
  const situation = { resource: memory.served.resource, body: event.object, args }
  const body = event.object
  for (const handler of selectHandlers(spies, situation)) await callSpy(runtime, memory, visit, { handler, body, args })
}

interface SpyCall {
  readonly handler: Handler
  readonly body: KubeObject
  readonly args: () => object
}

async function callSpy(
  runtime: Runtime,
  memory: Memory,
  visit: Visit,
  { handler, body, args }: SpyCall,
): Promise<void> {
  const { clock, signal } = runtime
  const patch = createPatch<KubeObject>()
  const conditions = createConditions({ patch, body: () => body, clock, handler })
  const progress = { startedMs: clock.now(), retries: 0 }
  const options = {
    clock,
    watch: runtime.watchOf(memory),
    logger: visit.logger,
    defaultBackoffMs: 0,
  }
  const outcome = await attempt(options, handler, progress, {
    args: () => join(args(), { param: handler.param, signal, patch, conditions }),
    finish: (result) => checkResult(handler, patch, result),
  })
  if (outcome.type === 'done' && outcome.ignoredError === undefined) collectWish(visit, { handler, patch, outcome })
}
