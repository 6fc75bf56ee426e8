/** PATCH of an object or of its status: JSON patch and merge patch; a configuration to be applied is apply.ts' business. */

import type { KubeObject } from '../../kube/objects.ts'
import { goJson } from '../../util/go-json.ts'
import type { Json } from '../../util/json.ts'
import type { Answer, Call } from '../call.ts'
import { decodeProblems, decodeTyped } from '../decode.ts'
import { parseWriteOptions, type WriteOptions } from '../options.ts'
import { applyPatchBody, parsePatchType, rejectPatched, toPatchError } from '../patches.ts'
import { checkAcceptable, writtenAnswer } from '../representation.ts'
import { apply } from './apply.ts'
import type { Part } from './change.ts'
import { managerOf } from './owning.ts'
import { dropDuplicateOwners, matchName, matchNamespace } from './place.ts'
import { applyUpdate } from './update.ts'

export async function patch(call: Call): Promise<Answer> {
  const contentType = call.headers['content-type'] ?? ''
  const type = parsePatchType(contentType, { isCustom: call.resource.isCustom === true })
  checkAcceptable(call)
  if (type === 'apply') return apply(call)
  const options = parseWriteOptions(call.query, 'PatchOptions', contentType)
  const part = call.path.subresource as Part
  const change = (current: KubeObject) => patched(call, options, current)
  const update = {
    change,
    isFresh: true,
    part,
    dryRun: options.dryRun,
    warnings: call.warnings,
    manager: managerOf(call),
  }
  const written = applyUpdate(call, update)
  return writtenAnswer(call, 200, written instanceof Promise ? await written : written)
}

/** Hardly ever needed, and as dear as all the rest: only messages show it. A class, for a getter of its own would outlive it. */
class TextOnDemand {
  readonly isStrict = true
  readonly isPatched = true
  readonly #object: object

  constructor(object: object) {
    this.#object = object
  }

  get text(): string {
    return goJson(this.#object)
  }
}

function patched(call: Call, { fieldValidation }: WriteOptions, current: KubeObject): KubeObject {
  const contentType = call.headers['content-type'] ?? ''
  const isCustom = call.resource.isCustom === true
  const result = applyPatchBody(contentType, call.body, current, { isCustom, fieldValidation })
  try {
    const { object, problems } = decodeTyped(call, result.object, new TextOnDemand(result.object))
    const all = [...result.problems, ...problems]
    if (all.length > 0 && fieldValidation === 'Strict') throw rejectPatched(result.object as Json, decodeProblems(all))
    if (fieldValidation === 'Warn') call.warnings.push(...all)
    matchName(call, object)
    matchNamespace(call, object)
    dropDuplicateOwners(object, call.warnings, true)
    return object
  } catch (error) {
    throw toPatchError(result.object as Json, error)
  }
}
