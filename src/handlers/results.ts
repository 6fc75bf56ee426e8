/** What handlers return and put into their patches, before it is written: plain JSON, under `status.<id>`. */
import { KopfError, PermanentError } from '../errors.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { mergeInto, type Patch, type PatchFunction, readPatch, takePatch, toPlainJson } from '../patching/patch.ts'
import type { PendingPatch } from '../patching/plan-patch.ts'
import { isPlainObject, setOwn } from '../util/json/json.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Handler } from './handler.ts'
import type { Outcome } from './outcomes.ts'

/** What handlers want to be different, in the order they finished. */
export interface CollectedPatch {
  readonly merge: JsonObject
  readonly fns: PatchFunction<KubeObject>[]
}

/** What JSON cannot hold would be refused by the API for ever: that is told now, and to the right one. */
export function checkResult(handler: Handler, patch: Patch<KubeObject>, result: unknown): unknown {
  try {
    readPatch(patch as Patch<never>)
  } catch (error) {
    throw new PermanentError(`Cannot write the patch of handler "${handler.id}": ${describeError(error)}`)
  }
  try {
    return toPlainJson(result)
  } catch (error) {
    throw new PermanentError(
      `Cannot store what handler "${handler.id}" returned under status: ${describeError(error)}; return plain data, or nothing`,
    )
  }
}

/**
 * Adds what an attempt wants to be different, and returns that alone. Also of an attempt that has failed: the handler may have put
 * something into its patch before.
 */
export function collectHandlerPatch(
  collected: CollectedPatch,
  {
    handler,
    patch,
    outcome,
  }: { readonly handler: Handler; readonly patch: Patch<KubeObject>; readonly outcome: Outcome },
): PendingPatch {
  const pending = takeHandlerPatch(handler, patch)
  if (outcome.type === 'done' && outcome.result !== undefined && outcome.result !== null) {
    deliverResult(pending.merge, handler.id, outcome.result)
  }
  return add(collected, pending)
}

/** The same for what a handler that is still running has put into its patch so far. */
export function collectPatch(collected: CollectedPatch, handler: Handler, patch: Patch<KubeObject>): PendingPatch {
  return add(collected, takeHandlerPatch(handler, patch))
}

function add(collected: CollectedPatch, pending: PendingPatch): PendingPatch {
  mergeInto(collected.merge, pending.merge)
  for (const fn of pending.fns) collected.fns.push(fn)
  return pending
}

/** What was put into the patch and was not taken before. */
function takeHandlerPatch({ id }: Handler, patch: Patch<KubeObject>): PendingPatch {
  try {
    const { merge, fns } = takePatch(patch as Patch<never>)
    return { merge, fns: nameFunctions(fns, id) }
  } catch {
    // The patch holds what JSON cannot: `checkResult` has failed the attempt for it, or will.
    return { merge: {}, fns: [] }
  }
}

/** Mappings are merged with what is there, key by key; anything else takes its place. */
function deliverResult(merge: JsonObject, id: string, result: unknown): void {
  const status = isPlainObject(merge['status']) ? merge['status'] : {}
  merge['status'] = status
  const current = Object.hasOwn(status, id) ? status[id] : undefined
  if (isPlainObject(result) && isPlainObject(current)) mergeInto(current, result)
  else setOwn(status, id, result as never)
}

/**
 * Functions in the patch of a handler, with its name on them: they are called when the handler has long returned, and what
 * goes wrong in them must still be found by its author. Used by cycle.ts and by the handlers of events.
 */

function nameFunctions<T>(fns: readonly PatchFunction<T>[], id: string): PatchFunction<T>[] {
  return fns.map((fn) => (body) => {
    let answer: unknown
    try {
      answer = fn(body)
    } catch (error) {
      throw failed(id, describeError(error), error)
    }
    if (!(answer instanceof Promise)) return
    // Nobody waits for it; its failure must not end the process.
    answer.catch(() => undefined)
    throw failed(id, 'it is async, and the object would be sent before it is done')
  })
}

function failed(id: string, why: string, cause?: unknown): KopfError {
  const message = `Cannot edit the object with a function in the patch of handler "${id}": ${why}`
  return new KopfError('KOPF_PATCH_FUNCTION', message, { cause })
}
