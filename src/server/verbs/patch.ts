/** PATCH of an object or of its status: JSON patch, merge patch, strategic merge patch; a configuration to be applied is apply.ts' business. */

import type { KubeObject } from '../../kube/objects.ts'
import { goJson } from '../../util/go-json.ts'
import { isPlainObject, type Json } from '../../util/json.ts'
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
  readonly #show: () => Json

  constructor(show: () => Json) {
    this.#show = show
  }

  get text(): string {
    return goJson(this.#show())
  }
}

/** Whether who owns what may be read or written by a patch: by name, or with all of the metadata. */
const concernsOwners = /managedFields|"(?:from|path)"\s*:\s*"(?:\/metadata)?"/

/** Who owns what is worked out anew in any case, and is as large as all the rest: most patches are applied without it. */
function withoutOwners({ metadata, ...fields }: KubeObject): KubeObject {
  const { managedFields: _, ...rest } = metadata
  return { ...fields, metadata: rest } as KubeObject
}

/** For messages, which show all of the object. */
function withOwners(patched: Json, { metadata }: KubeObject): Json {
  if (!isPlainObject(patched) || !isPlainObject(patched['metadata']) || !metadata.managedFields) return patched
  return { ...patched, metadata: { ...patched['metadata'], managedFields: metadata.managedFields } }
}

function patched(call: Call, { fieldValidation }: WriteOptions, current: KubeObject): KubeObject {
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
