/** POST to `serviceaccounts/<name>/token`: issues a token with an expiration, optionally bound to another object. */
import { type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import { admitCreation } from '../admission.ts'
import { parseBody } from '../body.ts'
import type { ApiResponse, ResourceCall } from '../call.ts'
import { readType } from '../decode.ts'
import { type FieldError, invalid } from '../field-errors.ts'
import { type BoundObjects, maxTokenSeconds, serverAudiences } from '../identity/account-tokens.ts'
import { decodeMetadata } from '../metadata.ts'
import { parseWriteOptions } from '../options.ts'
import { checkAcceptable, objectAnswer } from '../representation.ts'
import {
  isGiven,
  type ReviewSpecFields,
  readFields,
  readInteger,
  readSpec,
  readText,
  readTexts,
} from '../reviews/question.ts'
import { badRequest, conflict, invalidObject, notFound } from '../status.ts'
import { keyOf, parseStored, type Stored } from '../storage/stored.ts'
import { matchNamespace } from './place.ts'
import { currentOf, timestamp } from './write.ts'

const group = 'authentication.k8s.io'
const type = { apiVersion: `${group}/v1`, kind: 'TokenRequest' }

/** The default lifetime of projected tokens in pods. kube-apiserver extends it to a year and only reports the use of expired tokens. */
const injectedSeconds = 3607
const extendedSeconds = 365 * 24 * 3600

export async function createToken(call: ResourceCall): Promise<ApiResponse> {
  checkAcceptable(call)
  // A dry run issues a token as well.
  parseWriteOptions(call.query, 'CreateOptions')
  const request = await readRequest(call)
  admitCreation(call, request)
  return objectAnswer(call, 201, issue(call, request))
}

async function readRequest(call: ResourceCall): Promise<KubeObject> {
  const { value } = await parseBody(call, type)
  const given = readType(type, value, { text: call.body })
  if (given.kind !== '' && (given.kind !== type.kind || given.apiVersion !== type.apiVersion)) {
    const why = `converting (${given.version}.${given.kind}) to (authentication.TokenRequest): unknown conversion`
    throw badRequest(`${given.kind} in version "${given.version}" cannot be handled as a TokenRequest: ${why}`)
  }
  const { metadata, spec } = (value ?? {}) as { metadata?: unknown; spec?: unknown }
  const decoded = decodeMetadata(metadata, { version: 'v1', kind: type.kind })
  const request: KubeObject = { ...type, metadata: decoded.metadata, spec: readSpec(type.kind, spec).values }
  matchNamespace(call, request)
  return request
}

function issue(call: ResourceCall, request: KubeObject): KubeObject {
  const { path, resource, tokens } = call
  const { namespace, name } = path
  checkName(call, request)
  const account = currentOf(call, resource, path)
  const { uid = account.uid } = request.metadata
  if (uid !== account.uid) {
    const why = `the UID in the token request (${uid}) does not match the UID of the service account (${account.uid})`
    throw conflict({ group, plural: type.kind }, name, why)
  }
  const spec = readSpec(type.kind, request['spec'])
  const given = readTexts(spec, 'audiences')
  const audiences = given.length === 0 ? [...serverAudiences] : given
  const seconds = readInteger(spec, 'expirationSeconds') ?? 3600
  checkSeconds(seconds)
  const bound = boundObjects(call, spec)
  const isExtended =
    seconds === injectedSeconds && bound.pod !== undefined && audiences.every((one) => serverAudiences.includes(one))
  const token = tokens.issue({
    account: { namespace, name, uid },
    audiences,
    seconds: isExtended ? extendedSeconds : seconds,
    bound,
    ...(isExtended ? { warnAfterSeconds: seconds } : {}),
  })
  const expiry = new Date(call.clock.now() + seconds * 1000).toISOString()
  return {
    kind: type.kind,
    apiVersion: type.apiVersion,
    metadata: { ...request.metadata, name, namespace, uid, creationTimestamp: timestamp(call) },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: spec.values['boundObjectRef'] ?? null },
    status: { token, expirationTimestamp: `${expiry.slice(0, 19)}Z` },
  }
}

function checkName({ path }: ResourceCall, { metadata: { name } }: KubeObject): void {
  if (!name || name === path.name) return
  const error = invalid('metadata.name', name, 'must match the service account name if specified')
  throw invalidObject(group, type.kind, path.name, [error])
}

function checkSeconds(seconds: number): void {
  const at = 'spec.expirationSeconds'
  const errors: FieldError[] = []
  if (seconds < 600) errors.push(invalid(at, seconds, 'may not specify a duration less than 10 minutes'))
  if (seconds > maxTokenSeconds)
    errors.push(invalid(at, seconds, 'may not specify a duration larger than 2^32 seconds'))
  if (errors.length > 0) throw invalidObject(group, type.kind, '', errors)
}

function boundObjects(call: ResourceCall, spec: ReviewSpecFields): BoundObjects {
  if (!isGiven(spec, 'boundObjectRef')) return {}
  const reference = readFields(spec, 'boundObjectRef', 'BoundObjectReference')
  const [kind, name, uid] = (['kind', 'name', 'uid'] as const).map((field) => readText(reference, field)) as [
    string,
    string,
    string,
  ]
  const { group: of = '', version = '' } = parseGroupVersion(readText(reference, 'apiVersion')) ?? {}
  const found = of === '' ? find(call, kind, name) : undefined
  if (found === undefined) throw badRequest(`cannot bind token to object of type ${of}/${version}, Kind=${kind}`)
  if (uid !== '' && uid !== found.uid) {
    const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`
    throw conflict({ group: '', plural: kind }, name, why)
  }
  const bound = { name, uid: found.uid }
  if (kind === 'Secret') return { secret: bound }
  return kind === 'Node' ? { node: bound } : { ...nodeOf(call, found), pod: bound }
}

const bindable: Readonly<Record<string, string>> = { Pod: 'pods', Secret: 'secrets', Node: 'nodes' }

/** Undefined for kinds that tokens cannot be bound to. */
function find({ store, path }: ResourceCall, kind: string, name: string): Stored | undefined {
  const plural = Object.hasOwn(bindable, kind) ? bindable[kind]! : undefined
  if (plural === undefined) return undefined
  const found = store.collection(plural).get(keyOf(kind === 'Node' ? '' : path.namespace, name))
  if (found === undefined) throw notFound({ group: '', plural }, name)
  const { serviceAccountName } = (kind === 'Pod' ? parseStored(found)['spec'] : {}) as { serviceAccountName?: string }
  if (kind !== 'Pod' || serviceAccountName === path.name) return found
  throw badRequest(
    `cannot bind token for serviceaccount "${path.name}" to pod running with different serviceaccount name.`,
  )
}

/** The node of the pod, for readers of the token. The Node object may be missing. */
function nodeOf({ store }: ResourceCall, pod: Stored): BoundObjects {
  const { nodeName: name } = parseStored(pod)['spec'] as { nodeName?: string }
  if (!name) return {}
  const node = store.collection('nodes').get(name)
  return { node: { name, ...(node === undefined ? {} : { uid: node.uid }) } }
}
