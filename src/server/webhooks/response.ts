/** Decodes an AdmissionReview response like Go's decoder: types first, then values. Pure. */
import { parseGroupVersion } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { quote } from '../field-errors.ts'

/** The reason of a denial, in the form of a Status. */
export interface Refusal {
  readonly code?: number
  readonly reason?: string
  readonly message?: string
  readonly details?: object
}

export interface AdmissionResponse {
  readonly uid: string
  readonly allowed: boolean
  readonly status: Refusal
  /** The JSON text of the patch; '' if there is none. */
  readonly patch: string
  readonly patchType: string | undefined
  readonly warnings: readonly string[]
}

interface Type {
  readonly apiVersion: string
  readonly kind: string
}

const typeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** Returns type and response of an AdmissionReview. */
export function readResponse(answer: unknown, expected: string): { type: Type; response?: AdmissionResponse } {
  const type = readType(answer)
  checkType(type, expected)
  const given = isPlainObject(answer) ? answer['response'] : undefined
  if (given === undefined || given === null) return { type }
  if (!isPlainObject(given)) {
    throw mismatch(given, 'AdmissionReview.response', `${expected.split('/')[1]}.AdmissionResponse`)
  }
  return { type, response: toResponse(given) }
}

function readType(answer: unknown): Type {
  if (answer === null) return { apiVersion: '', kind: '' }
  if (!isPlainObject(answer)) {
    throw unreadable(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${typeOf(answer)} into Go value of type ${typeMeta}`,
    )
  }
  for (const field of ['apiVersion', 'kind']) {
    const value = answer[field] ?? ''
    if (typeof value === 'string') continue
    throw unreadable(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${typeOf(value)} into Go struct field .${field} of type string`,
    )
  }
  return { apiVersion: String(answer['apiVersion'] ?? ''), kind: String(answer['kind'] ?? '') }
}

/** Missing types are accepted here; `readAnswer` in review.ts checks later whether they may be missing. */
function checkType({ apiVersion, kind }: Type, expected: string): void {
  const [group, version] = expected.split('/')
  if ((apiVersion === '' || apiVersion === expected) && (kind === '' || kind === 'AdmissionReview')) return
  const given = parseGroupVersion(apiVersion || expected)
  if (given === undefined) throw unreadable(`unexpected GroupVersion string: ${apiVersion}`)
  const isReview =
    given.group === group && /^v1(beta1)?$/.test(given.version) && (kind || 'AdmissionReview') === 'AdmissionReview'
  if (isReview || (kind === 'Status' && apiVersion === 'v1')) {
    throw unreadable(
      `converting (${given.version}.${kind || 'AdmissionReview'}) to (${version}.AdmissionReview): unknown conversion`,
    )
  }
  const wanted = `no kind ${quote(kind || 'AdmissionReview')} is registered for version ${quote(apiVersion || expected)}`
  throw unreadable(`${wanted} in scheme "pkg/runtime/scheme.go:111"`)
}

type ResponseFields = { readonly [field: string]: unknown }

function toResponse(given: ResponseFields): AdmissionResponse {
  const at = 'AdmissionResponse.response'
  readMap(given, 'auditAnnotations', at)
  const status = given['status'] ?? {}
  if (!isPlainObject(status)) throw mismatch(status, `${at}.status`, 'v1.Status')
  const patchType = given['patchType'] ?? undefined
  return {
    uid: readAs(given, 'uid', { at, type: 'string' }) ?? '',
    allowed: readAs(given, 'allowed', { at, type: 'boolean' }) ?? false,
    status: toRefusal(status),
    patch: readBytes(given, at),
    patchType: patchType === undefined ? undefined : readAs(given, 'patchType', { at, type: 'string' }),
    warnings: readTexts(given, at),
  }
}

function toRefusal(given: ResponseFields): Refusal {
  const at = 'Status.response.status'
  const code = readAs(given, 'code', { at, type: 'number' })
  const reason = readAs(given, 'reason', { at, type: 'string' })
  const message = readAs(given, 'message', { at, type: 'string' })
  const details = given['details'] ?? undefined
  if (details !== undefined && !isPlainObject(details)) throw mismatch(details, `${at}.details`, 'v1.StatusDetails')
  return {
    ...(code === undefined ? {} : { code }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(details === undefined ? {} : { details }),
  }
}

interface ResponseFieldTypes {
  string: string
  boolean: boolean
  number: number
}

const goTypes = { string: 'string', boolean: 'bool', number: 'int32' }

function readAs<N extends keyof ResponseFieldTypes>(
  fields: ResponseFields,
  name: string,
  { at, type }: { readonly at: string; readonly type: N },
): ResponseFieldTypes[N] | undefined {
  const value = fields[name] ?? undefined
  if (value === undefined || typeof value === type) return value as ResponseFieldTypes[N] | undefined
  throw mismatch(value, `${at}.${name}`, goTypes[type])
}

/** Bytes are base64 in JSON. Go also accepts a list of numbers, which is not supported here. */
function readBytes(fields: ResponseFields, at: string): string {
  const value = fields['patch'] ?? ''
  if (Array.isArray(value)) throw mismatch(value[0], `${at}.patch`, 'uint8')
  if (typeof value !== 'string') throw mismatch(value, `${at}.patch`, '[]uint8')
  const text = value.replace(/[\r\n]/g, '')
  const wrong = /^[A-Za-z0-9+/]*/.exec(text)![0].length
  if (text.length % 4 !== 0 || !/^={0,2}$/.test(text.slice(wrong))) {
    throw unreadable(`illegal base64 data at input byte ${wrong}`)
  }
  return Buffer.from(text, 'base64').toString('utf8')
}

function readTexts(fields: ResponseFields, at: string): string[] {
  const value = fields['warnings'] ?? []
  if (!Array.isArray(value)) throw mismatch(value, `${at}.warnings`, '[]string')
  for (const text of value) if (typeof text !== 'string') throw mismatch(text, `${at}.warnings`, 'string')
  return value as string[]
}

/** Audit annotations are not used, but their types are checked, since a wrong type invalidates the response. */
function readMap(fields: ResponseFields, name: string, at: string): void {
  const value = fields[name] ?? {}
  if (!isPlainObject(value)) throw mismatch(value, `${at}.${name}`, 'map[string]string')
  for (const text of Object.values(value)) if (typeof text !== 'string') throw mismatch(text, `${at}.${name}`, 'string')
}

function mismatch(value: unknown, field: string, type: string): Error {
  return unreadable(`json: cannot unmarshal ${typeOf(value)} into Go struct field ${field} of type ${type}`)
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'bigint') return 'number'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

function unreadable(why: string): Error {
  return new Error(`failed to call webhook: ${why}`)
}
