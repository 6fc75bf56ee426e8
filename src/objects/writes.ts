/**
 * Writes patches to an object, and accepts the responses as new states. Daemons and timers write at once; after a temporary failure, the worker of the object
 * writes their patches first. Patches of different handlers are written separately, so that a rejected patch does not affect the others.
 */
import { ApiError, isUnprocessable } from '../client/api-error.ts'
import { ConnectionError } from '../client/connection-error.ts'
import type { Handler } from '../handlers/handler.ts'
import { titleOf } from '../handlers/handler.ts'
import type { CollectedPatch } from '../handlers/results.ts'
import type { KubeObject } from '../kube/objects.ts'
import { canHaveCustomResources } from '../kube/resources/well-known.ts'
import type { Observer } from '../observer.ts'
import { applyPatch, type PatchResult, type PatchWriter } from '../patching/apply-patch.ts'
import { explainRefusal, findOrigin, type PatchAuthors } from '../patching/patch-authors.ts'
import { monotonicNow } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { toMs } from '../util/text/duration.ts'
import { type Context, objectLogger, observedObject } from './context.ts'
import type { StateSource } from './state/observed-state.ts'
import type { WatchedObject } from './state/watched-object.ts'

export type WritePurpose = Parameters<NonNullable<Observer['patchWritten']>>[0]['purpose']

/** Limits the remembered dropped fields of a built-in kind: handlers may generate field names. */
const maxDropped = 100

/** Limits the fields of one write whose handlers are searched: the author of an object may cause thousands of sub-handlers, each with a result. */
const maxSearched = 20

/** How a state has arrived. */
export interface StateOrigin {
  readonly from: StateSource
  /** The event of the watch; `null` for a listed object. */
  readonly event?: 'ADDED' | 'MODIFIED' | null
  /** The state is the response to a write, rather than that of another client, which was read after a conflict. */
  readonly isOwn?: boolean
}

/** Accepts a state; returns whether it is new. Reports states from responses to the features; states of the watch were reported on arrival. */
export function acceptState(
  context: Context,
  object: WatchedObject,
  body: KubeObject,
  { from, event, isOwn = false }: StateOrigin,
): boolean {
  const { state } = object
  const before = state.body
  const nowMs = monotonicNow(context.clock)
  const consistencyMs = toMs(context.settings.persistence.consistencyTimeout)
  const acceptance = state.accept(body, from, { nowMs, consistencyMs })
  if (acceptance === 'stale') context.observer?.staleStateDropped?.({ object: observedObject(object) })
  if (acceptance === 'held') context.timers.setAfter(object, state.heldForMs(nowMs))
  if (acceptance === 'new' && from !== 'watch') context.features.observed(object, body, from)
  if (acceptance === 'new') {
    context.observer?.stateObserved?.({
      object: observedObject(object),
      event,
      isOwn,
      before: before === body ? undefined : before,
      after: body,
    })
  }
  return acceptance === 'new'
}

export interface WritePatchOptions {
  readonly logger: Logger
  readonly patch: CollectedPatch
  readonly purpose: WritePurpose
}

/** Writes the patch after all earlier writes of the object, based on the newest state. A result without a body means that the object does not exist. */
export function writePatch(context: Context, object: WatchedObject, options: WritePatchOptions): Promise<PatchResult> {
  return object.writes.run(() => writeNow(context, object, options))
}

/** The state for which a request was planned, and its response. */
interface WrittenState {
  readonly before: KubeObject
  readonly after: KubeObject
}

async function writeNow(
  context: Context,
  object: WatchedObject,
  { logger, patch, purpose }: WritePatchOptions,
): Promise<PatchResult> {
  const writes: WrittenState[] | undefined = context.observer?.patchWritten && []
  const writer = writerOf(context, object, { logger, patch, purpose, writes })
  const result = await applyPatch(writer, object.body, patch).catch((error) => {
    throw isUnprocessable(error) ? explainRefusal(error, describeTarget(error, object), patch.authors) : error
  })
  if (result.body === undefined) object.state.markNotFound()
  if (result.requests > 0) {
    context.observer?.patchWritten?.({
      object: observedObject(object),
      purpose,
      requests: result.requests,
      writes: writes ?? [],
      authors: patch.authors,
    })
  }
  return result
}

/** `the status of default/web` */
function describeTarget({ path }: ApiError, { body }: WatchedObject): string {
  const { name, namespace } = body.metadata
  const part = path.endsWith('/status') ? 'the status of ' : ''
  return `${part}${namespace === undefined ? '' : `${namespace}/`}${name}`
}

function writerOf(
  context: Context,
  object: WatchedObject,
  { logger, patch: { authors }, purpose, writes }: WritePatchOptions & { readonly writes: WrittenState[] | undefined },
): PatchWriter {
  return {
    session: context.session,
    resource: object.served.resource,
    logger,
    signal: context.writesSignal,
    purpose,
    onResponse: (body, base) => {
      if (base !== undefined) writes?.push({ before: base, after: body })
      acceptState(context, object, body, { from: 'write', isOwn: base !== undefined })
    },
    onDropped: (fields) => recordDropped(context, object, { fields, authors }),
    dropped: object.served.droppedFields,
  }
}

/**
 * Warns once per handler that the server drops a status field of it. The usual cause is a value that the handler returns without intention. Fields of the
 * framework have warnings of their own (change-handling.ts).
 */
function recordDropped(
  { warnOnce }: Context,
  { served }: WatchedObject,
  { fields, authors }: { readonly fields: readonly string[]; readonly authors: PatchAuthors },
): void {
  const isCustom = canHaveCustomResources(served.resource.group)
  for (const [index, field] of fields.entries()) {
    // The schema of a CRD may get the field at any time; the schema of a built-in kind does not.
    if (!isCustom && served.droppedFields.size < maxDropped) served.droppedFields.add(field)
    const origin = index < maxSearched ? findOrigin(authors, field) : undefined
    if (origin === undefined || origin.type === 'function') continue
    const [verb, remedy] =
      origin.type === 'result'
        ? ['has returned', 'return nothing from the handler']
        : ['has written', 'do not write it']
    const schema = isCustom
      ? ', name the field in the schema, or let the status preserve unknown fields (x-kubernetes-preserve-unknown-fields)'
      : ''
    warnOnce(
      served.resource,
      // One warning for a handler and all its sub-handlers, whose ids the author of an object may choose.
      `dropped of ${origin.id.split('/', 1)}`,
      `The API server drops the field "${field}", which handler "${origin.id}" ${verb}, as the schema does not have it; ${remedy}${schema}`,
    )
  }
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
    logFailure(context, object, { handler, failure: 'could not be written yet', error })
  }
  // The response may contain changes by other clients, which the worker has to handle.
  context.queue.put(object, { type: 'wake' })
}

/** Writes the patches that daemons and timers could not write themselves. Rejects on a temporary failure. */
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
      if (!isTransient(error)) return logFailure(context, object, { handler, failure: 'could not be written', error })
      writes.returnBackground(handler, patch)
      throw error
    }
  })
}

/** Whether a retry may succeed: the server is not reachable or overloaded, or the object has changed. All other errors are final. */
function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionError) return true
  return error instanceof ApiError && (error.status >= 500 || [401, 408, 409, 429].includes(error.status))
}

function logFailure(
  context: Context,
  { body }: WatchedObject,
  { handler, failure, error }: { readonly handler: Handler; readonly failure: string; readonly error: unknown },
): void {
  const message = `${titleOf(handler)}: its patch ${failure}: ${describeError(error)}`
  objectLogger(context, body).error(message)
}
