/** PATCH of an object or its status: JSON patch, merge patch, strategic merge patch. Server-side apply is in apply.ts. */

import type { KubeObject } from '../../kube/objects.ts'
import { goJson } from '../../util/json/go-json.ts'
import { isPlainObject, type Json } from '../../util/json/json.ts'
import type { ApiResponse, ResourceCall } from '../call.ts'
import { decodeProblems, decodeTyped } from '../decode.ts'
import { parseWriteOptions, type WriteRequestOptions } from '../options.ts'
import { applyPatchBody, parsePatchType, rejectPatched, toPatchError } from '../patches.ts'
import { checkAcceptable, writtenAnswer } from '../representation.ts'
import { apply } from './apply.ts'
import type { UpdatePart } from './change.ts'
import { managerOf } from './owning.ts'
import { dropDuplicateOwners, matchName, matchNamespace } from './place.ts'
import { applyUpdate } from './update.ts'

export async function patch(call: ResourceCall): Promise<ApiResponse> {
  const contentType = call.headers['content-type'] ?? ''
  const type = parsePatchType(contentType, { isCustom: call.resource.isCustom === true })
  checkAcceptable(call)
  if (type === 'apply') return apply(call)
  const options = parseWriteOptions(call.query, 'PatchOptions', contentType)
  const part = call.path.subresource as UpdatePart
  const change = (current: KubeObject) => patched(call, options, current)
  const update = {
    change,
    returnsNewObject: true,
    part,
    dryRun: options.dryRun,
    warnings: call.warnings,
    manager: managerOf(call),
  }
  const written = applyUpdate(call, update)
  return writtenAnswer(call, 200, written instanceof Promise ? await written : written)
}

/**
 * Serialised lazily: used in error messages only, and as expensive as the patch itself. A class, because an object literal with a
 * getter would outlive the request.
 */
class TextOnDemand {
  readonly isStrict = true
  readonly isPatched = true
  readonly #show: () => Json

  constructor(show: () => Json) {
    this.#show = show
  }

  get text(): string {
    return goJson(this.#show())
  }
}

/** True if a patch may read or write managedFields: by name, or with the whole metadata. */
const concernsOwners = /managedFields|"(?:from|path)"\s*:\s*"(?:\/metadata)?"/

/** managedFields are recomputed in any case and are as large as the object, so most patches are applied without them. */
function withoutOwners({ metadata, ...fields }: KubeObject): KubeObject {
  const { managedFields: _, ...rest } = metadata
  return { ...fields, metadata: rest } as KubeObject
}

/** For error messages, which show the whole object. */
function withOwners(patched: Json, { metadata }: KubeObject): Json {
  if (!isPlainObject(patched) || !isPlainObject(patched['metadata']) || !metadata.managedFields) return patched
  return { ...patched, metadata: { ...patched['metadata'], managedFields: metadata.managedFields } }
}

function patched(call: ResourceCall, { fieldValidation }: WriteRequestOptions, current: KubeObject): KubeObject {
  const contentType = call.headers['content-type'] ?? ''
  const { isCustom = false, strategy } = call.resource
  const { mergeStrategically } = strategy
  const isBare = !concernsOwners.test(call.body)
  const base = isBare ? withoutOwners(current) : current
  const result = applyPatchBody(contentType, call.body, base, { isCustom, mergeStrategically, fieldValidation })
  const shown = (): Json => (isBare ? withOwners(result.object, current) : result.object)
  try {
    const { object, problems } = decodeTyped(call, result.object, new TextOnDemand(shown))
    const all = [...result.problems, ...problems]
    if (all.length > 0 && fieldValidation === 'Strict') throw rejectPatched(shown(), decodeProblems(all))
    if (fieldValidation === 'Warn') call.warnings.push(...all)
    matchName(call, object)
    matchNamespace(call, object)
    dropDuplicateOwners(object, call.warnings, true)
    return object
  } catch (error) {
    throw toPatchError(shown, error)
  }
}
