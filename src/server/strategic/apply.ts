/** Applies a strategic merge patch to an object of a typed kind, and decodes the result. Called by the strategies of kinds. */
import type { JsonObject } from '../../kube/objects.ts'
import { cloneJson } from '../../util/json/deep-equal.ts'
import type { Json } from '../../util/json/json.ts'
import { DecodeError } from '../builtins/decode.ts'
import type { Types } from '../builtins/types.ts'
import { fromUnstructured } from '../builtins/unstructured.ts'
import { invalid } from '../field-errors.ts'
import type { Merged } from '../resource.ts'
import { invalidObject, type StatusError } from '../status.ts'
import { printGo } from './go-values.ts'
import { mergeStrategically } from './merge.ts'

/** Throws a StatusError if the patch does not apply. Modifies the patch, as shown in messages; does not modify the object. */
export function applyStrategic(types: Types, type: string, current: object, patch: JsonObject): Merged {
  const merged = mergeStrategically(types, type, cloneJson(current as JsonObject), patch)
  try {
    const { object, problems } = fromUnstructured(types, type, merged)
    // A patch cannot change apiVersion and kind.
    const { apiVersion, kind } = current as JsonObject
    return { object: { ...object, apiVersion, kind } as JsonObject, problems }
  } catch (error) {
    throw error instanceof DecodeError ? rejectPatch(patch, error.message) : error
  }
}

/** A 422 that shows the patch and the problem of the patched object. */
export function rejectPatch(patch: Json, why: string): StatusError {
  return invalidObject('', '', '', [invalid('patch', printGo(patch), why)])
}
