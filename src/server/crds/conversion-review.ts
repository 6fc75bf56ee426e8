/**
 * Builds ConversionReview requests (v1 or v1beta1) and parses their responses, with the real server's error messages. Pure;
 * webhook-conversion.ts sends them.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { isPlainObject, type Json } from '../../util/json/json.ts'
import { mismatch } from '../decode.ts'
import { quote } from '../field-errors.ts'

export type ReviewVersion = 'v1' | 'v1beta1'

const group = 'apiextensions.k8s.io'
const kind = 'ConversionReview'

/** The first version that this server supports. Validation guarantees that there is one. */
export function chooseReviewVersion(versions: readonly string[]): ReviewVersion {
  return versions.find((one) => one === 'v1' || one === 'v1beta1') as ReviewVersion
}

export interface ConversionReviewInput {
  readonly version: ReviewVersion
  readonly uid: string
  readonly desiredAPIVersion: string
  readonly objects: readonly KubeObject[]
}

/** Includes an empty response, as Go does. */
export function toReview({ version, uid, desiredAPIVersion, objects }: ConversionReviewInput): object {
  return {
    kind,
    apiVersion: `${group}/${version}`,
    request: { uid, desiredAPIVersion, objects },
    response: { uid: '', convertedObjects: null, result: { metadata: {} } },
  }
}

/** The converted objects of a response, unchecked. Throws an Error if the response is invalid. */
export function readReview(answer: unknown, { version, uid }: ConversionReviewInput): readonly unknown[] {
  const review = readType(answer, version)
  const response = field(review, 'response', {
    name: 'ConversionReview.response',
    type: `${version}.ConversionResponse`,
  })
  const own = (name: string): string => `ConversionResponse.response.${name}`
  const given = response && field(response, 'uid', { name: own('uid'), type: 'types.UID', isText: true })
  const result = response && field(response, 'result', { name: own('result'), type: 'v1.Status' })
  const objects = response?.['convertedObjects'] ?? []
  if (!Array.isArray(objects)) throw wrongType(objects, own('convertedObjects'), '[]runtime.RawExtension')
  // For v1beta1, the real server checks neither the kind nor the uid of the response.
  if (version === 'v1') checkType(review)
  if (response === undefined) throw new Error('no response provided')
  if (version === 'v1' && (given ?? '') !== uid) {
    throw new Error(`expected response.uid=${quote(uid)}, got ${quote(String(given ?? ''))}`)
  }
  checkResult(result ?? {})
  return objects
}

type ReviewFields = { readonly [key: string]: Json }

const anyType =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** A response without apiVersion or kind is accepted here as the expected type; another type is rejected. */
function readType(answer: unknown, version: ReviewVersion): ReviewFields {
  const review = answer ?? {}
  if (!isPlainObject(review)) {
    throw new Error(`couldn't get version/kind; json parse error: ${mismatch(review, `value of type ${anyType}`)}`)
  }
  const { apiVersion, kind: given } = review
  const isVersion = !apiVersion || apiVersion === `${group}/${version}`
  if (isVersion && (!given || given === kind)) return review
  const other = version === 'v1' ? 'v1beta1' : 'v1'
  if (given === kind && apiVersion === `${group}/${other}`) {
    throw new Error(`converting (${other}.${kind}) to (${version}.${kind}): unknown conversion`)
  }
  throw new Error(
    `no kind ${quote(String(given))} is registered for version ${quote(String(apiVersion ?? ''))} in scheme "pkg/runtime/scheme.go:111"`,
  )
}

function checkType({ apiVersion, kind: given }: ReviewFields): void {
  if (apiVersion === `${group}/v1` && given === kind) return
  const got = `${apiVersion ? String(apiVersion) : '/'}, Kind=${String(given ?? '')}`
  throw new Error(`expected webhook response of ${group}/v1, Kind=${kind}, got ${got}`)
}

function checkResult({ status, message }: ReviewFields): void {
  if (status === 'Success') return
  if (message) throw new Error(String(message))
  throw new Error(`response.result.status was '${String(status ?? '')}', not 'Success'`)
}

interface ExpectedField {
  /** Go's names of the field and its type. */
  readonly name: string
  readonly type: string
  readonly isText?: boolean
}

function field(
  object: ReviewFields,
  key: string,
  expected: ExpectedField & { readonly isText: true },
): string | undefined
function field(object: ReviewFields, key: string, expected: ExpectedField): ReviewFields | undefined
function field(object: ReviewFields, key: string, { name, type, isText }: ExpectedField): unknown {
  const value = object[key] ?? undefined
  if (value === undefined || (isText ? typeof value === 'string' : isPlainObject(value))) return value
  throw wrongType(value, name, type)
}

function wrongType(value: unknown, name: string, type: string): Error {
  return new Error(mismatch(value, `struct field ${name} of type ${type}`))
}
