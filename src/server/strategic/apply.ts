/** A strategic merge patch on an object of a typed kind: merged, and fitted to the type. The strategies of kinds call this. */
import type { JsonObject } from '../../kube/objects.ts'
import { cloneJson } from '../../util/equality.ts'
import type { Json } from '../../util/json.ts'
import { DecodeError } from '../builtins/decode.ts'
import type { Types } from '../builtins/types.ts'
import { fromUnstructured } from '../builtins/unstructured.ts'
import { invalid } from '../field-errors.ts'
import type { Merged } from '../resource.ts'
import { invalidObject, type StatusError } from '../status.ts'
import { printGo } from './go-values.ts'
import { mergeStrategically } from './merge.ts'

/** Throws a StatusError where the patch does not apply. Changes the patch, as messages about it show; not the object. */
export function applyStrategic(types: Types, type: string, current: object, patch: JsonObject): Merged {
  const merged = mergeStrategically(types, type, cloneJson(current as JsonObject), patch)
  try {
    const { object, problems } = fromUnstructured(types, type, merged)
    // Whatever a patch says of the type, the object is what it was.
    const { apiVersion, kind } = current as JsonObject
    return { object: { ...object, apiVersion, kind } as JsonObject, problems }
  } catch (error) {
    throw error instanceof DecodeError ? rejectPatch(patch, error.message) : error
  }
}

/** A 422 that shows the patch, and what is wrong with what it made. */
export function rejectPatch(patch: Json, why: string): StatusError {
  return invalidObject('', '', '', [invalid('patch', printGo(patch), why)])
}
