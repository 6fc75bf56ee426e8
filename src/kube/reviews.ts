/**
 * Parses AdmissionReview and ConversionReview requests of the API server, and builds the responses. Called by admission/. Pure. A malformed
 * review throws a `WebhookError` with status 400.
 */
import { WebhookError } from '../errors.ts'
import { isPlainObject } from '../util/json/json.ts'
import type { JsonObject, KubeObject } from './objects.ts'

/** The used part of `AdmissionReview.request`. */
export interface AdmissionRequest {
  readonly uid: string
  readonly resource: { readonly group: string; readonly version: string; readonly plural: string }
  /** Undefined if the request is for the object itself. */
  readonly subresource: string | undefined
  readonly operation: string
  readonly name: string | undefined
  readonly namespace: string | undefined
  readonly userInfo: JsonObject
  readonly dryRun: boolean
  readonly object: KubeObject | undefined
  readonly oldObject: KubeObject | undefined
}

export interface AdmissionReviewResponse {
  readonly allowed: boolean
  readonly warnings: readonly string[]
  /** A JSON patch, in base64. */
  readonly patch: string | undefined
  readonly status: { readonly code: number; readonly message: string } | undefined
}

/** The webhook path for conversions of all kinds: the objects in the review have their kind. */
export const conversionPath = 'convert'

const admissionVersions = ['admission.k8s.io/v1', 'admission.k8s.io/v1beta1']
const conversionVersions = ['apiextensions.k8s.io/v1', 'apiextensions.k8s.io/v1beta1']

export function readAdmissionReview(review: unknown): AdmissionRequest {
  const request = readRequest(review, 'AdmissionReview', admissionVersions)
  const { resource, userInfo, object, oldObject, operation } = request
  if (!isPlainObject(resource)) throw badReview('its "request.resource" is missing')
  const { group, version, resource: plural } = resource
  if (typeof group !== 'string' || typeof version !== 'string' || typeof plural !== 'string') {
    throw badReview('its "request.resource" has no "group", "version" and "resource"')
  }
  if (!isPlainObject(userInfo)) throw badReview('its "request.userInfo" is missing')
  if (typeof operation !== 'string') throw badReview('its "request.operation" is missing')
  const [now, before] = [readObject(object, 'object'), readObject(oldObject, 'oldObject')]
  if (now === undefined && before === undefined)
    throw badReview('it has neither "request.object" nor "request.oldObject"')
  return {
    uid: nonEmpty(request['uid']) ?? '',
    resource: { group, version, plural },
    subresource: nonEmpty(request['subResource']),
    operation,
    name: nonEmpty(request['name']),
    namespace: nonEmpty(request['namespace']),
    userInfo,
    dryRun: request['dryRun'] === true,
    object: now,
    oldObject: before,
  }
}

/** The response has the `apiVersion` of the request. */
export function toAdmissionReview(
  review: unknown,
  { uid }: AdmissionRequest,
  response: AdmissionReviewResponse,
): object {
  const { allowed, warnings, patch, status } = response
  return {
    apiVersion: versionOf(review, admissionVersions),
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed,
      ...(warnings.length === 0 ? {} : { warnings }),
      ...(patch === undefined ? {} : { patch, patchType: 'JSONPatch' }),
      ...(status === undefined ? {} : { status }),
    },
  }
}

export interface ConversionRequest {
  readonly uid: string
  /** For example `example.com/v2`. */
  readonly desiredApiVersion: string
  readonly objects: readonly KubeObject[]
}

export function isConversionReview(review: unknown): boolean {
  return isPlainObject(review) && review['kind'] === 'ConversionReview'
}

export function readConversionReview(review: unknown): ConversionRequest {
  const { uid, desiredAPIVersion, objects } = readRequest(review, 'ConversionReview', conversionVersions)
  if (typeof desiredAPIVersion !== 'string') throw badReview('its "request.desiredAPIVersion" is missing')
  if (!Array.isArray(objects)) throw badReview('its "request.objects" is no list')
  const read = objects.map((object, index) => {
    const found = readObject(object, `objects[${index}]`)
    if (found === undefined || !isPlainObject(found.metadata))
      throw badReview(`its "request.objects[${index}]" is no object`)
    return found
  })
  return { uid: nonEmpty(uid) ?? '', desiredApiVersion: desiredAPIVersion, objects: read }
}

/** The response with all converted objects, or with a failure: the API server accepts no partial result. */
export function toConversionReview(
  review: unknown,
  { uid }: ConversionRequest,
  converted: readonly object[] | { readonly failure: string },
): object {
  const response =
    'failure' in converted
      ? { uid, result: { status: 'Failure', message: converted.failure } }
      : { uid, result: { status: 'Success' }, convertedObjects: converted }
  return { apiVersion: versionOf(review, conversionVersions), kind: 'ConversionReview', response }
}

function readRequest(review: unknown, kind: string, versions: readonly string[]): JsonObject {
  if (!isPlainObject(review)) throw badReview('it is no JSON object')
  const given = [review['apiVersion'] ?? versions[0], review['kind'] ?? kind]
  if (!versions.includes(String(given[0])) || given[1] !== kind) {
    throw badReview(`it is ${given[1]} of ${given[0]}, and known are ${kind} of ${versions.join(' and ')}`)
  }
  const { request } = review
  if (!isPlainObject(request)) throw badReview('its "request" is missing')
  return request
}

function readObject(value: unknown, name: string): KubeObject | undefined {
  if (value === undefined || value === null) return undefined
  if (isPlainObject(value)) return value as unknown as KubeObject
  throw badReview(`its "request.${name}" is no JSON object`)
}

function versionOf(review: unknown, versions: readonly string[]): unknown {
  return (review as JsonObject)['apiVersion'] ?? versions[0]
}

/** Undefined for an empty string, which the API server writes for an absent field. */
function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function badReview(why: string): WebhookError {
  return new WebhookError(400, `Cannot take the review: ${why}`)
}
