/** Creates the AdmissionReview for a webhook and reads the one in its response. Pure. */
import { randomUUID } from 'node:crypto'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { quote } from '../field-errors.ts'
import type { User } from '../identity/authentication.ts'
import type { ApiResource } from '../resource.ts'
import type { Phase } from './hooks.ts'
import type { AdmissionSubject, Invocation } from './match.ts'
import { type AdmissionResponse, readResponse } from './response.ts'

/** The attributes of a request that are the same for all webhooks. */
export interface Attributes extends AdmissionSubject {
  /** '' for an object without a name yet, and when a collection is deleted. */
  readonly name: string
  readonly user: User
  readonly dryRun: boolean
  /** CreateOptions, UpdateOptions or DeleteOptions. */
  readonly options: JsonObject
}

/** The objects in the version that the webhook requests; undefined if there is none. */
export interface Objects {
  readonly object?: KubeObject | undefined
  readonly old?: KubeObject | undefined
}

export interface Review extends JsonObject {
  readonly kind: 'AdmissionReview'
  readonly apiVersion: string
  readonly request: JsonObject & { readonly uid: string }
}

/** The fields are in kube-apiserver's order. */
export function createReview({ hook, target }: Invocation, attributes: Attributes, { object, old }: Objects): Review {
  const { operation, resource, subresource, namespace, name, user, dryRun, options } = attributes
  const request = {
    uid: randomUUID(),
    kind: kindOf(target, subresource),
    resource: { group: target.group, version: target.version, resource: target.plural },
    ...(subresource === '' ? {} : { subResource: subresource }),
    requestKind: kindOf(resource, subresource),
    requestResource: { group: resource.group, version: resource.version, resource: resource.plural },
    ...(subresource === '' ? {} : { requestSubResource: subresource }),
    ...(name === '' ? {} : { name }),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: toUserInfo(user),
    object: object ?? null,
    oldObject: old ?? null,
    dryRun,
    options,
  }
  return {
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${hook.reviewVersion}`,
    request: request as unknown as Review['request'],
  }
}

/** The kind of a subresource may differ from that of the object: Scale. */
function kindOf(resource: ApiResource, subresource: string): { group: string; version: string; kind: string } {
  const found = resource.subresources.find(({ name }) => name === subresource) ?? resource
  return { group: found.group, version: found.version, kind: found.kind }
}

function toUserInfo({ username, uid, groups, extra }: User): JsonObject {
  return {
    username,
    ...(uid ? { uid } : {}),
    groups: [...groups],
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra: extra as unknown as JsonObject }),
  }
}

/** Throws an Error with kube-apiserver's message if the response is invalid. The checks depend on the review version. */
export function readAnswer(answer: unknown, { apiVersion, request }: Review, phase: Phase): AdmissionResponse {
  const { type, response } = readResponse(answer, apiVersion)
  if (response === undefined) throw invalidAnswer('webhook response was absent')
  if (apiVersion !== 'admission.k8s.io/v1') {
    // The older version has none of the following checks.
    return phase === 'mutating' ? { ...response, patchType: 'JSONPatch' } : { ...response, patch: '' }
  }
  if (response.uid !== request.uid) {
    throw invalidAnswer(`expected response.uid=${quote(request.uid)}, got ${quote(response.uid)}`)
  }
  if (type.apiVersion !== apiVersion || type.kind !== 'AdmissionReview') {
    throw invalidAnswer(
      `expected webhook response of ${apiVersion}, Kind=AdmissionReview, got ${type.apiVersion || '/'}, Kind=${type.kind}`,
    )
  }
  checkPatch(response, phase)
  return response
}

function checkPatch({ patch, patchType }: AdmissionResponse, phase: Phase): void {
  if (phase === 'validating') {
    if (patch !== '') throw invalidAnswer('validating webhook may not return response.patch')
    if (patchType !== undefined) throw invalidAnswer('validating webhook may not return response.patchType')
    return
  }
  if (patch !== '' && patchType === undefined) {
    throw invalidAnswer('webhook returned response.patch but not response.patchType')
  }
  if (patch === '' && patchType !== undefined) {
    throw invalidAnswer('webhook returned response.patchType but not response.patch')
  }
  if (patchType === '') throw invalidAnswer('webhook returned invalid response.patchType of ""')
}

function invalidAnswer(why: string): Error {
  return new Error(`received invalid webhook response: ${why}`)
}
