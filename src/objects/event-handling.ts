/** Calls the handlers of `on.event`: they see every event, store no progress on the object, and are not retried. Called by worker.ts. */
import { createConditions } from '../handlers/args/conditions.ts'
import { objectArgs } from '../handlers/args/object-args.ts'
import type { Handler } from '../handlers/handler.ts'
import { attemptHandler } from '../handlers/invoke.ts'
import { selectHandlers } from '../handlers/matching.ts'
import { checkResult, collectHandlerPatch } from '../handlers/results.ts'
import type { KubeObject } from '../kube/objects.ts'
import { createPatch } from '../patching/patch.ts'
import { assignAll } from '../util/assign-all.ts'
import { lazy } from '../util/lazy.ts'
import { argsSourceOf, type Context } from './context.ts'
import type { ProcessingRun } from './processing-run.ts'
import type { WatchedObject } from './state/watched-object.ts'

/** A watch event; the type is null for listed objects. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | null
  readonly object: KubeObject
}

export async function callEventHandlers(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  event: WatchEvent,
): Promise<void> {
  const handlers = object.served.handlers.event
  if (handlers.length === 0 || context.largeObjects.isTooLarge(event.object)) return
  if (context.largeObjects.isParsedInTurn(event.object)) await run.held.hold(event.object)
  const args = lazy(() =>
    assignAll(objectArgs({ ...argsSourceOf(context, object, run.logger), body: event.object }), { event }),
  )
  const match = { resource: object.served.resource, body: event.object, args }
  const body = event.object
  for (const handler of selectHandlers(handlers, match))
    await callEventHandler(context, object, run, { handler, body, args })
}

interface EventCall {
  readonly handler: Handler
  readonly body: KubeObject
  readonly args: () => object
}

async function callEventHandler(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  { handler, body, args }: EventCall,
): Promise<void> {
  const { clock, handlersSignal: signal } = context
  const patch = createPatch<KubeObject>()
  const conditions = createConditions({ patch, body: () => body, clock, handler })
  const progress = { startedMs: clock.now(), retries: 0 }
  const options = {
    clock,
    watch: context.callWatchOf(object),
    logger: run.logger,
    defaultBackoffMs: 0,
  }
  const outcome = await attemptHandler(options, handler, progress, {
    args: () => assignAll(args(), { param: handler.param, signal, patch, conditions }),
    finish: (result) => checkResult(handler, patch, result),
  })
  if (outcome.type === 'done' && outcome.ignoredError === undefined)
    collectHandlerPatch(run, { handler, patch, outcome })
}
