/** What handlers return and put into their patches, before it is written: plain JSON, under `status.<id>`. */
import { PermanentError } from '../../errors.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { isPlainObject, setOwn } from '../../util/json.ts'
import type { Wish } from '../patching/compose.ts'
import { mergeInto, type Patch, type PatchFunction, readPatch, takePatch, toPlainJson } from '../patching/patch.ts'
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

/**
 * Adds what an attempt wants to be different, and returns that alone. Also of an attempt that has failed: the handler may have put
 * something into its patch before.
 */
export function collectWish(
  wishes: Wishes,
  {
    handler,
    patch,
    outcome,
  }: { readonly handler: Handler; readonly patch: Patch<KubeObject>; readonly outcome: Outcome },
): Wish {
  const wish = takeWish(handler, patch)
  if (outcome.type === 'done' && outcome.result !== undefined && outcome.result !== null) {
    deliverResult(wish.merge, handler.id, outcome.result)
  }
  return add(wishes, wish)
}

/** The same for what a handler that is still running has put into its patch so far. */
export function collectPatch(wishes: Wishes, handler: Handler, patch: Patch<KubeObject>): Wish {
  return add(wishes, takeWish(handler, patch))
}

function add(wishes: Wishes, wish: Wish): Wish {
  mergeInto(wishes.merge, wish.merge)
  for (const fn of wish.fns) wishes.fns.push(fn)
  return wish
}

/** What was put into the patch and was not taken before. */
function takeWish({ id }: Handler, patch: Patch<KubeObject>): Wish {
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
