/** Collects the results and patches of handlers before they are written: results go to `status.<id>` and must be JSON. */
import { KopfError, PermanentError } from '../errors.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { mergeInto, type Patch, type PatchFunction, readPatch, takePatch, toPlainJson } from '../patching/patch.ts'
import { addAuthor, type PatchAuthors } from '../patching/patch-authors.ts'
import type { PendingPatch } from '../patching/plan-patch.ts'
import { isPlainObject, setOwn } from '../util/json/json.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Handler } from './handler.ts'
import type { Outcome } from './outcomes.ts'

/** The changes that handlers have asked for, in the order in which the handlers finished. */
export interface CollectedPatch {
  readonly merge: JsonObject
  readonly fns: PatchFunction<KubeObject>[]
  /** The parts of the handlers: messages about a field name the handler that has set it. */
  readonly authors: PatchAuthors
}

export function createCollectedPatch(): CollectedPatch {
  return { merge: {}, fns: [], authors: new Map() }
}

/** Fails the handler permanently if its result or patch is not JSON: the API server would reject it in every attempt. */
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

/** Adds the result and the patch of an attempt, and returns only these. The patch counts even if the attempt failed. */
export function collectHandlerPatch(
  collected: CollectedPatch,
  {
    handler,
    patch,
    outcome,
  }: { readonly handler: Handler; readonly patch: Patch<KubeObject>; readonly outcome: Outcome },
): PendingPatch {
  const pending = takeHandlerPatch(handler, patch)
  const hasResult = outcome.type === 'done' && outcome.result !== undefined && outcome.result !== null
  if (hasResult) deliverResult(pending.merge, handler.id, outcome.result)
  return add(collected, pending, { id: handler.id, hasResult })
}

/** Adds the patch of a handler that is still running, as far as it is filled, and returns only that. */
export function collectPatch(collected: CollectedPatch, handler: Handler, patch: Patch<KubeObject>): PendingPatch {
  return add(collected, takeHandlerPatch(handler, patch), { id: handler.id, hasResult: false })
}

function add(
  collected: CollectedPatch,
  pending: PendingPatch,
  { id, hasResult }: { readonly id: string; readonly hasResult: boolean },
): PendingPatch {
  mergeInto(collected.merge, pending.merge)
  for (const fn of pending.fns) collected.fns.push(fn)
  addAuthor(collected.authors, id, { merge: pending.merge, hasFunctions: pending.fns.length > 0, hasResult })
  return pending
}

/** Takes the changes out of the patch that were added since the last call. */
function takeHandlerPatch({ id }: Handler, patch: Patch<KubeObject>): PendingPatch {
  try {
    const { merge, fns } = takePatch(patch as Patch<never>)
    return { merge, fns: nameFunctions(fns, id) }
  } catch {
    // The patch is not JSON: `checkResult` fails the attempt for it.
    return { merge: {}, fns: [] }
  }
}

/** Merges an object key by key with the present value; any other result replaces it. */
function deliverResult(merge: JsonObject, id: string, result: unknown): void {
  const status = isPlainObject(merge['status']) ? merge['status'] : {}
  merge['status'] = status
  const current = Object.hasOwn(status, id) ? status[id] : undefined
  if (isPlainObject(result) && isPlainObject(current)) mergeInto(current, result)
  else setOwn(status, id, result as never)
}

/** Wraps the functions of a patch, so that their errors name the handler: they are called after the handler has returned. */
function nameFunctions<T>(fns: readonly PatchFunction<T>[], id: string): PatchFunction<T>[] {
  return fns.map((fn) => (body) => {
    let answer: unknown
    try {
      answer = fn(body)
    } catch (error) {
      throw failed(id, describeError(error), error)
    }
    if (!(answer instanceof Promise)) return
    // The promise is not awaited: an unhandled rejection must not end the process.
    answer.catch(() => undefined)
    throw failed(id, 'it is async, and the object would be sent before it is done')
  })
}

function failed(id: string, why: string, cause?: unknown): KopfError {
  const message = `Cannot edit the object with a function in the patch of handler "${id}": ${why}`
  return new KopfError('KOPF_PATCH_FUNCTION', message, { cause })
}
