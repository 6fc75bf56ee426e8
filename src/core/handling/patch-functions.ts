/**
 * Functions in the patch of a handler, with its name on them: they are called when the handler has long returned, and what
 * goes wrong in them must still be found by its author. Used by cycle.ts and by the handlers of events.
 */
import { KopfError } from '../../errors.ts'
import type { PatchFunction } from '../patching/patch.ts'
import { describeError } from './describe-error.ts'

export function nameFunctions<T>(fns: readonly PatchFunction<T>[], id: string): PatchFunction<T>[] {
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
