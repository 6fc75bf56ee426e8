/** PATCH with an apply configuration: server-side apply, to an object or its status. Creates a missing object. */
import type { JsonObject, KubeObject, ObjectMeta } from '../../kube/objects.ts'
import { cloneJson } from '../../util/json/deep-equal.ts'
import { parseGoTime } from '../../util/text/go-time.ts'
import { admitCreation } from '../admission.ts'
import { type Configuration, parseConfiguration } from '../apply-body.ts'
import { demandCreation } from '../authorization/creation.ts'
import { refuseEscalation } from '../authorization/escalation.ts'
import type { ApiResponse, ResourceCall } from '../call.ts'
import { decodeTyped } from '../decode.ts'
import { decodeMetadata } from '../metadata.ts'
import { parseVersion, parseWriteOptions, type WriteRequestOptions } from '../options.ts'
import { type AppliedConfiguration, applyConfiguration, describe, describeType } from '../ownership/apply.ts'
import type { Ownership } from '../ownership/track.ts'
import { writtenAnswer } from '../representation.ts'
import { badRequest, conflict, noVersion, StatusError } from '../status.ts'
import { keyOf } from '../storage/stored.ts'
import type { UpdatePart } from './change.ts'
import { createObject } from './creation.ts'
import { managerOf } from './owning.ts'
import { dropDuplicateOwners, matchName, matchNamespace } from './place.ts'
import { createReviewed } from './reviewed.ts'
import { applyUpdate, reviewerFor } from './update.ts'
import { timestamp, type Written } from './write.ts'

export async function apply(call: ResourceCall): Promise<ApiResponse> {
  const options = parseWriteOptions(call.query, 'PatchOptions', call.headers['content-type'])
  const configuration = parseConfiguration(call.body)
  const { resource, path } = call
  const isThere = call.store.collection(resource.collection).get(keyOf(path.namespace, path.name)) !== undefined
  if (!isThere && path.subresource === '') {
    return writtenAnswer(call, 201, await createApplied(call, configuration, options))
  }
  const change = (current: KubeObject) => applied(call, configuration, options, current)
  const part = path.subresource as UpdatePart
  const { dryRun } = options
  const { warnings } = call
  return writtenAnswer(
    call,
    200,
    await applyUpdate(call, { change, returnsNewObject: true, part, dryRun, warnings, manager: undefined }),
  )
}

async function createApplied(
  call: ResourceCall,
  configuration: Configuration,
  options: WriteRequestOptions,
): Promise<Written> {
  const { resource, path } = call
  const object = applied(
    call,
    configuration,
    options,
    cloneJson(resource.fields!.blank as unknown as JsonObject) as unknown as KubeObject,
  )
  const { uid } = object.metadata
  if (uid) {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`
    throw conflict(resource, path.name, why)
  }
  const { resourceVersion = '', ...metadata } = object.metadata
  if (parseVersion(resourceVersion) === undefined) throw noVersion(resourceVersion)
  const { dryRun } = options
  const fresh = dryRun ? object : { ...object, metadata }
  demandCreation(call)
  admitCreation(call, fresh)
  const reviewer = reviewerFor(call, 'CREATE', dryRun)
  const isAtOnce = reviewer === undefined && resource.converter === undefined
  if (!isAtOnce) return createReviewed(call, fresh, { reviewer, dryRun })
  refuseEscalation(call, fresh)
  return createObject(call, resource, fresh, dryRun, call.warnings)
}

/** Applies the configuration to the live object and decodes the result. */
function applied(
  call: ResourceCall,
  configuration: Configuration,
  options: WriteRequestOptions,
  live: KubeObject,
): KubeObject {
  const { resource, path, warnings } = call
  const { fields } = resource
  const target = { ownership: fields!.ownership(path.subresource), blank: fields!.blank }
  const { object: desired, isAsBefore } = applyTo(call, target, configuration, options, live)
  const object = isAsBefore ? desired : decoded(call, desired, configuration.config)
  matchNamespace(call, object)
  matchName(call, object)
  dropDuplicateOwners(object, warnings, true)
  return object
}

export interface ApplyTypeInfo {
  readonly ownership: Ownership
  /** An empty object of the type. */
  readonly blank: KubeObject
}

/** Also used for a Scale, which is not stored itself. */
export function applyTo(
  call: ResourceCall,
  { ownership, blank }: ApplyTypeInfo,
  { config, problems }: Configuration,
  { force, fieldValidation }: WriteRequestOptions,
  live: KubeObject,
): AppliedConfiguration {
  const { apiVersion = '', kind = '' } = config
  if (kind !== blank.kind || apiVersion !== blank.apiVersion) {
    throw badRequest(`invalid object type: ${describeType({ apiVersion, kind })}`)
  }
  const now = timestamp(call)
  const desired = applyConfiguration(ownership, { live, config, manager: managerOf(call), force, now, empty: blank })
  if (problems.length > 0 && fieldValidation === 'Strict') {
    const list = problems.map((problem) => `\n  ${problem}`).join('')
    throw badRequest(`error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:${list}`)
  }
  if (fieldValidation === 'Warn') call.warnings.push(...problems)
  return desired
}

/** A value that the field types accept but the kind's decoder rejects is an internal error in kube-apiserver. */
function decoded(call: ResourceCall, desired: KubeObject, config: JsonObject): KubeObject {
  if (call.resource.isCustom) return defaulted(call, desired)
  try {
    return decodeTyped(call, desired, { text: '', isStrict: false, isPatched: true }).object
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 400) throw error
    const why = /^\S+ in version "[^"]*" cannot be handled as a \S+: (.*)$/s.exec(error.message)?.[1] ?? error.message
    const context = `unable to convert unstructured object to ${describeType(config)}`
    const isOfBytes = why.startsWith('illegal base64')
    const what = `failed to convert new object (${describe(config)}) to proper version`
    throw new StatusError(500, '', `${what}: ${context}: ${isOfBytes ? 'error decoding from json: ' : ''}${why}`)
  }
}

/** A custom resource follows its field types only; nulls stay. */
function defaulted({ resource, path }: ResourceCall, desired: KubeObject): KubeObject {
  const { metadata } = decodeMetadata(withoutNonsense(desired.metadata), resource)
  const object = cloneJson({ ...desired, metadata } as unknown as JsonObject) as unknown as KubeObject
  // kube-apiserver accepts a null status through the status subresource, and stores none.
  if (path.subresource === 'status' && object['status'] === null) delete object['status']
  resource.strategy.fillDefaults?.(object)
  return object
}

/** Timestamps are set by the server; invalid ones are dropped. */
function withoutNonsense(metadata: ObjectMeta): ObjectMeta {
  const result = { ...metadata }
  for (const key of ['creationTimestamp', 'deletionTimestamp'] as const) {
    if (!isTime(result[key])) delete result[key]
  }
  return result
}

function isTime(value: unknown): boolean {
  try {
    return typeof value === 'string' && parseGoTime(value) !== undefined
  } catch {
    return false
  }
}
