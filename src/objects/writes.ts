/**
 * Writes patches to an object, and takes over what the server answers. Daemons and timers write at once; if that fails for a while, the worker of
 * the object writes their patches before anything else. The patches of different handlers are written apart: a patch that the server rejects
 * takes nothing of the others along.
 */
import { ApiError } from '../client/api-error.ts'
import { ConnectionError } from '../client/connection-error.ts'
import type { Handler } from '../handlers/handler.ts'
import { titleOf } from '../handlers/handler.ts'
import type { CollectedPatch } from '../handlers/results.ts'
import type { KubeObject } from '../kube/objects.ts'
import { canHaveCustomResources } from '../kube/resources/well-known.ts'
import type { Observer } from '../observer.ts'
import { applyPatch, type PatchResult, type PatchWriter } from '../patching/apply-patch.ts'
import { monotonicNow } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { toMs } from '../util/text/duration.ts'
import { type Context, objectLogger, observedObject } from './context.ts'
import type { StateSource } from './state/observed-state.ts'
import type { WatchedObject } from './state/watched-object.ts'

export type WritePurpose = Parameters<NonNullable<Observer['patchWritten']>>[0]['purpose']

/** At most so many dropped fields of a built-in kind are remembered: handlers may make up field names. */
const maxDropped = 100

/** Whether the state is news. States that come from responses are shown to the features here; those of the watch are when they are delivered. */
export function acceptState(context: Context, object: WatchedObject, body: KubeObject, from: StateSource): boolean {
  const { state } = object
  const nowMs = monotonicNow(context.clock)
  const consistencyMs = toMs(context.settings.persistence.consistencyTimeout)
  const acceptance = state.accept(body, from, { nowMs, consistencyMs })
  if (acceptance === 'held') context.timers.setAfter(object, state.heldForMs(nowMs))
  if (acceptance === 'new' && from !== 'watch') context.features.observed(object, body, from)
  return acceptance === 'new'
}

export interface WritePatchOptions {
  readonly logger: Logger
  readonly patch: CollectedPatch
  readonly purpose: WritePurpose
}

/** Applies the patch to the state that is the newest when its turn comes. An answer without a body says that the object does not exist. */
export function writePatch(context: Context, object: WatchedObject, options: WritePatchOptions): Promise<PatchResult> {
  return object.writes.run(() => writeNow(context, object, options))
}

async function writeNow(
  context: Context,
  object: WatchedObject,
  { logger, patch, purpose }: WritePatchOptions,
): Promise<PatchResult> {
  const result = await applyPatch(writerOf(context, object, logger), object.body, patch)
  if (result.body === undefined) object.state.markNotFound()
  if (result.requests > 0) {
    context.observer?.patchWritten?.({ object: observedObject(object), purpose, requests: result.requests })
  }
  return result
}

function writerOf(context: Context, object: WatchedObject, logger: Logger): PatchWriter {
  return {
    session: context.session,
    resource: object.served.resource,
    logger,
    signal: context.writesSignal,
    onResponse: (body) => void acceptState(context, object, body, 'write'),
    onDropped: (field) => recordDropped(context, object, field),
    dropped: object.served.droppedFields,
  }
}

/** The usual cause is the result of a handler that the schema has no field for: without the warning its author does not learn why it is missing. */
function recordDropped({ warnOnce }: Context, { served }: WatchedObject, field: string): void {
  const isCustom = canHaveCustomResources(served.resource.group)
  // A CRD may get the field at any time; a built-in kind does not.
  if (!isCustom && served.droppedFields.size < maxDropped) served.droppedFields.add(field)
  const advice = isCustom ? 'let the schema preserve unknown fields in the status, name the field in it, or' : ''
  warnOnce(
    served.resource,
    'dropped',
    `What handlers write to the status does not all stay there: "${field}" is dropped, as the schema does not have it; ` +
      `${advice} return nothing from the handler`.trimStart(),
  )
}

/** Writes the patch of a daemon or timer. Resolves when it is written, rejected by the server, or left to the worker. */
export async function writeBackgroundPatch(
  context: Context,
  object: WatchedObject,
  { handler, patch }: { readonly handler: Handler; readonly patch: CollectedPatch },
): Promise<void> {
  object.writes.addBackground(handler, patch)
  try {
    await writeBackground(context, object, handler)
  } catch (error) {
    logFailure(context, object, { handler, words: 'could not be written yet', error })
  }
  // The answer may hold changes of others.
  context.queue.put(object, { type: 'wake' })
}

/** Writes what daemons and timers could not write themselves. Rejects as long as that fails for a while. */
export async function writePendingPatches(context: Context, object: WatchedObject): Promise<void> {
  for (const handler of object.writes.backgroundHandlers()) await writeBackground(context, object, handler)
}

function writeBackground(context: Context, object: WatchedObject, handler: Handler): Promise<void> {
  const { writes } = object
  return writes.run(async () => {
    const patch = writes.takeBackground(handler)
    if (patch === undefined) return
    try {
      await writeNow(context, object, { logger: objectLogger(context, object.body), patch, purpose: 'background' })
    } catch (error) {
      if (!isTransient(error)) return logFailure(context, object, { handler, words: 'could not be written', error })
      writes.returnBackground(handler, patch)
      throw error
    }
  })
}

/** The server is not reached, is overloaded, or the object has changed. All other errors are final. */
function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionError) return true
  return error instanceof ApiError && (error.status >= 500 || [401, 408, 409, 429].includes(error.status))
}

function logFailure(
  context: Context,
  { body }: WatchedObject,
  { handler, words, error }: { readonly handler: Handler; readonly words: string; readonly error: unknown },
): void {
  const message = `${titleOf(handler)}: what it wanted to change ${words}: ${describeError(error)}`
  objectLogger(context, body).error(message)
}
