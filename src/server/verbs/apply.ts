/** PATCH with a configuration: server-side apply, to an object or its status. Creates the object where there is none. */
import type { JsonObject, KubeObject, ObjectMeta } from '../../kube/objects.ts'
import { cloneJson } from '../../util/equality.ts'
import { parseGoTime } from '../../util/go-time.ts'
import { admitCreation } from '../admission.ts'
import { type Configuration, parseConfiguration } from '../apply-body.ts'
import { demandCreation } from '../authorization/creation.ts'
import { refuseEscalation } from '../authorization/escalation.ts'
import type { Answer, Call } from '../call.ts'
import { decodeTyped } from '../decode.ts'
import { decodeMetadata } from '../metadata.ts'
import { parseVersion, parseWriteOptions, type WriteOptions } from '../options.ts'
import { type AppliedConfiguration, applyConfiguration, describe, describeType } from '../ownership/apply.ts'
import type { Ownership } from '../ownership/track.ts'
import { writtenAnswer } from '../representation.ts'
import { badRequest, conflict, noVersion, StatusError } from '../status.ts'
import { keyOf } from '../storage/stored.ts'
import type { Part } from './change.ts'
import { createObject } from './creation.ts'
import { managerOf } from './owning.ts'
import { dropDuplicateOwners, matchName, matchNamespace } from './place.ts'
import { createReviewed } from './reviewed.ts'
import { applyUpdate, reviewerFor } from './update.ts'
import { timestamp, type Written } from './write.ts'

export async function apply(call: Call): Promise<Answer> {
  const options = parseWriteOptions(call.query, 'PatchOptions', call.headers['content-type'])
  const configuration = parseConfiguration(call.body)
  const { resource, path } = call
  const isThere = call.store.collection(resource.collection).get(keyOf(path.namespace, path.name)) !== undefined
  if (!isThere && path.subresource === '') {
    return writtenAnswer(call, 201, await createApplied(call, configuration, options))
  }
  const change = (current: KubeObject) => applied(call, configuration, options, current)
  const part = path.subresource as Part
  const { dryRun } = options
  const { warnings } = call
  return writtenAnswer(
    call,
    200,
    await applyUpdate(call, { change, isFresh: true, part, dryRun, warnings, manager: undefined }),
  )
}

async function createApplied(call: Call, configuration: Configuration, options: WriteOptions): Promise<Written> {
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

/** What the configuration makes of an object, decoded like any other. */
function applied(call: Call, configuration: Configuration, options: WriteOptions, live: KubeObject): KubeObject {
  const { resource, path, warnings } = call
  const { fields } = resource
  const target = { ownership: fields!.ownership(path.subresource), blank: fields!.blank }
  const { object: wished, isAsBefore } = applyTo(call, target, configuration, options, live)
  const object = isAsBefore ? wished : decoded(call, wished, configuration.config)
  matchNamespace(call, object)
  matchName(call, object)
  dropDuplicateOwners(object, warnings, true)
  return object
}

export interface Target {
  readonly ownership: Ownership
  /** An object of the type with nothing in it. */
  readonly blank: KubeObject
}

/** Also for a Scale, which is no object of its own. */
export function applyTo(
  call: Call,
  { ownership, blank }: Target,
  { config, problems }: Configuration,
  { force, fieldValidation }: WriteOptions,
  live: KubeObject,
): AppliedConfiguration {
  const { apiVersion = '', kind = '' } = config
  if (kind !== blank.kind || apiVersion !== blank.apiVersion) {
    throw badRequest(`invalid object type: ${describeType({ apiVersion, kind })}`)
  }
  const now = timestamp(call)
  const wished = applyConfiguration(ownership, { live, config, manager: managerOf(call), force, now, empty: blank })
  if (problems.length > 0 && fieldValidation === 'Strict') {
    const list = problems.map((problem) => `\n  ${problem}`).join('')
    throw badRequest(`error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:${list}`)
  }
  if (fieldValidation === 'Warn') call.warnings.push(...problems)
  return wished
}

/** What the types have let through, but the kind does not, is a mistake of the server's for the real one. */
function decoded(call: Call, wished: KubeObject, config: JsonObject): KubeObject {
  if (call.resource.isCustom) return defaulted(call, wished)
  try {
    return decodeTyped(call, wished, { text: '', isStrict: false, isPatched: true }).object
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 400) throw error
    const why = /^\S+ in version "[^"]*" cannot be handled as a \S+: (.*)$/s.exec(error.message)?.[1] ?? error.message
    const context = `unable to convert unstructured object to ${describeType(config)}`
    const isOfBytes = why.startsWith('illegal base64')
    const what = `failed to convert new object (${describe(config)}) to proper version`
    throw new StatusError(500, '', `${what}: ${context}: ${isOfBytes ? 'error decoding from json: ' : ''}${why}`)
  }
}

/** A custom resource is what its types say; nothing more is made of it, not even of null. */
function defaulted({ resource, path }: Call, wished: KubeObject): KubeObject {
  const { metadata } = decodeMetadata(withoutNonsense(wished.metadata), resource)
  const object = cloneJson({ ...wished, metadata } as unknown as JsonObject) as unknown as KubeObject
  // No status at all is one that the real server takes from its own subresource.
  if (path.subresource === 'status' && object['status'] === null) delete object['status']
  resource.strategy.fillDefaults?.(object)
  return object
}

/** Times are the server's: what is none does not count. */
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
