/** Calls the handlers of `on.event`: they see every event, store no progress on the object, and are not retried. Called by worker.ts. */
import { objectArgs } from '../handlers/args/object-args.ts'
import type { EventHandler } from '../handlers/handler.ts'
import { callHandler } from '../handlers/invoke.ts'
import { selectHandlers } from '../handlers/matching.ts'
import { collectHandlerPatch } from '../handlers/results.ts'
import type { KubeObject } from '../kube/objects.ts'
import { assignAll } from '../util/assign-all.ts'
import { lazy } from '../util/lazy.ts'
import { argsSourceOf, type Context, callContextOf } from './context.ts'
import { eventDefinition } from './event-definition.ts'
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
  readonly handler: EventHandler
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
  const { outcome, patch } = await callHandler(
    { ...callContextOf(context, object, run.logger), defaultBackoffMs: 0 },
    handler,
    {
      start: { startedMs: clock.now(), retries: 0 },
      body: () => body,
      args: (own) => assignAll(args(), own, { signal }),
    },
  )
  if (eventDefinition.keepsPatch!(handler, outcome)) collectHandlerPatch(run, { handler, patch, outcome })
}
