/** The scale subresource: reads and writes the replicas of any kind. */

import { formatGroupVersion, type JsonObject, type KubeObject } from '../../kube/objects.ts'
import type { Json } from '../../util/json/json.ts'
import { parseConfiguration } from '../apply-body.ts'
import { parseBody } from '../body.ts'
import { builtinFieldTypes } from '../builtins/types.ts'
import type { ApiResponse, ResourceCall } from '../call.ts'
import { applyScale, type ScaleObject, toScale } from '../crds/scale.ts'
import { invalid } from '../field-errors.ts'
import { parseWriteOptions } from '../options.ts'
import { describe } from '../ownership/apply.ts'
import { readManagers, writeManagers } from '../ownership/managers.ts'
import { createOwnership } from '../ownership/ownership.ts'
import { fromScaleManagers, type ReplicasPath, toReplicasPath, toScaleManagers } from '../ownership/scale.ts'
import { trackWrite } from '../ownership/track.ts'
import { applyPatchBody, parsePatchType } from '../patches.ts'
import { presentObject, whenShown } from '../present.ts'
import { objectAnswer } from '../representation.ts'
import { labelSelectorFromObject } from '../selectors.ts'
import { badRequest, invalidObject, StatusError } from '../status.ts'
import { builtinColumns } from '../tables/builtin-columns.ts'
import { applyTo } from './apply.ts'
import { read } from './get.ts'
import { managerOf } from './owning.ts'
import { applyUpdate } from './update.ts'
import { timestamp } from './write.ts'

export function getScale(call: ResourceCall): ApiResponse | Promise<ApiResponse> {
  const { resource } = call
  const stored = read(call)
  const answer = () => scaleAnswer(call, presentObject(resource, stored))
  return whenShown(resource, [stored], answer)
}

export async function updateScale(call: ResourceCall): Promise<ApiResponse> {
  const { dryRun } = parseWriteOptions(call.query, 'UpdateOptions')
  const { value } = await parseBody(call, scaleType)
  return writeScale(call, () => checked(call, value), dryRun, managerOf(call))
}

export function patchScale(call: ResourceCall): Promise<ApiResponse> {
  const contentType = call.headers['content-type'] ?? ''
  const { isCustom = false, strategy } = call.resource
  const type = parsePatchType(contentType, { isCustom })
  if (type === 'apply') return applyToScale(call)
  const mergeStrategically = strategy.mergeScaleStrategically
  const { dryRun, fieldValidation } = parseWriteOptions(call.query, 'PatchOptions', contentType)
  const change = (scale: ScaleObject) =>
    checked(
      call,
      applyPatchBody(contentType, call.body, scale, { isCustom, mergeStrategically, fieldValidation }).object,
    )
  return writeScale(call, change, dryRun, managerOf(call))
}

async function applyToScale(call: ResourceCall): Promise<ApiResponse> {
  const options = parseWriteOptions(call.query, 'PatchOptions', call.headers['content-type'])
  const configuration = parseConfiguration(call.body)
  const target = {
    ownership: scaleOwnership('scale'),
    blank: { ...scaleType, metadata: {}, spec: {}, status: { replicas: 0 } },
  }
  const change = (scale: ScaleObject) => {
    const { object, isAsBefore } = applyTo(call, target, configuration, options, scale)
    if (call.resource.isCustom && !isAsBefore) throw notConvertible(configuration.config)
    return checked(call, object)
  }
  return writeScale(call, change, options.dryRun, undefined)
}

async function writeScale(
  call: ResourceCall,
  change: (scale: ScaleObject) => ScaleObject,
  dryRun: boolean,
  manager: string | undefined,
): Promise<ApiResponse> {
  const paths = call.resource.scale!
  const written = await applyUpdate(call, {
    dryRun,
    part: '',
    change: (scale) => change(scale as ScaleObject),
    view: {
      show: (object) => shownScale(call, object),
      put: (object, scale) => withOwners(call, object, applyScale(object, checked(call, scale), paths), scale),
      own: (old, object, manager) =>
        trackWrite(scaleOwnership('scale'), { old, object, manager, now: timestamp(call) }),
    },
    manager,
  })
  return scaleAnswer(call, written.object)
}

/** A Table of a Scale has its own columns, for any kind. */
function scaleAnswer(call: ResourceCall, object: KubeObject): Promise<ApiResponse> {
  const resource = { ...call.resource, columns: builtinColumns('autoscaling', 'scale') }
  return objectAnswer({ ...call, resource }, 200, scaleOf(call, object, false))
}

const scaleType = { apiVersion: 'autoscaling/v1', kind: 'Scale' }

const scaleOwnership = createOwnership({
  apiVersion: scaleType.apiVersion,
  type: () => builtinFieldTypes.named('autoscaling.v1.Scale'),
  resets: () => undefined,
})

/** kube-apiserver cannot apply a change to the scale of a custom resource. */
function notConvertible(config: JsonObject): StatusError {
  const why = `request to convert CR to an invalid group/version: ${scaleType.apiVersion}`
  return new StatusError(500, '', `failed to convert new object (${describe(config)}) to proper version: ${why}`)
}

/** The Scale with the managers of its replicas. */
function shownScale(call: ResourceCall, object: KubeObject): ScaleObject {
  const scale = scaleOf(call, object, true)
  const managers = readManagers(object.metadata.managedFields)
  const entries = writeManagers(toScaleManagers(managers, replicasPaths(call)))
  if (entries !== undefined) scale.metadata.managedFields = entries
  return scale
}

/** The scaled object with the new managers of its replicas. */
function withOwners(call: ResourceCall, old: KubeObject, object: KubeObject, scale: KubeObject): KubeObject {
  const { group, version } = call.resource
  const managers = readManagers(old.metadata.managedFields)
  const parent = { managers, apiVersion: formatGroupVersion(group, version), pathOf: replicasPaths(call) }
  const entries = writeManagers(fromScaleManagers(readManagers(scale.metadata.managedFields), parent))
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata: entries === undefined ? metadata : { ...metadata, managedFields: entries } }
}

/** Other versions of a CRD may have their replicas at another path, or none. */
function replicasPaths({ resource, registry }: ResourceCall): ReplicasPath {
  const { group, plural, collection } = resource
  const versions = registry.all.filter((one) => one.group === group && one.plural === plural)
  const paths = new Map(
    versions
      .filter((one) => one.collection === collection)
      .map((one) => [
        formatGroupVersion(group, one.version),
        one.scale ? toReplicasPath(one.scale.specReplicasPath) : null,
      ]),
  )
  return (apiVersion) => paths.get(apiVersion)
}

function scaleOf({ resource }: ResourceCall, object: KubeObject, forUpdate: boolean): ScaleObject {
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

function checked({ path, resource }: ResourceCall, raw: unknown): ScaleObject {
  if (typeof raw !== 'object' || raw === null) throw badRequest('the object provided is no Scale')
  const scale = raw as ScaleObject
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
  // Custom resources are validated as a whole, with their own messages.
  if (!resource.isCustom && replicas !== undefined && replicas < 0) {
    const error = invalid('spec.replicas', replicas, 'must be greater than or equal to 0')
    throw invalidObject('autoscaling', 'Scale', path.name, [error])
  }
  return { ...scale, metadata: scale.metadata ?? {}, spec: scale.spec ?? {} }
}
