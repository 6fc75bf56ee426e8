/** What handlers return and put into their patches, before it is written: plain JSON, under `status.<id>`. */
import { PermanentError } from '../../errors.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { isPlainObject, setOwn } from '../../util/json.ts'
import { mergeInto, type Patch, type PatchFunction, readPatch, toPlainJson } from '../patching/patch.ts'
import type { Handler } from './handler.ts'
import { describeError, type Outcome } from './outcomes.ts'
import { nameFunctions } from './patch-functions.ts'

/** What handlers want to be different, in the order they finished. */
export interface Wishes {
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

/** Also of what has failed: it may have put something into its patch before. */
export function collectWish(
  wishes: Wishes,
  {
    handler,
    patch,
    outcome,
  }: { readonly handler: Handler; readonly patch: Patch<KubeObject>; readonly outcome: Outcome },
): void {
  try {
    const { merge, fns } = readPatch(patch as Patch<never>)
    mergeInto(wishes.merge, merge)
    for (const fn of nameFunctions(fns, handler.id)) wishes.fns.push(fn)
  } catch {
    // The attempt has failed for it already.
  }
  if (outcome.type !== 'done' || outcome.result === undefined || outcome.result === null) return
  deliverResult(wishes.merge, handler.id, outcome.result)
}

/** Mappings are merged with what is there, key by key; anything else takes its place. */
function deliverResult(merge: JsonObject, id: string, result: unknown): void {
  const status = isPlainObject(merge['status']) ? merge['status'] : {}
  merge['status'] = status
  const current = Object.hasOwn(status, id) ? status[id] : undefined
  if (isPlainObject(result) && isPlainObject(current)) mergeInto(current, result)
  else setOwn(status, id, result as never)
}
