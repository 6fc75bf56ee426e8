/** The scale subresource: replicas, read and written without knowing the kind. */

import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import type { Json } from '../../util/json.ts'
import { parseBody } from '../body.ts'
import type { Answer, Call } from '../call.ts'
import { applyScale, type Scale, toScale } from '../crds/scale.ts'
import { invalid } from '../field-errors.ts'
import { parseWriteOptions } from '../options.ts'
import { applyPatchBody, parsePatchType } from '../patches.ts'
import { presentObject, whenShown } from '../present.ts'
import { objectAnswer } from '../representation.ts'
import { labelSelectorFromObject } from '../selectors.ts'
import { badRequest, invalidObject } from '../status.ts'
import { builtinColumns } from '../tables/builtin-columns.ts'
import { read } from './get.ts'
import { applyUpdate } from './update.ts'

export function getScale(call: Call): Answer | Promise<Answer> {
  const { resource } = call
  const stored = read(call)
  const answer = () => scaleAnswer(call, presentObject(resource, stored))
  return whenShown(resource, [stored], answer)
}

export async function updateScale(call: Call): Promise<Answer> {
  const { dryRun } = parseWriteOptions(call.query, 'UpdateOptions')
  const { value } = await parseBody(call, { apiVersion: 'autoscaling/v1', kind: 'Scale' })
  return writeScale(call, () => checked(call, value), dryRun)
}

export function patchScale(call: Call): Promise<Answer> {
  const contentType = call.headers['content-type'] ?? ''
  const { isCustom = false, strategy } = call.resource
  const mergeStrategically = strategy.mergeScaleStrategically
  parsePatchType(contentType, { isCustom })
  const { dryRun, fieldValidation } = parseWriteOptions(call.query, 'PatchOptions', contentType)
  const change = (scale: Scale) =>
    checked(
      call,
      applyPatchBody(contentType, call.body, scale, { isCustom, mergeStrategically, fieldValidation }).object,
    )
  return writeScale(call, change, dryRun)
}

async function writeScale(call: Call, change: (scale: Scale) => Scale, dryRun: boolean): Promise<Answer> {
  const paths = call.resource.scale!
  const written = await applyUpdate(call, {
    dryRun,
    part: '',
    change: (scale) => change(scale as Scale),
    lens: {
      show: (object) => scaleOf(call, object, true),
      put: (object, scale) => applyScale(object, checked(call, scale), paths),
    },
  })
  return scaleAnswer(call, written.object)
}

/** Tables of it have columns of its own, whatever it is the scale of. */
function scaleAnswer(call: Call, object: KubeObject): Promise<Answer> {
  const resource = { ...call.resource, columns: builtinColumns('autoscaling', 'scale') }
  return objectAnswer({ ...call, resource }, 200, scaleOf(call, object, false))
}

function scaleOf({ resource }: Call, object: KubeObject, forUpdate: boolean): Scale {
  const paths = resource.scale!
  if (resource.isCustom) return toScale(object, paths, { forUpdate })
  // Built-in kinds have a label selector there, which a Scale shows as text.
  const { specReplicasPath, statusReplicasPath } = paths
  const scale = toScale(object, { specReplicasPath, statusReplicasPath }, { forUpdate })
  const spec = (object['spec'] ?? {}) as JsonObject
  const { text } = labelSelectorFromObject(spec['selector'])
  if (text !== '') scale.status.selector = text
  return scale
}

function checked({ path, resource }: Call, raw: unknown): Scale {
  if (typeof raw !== 'object' || raw === null) throw badRequest('the object provided is no Scale')
  const scale = raw as Scale
  if (scale.metadata?.name && scale.metadata.name !== path.name) {
    throw badRequest(
      `the name of the object (${scale.metadata.name}) does not match the name on the URL (${path.name})`,
    )
  }
  const replicas: Json | undefined = scale.spec?.replicas
  if (replicas !== undefined && typeof replicas !== 'number') {
    throw badRequest(
      `Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal ${typeof replicas} into Go struct field ScaleSpec.spec.replicas of type int32`,
    )
  }
  // Custom resources are checked as a whole, in their own words.
  if (!resource.isCustom && replicas !== undefined && replicas < 0) {
    const error = invalid('spec.replicas', replicas, 'must be greater than or equal to 0')
    throw invalidObject('autoscaling', 'Scale', path.name, [error])
  }
  return { ...scale, metadata: scale.metadata ?? {}, spec: scale.spec ?? {} }
}
