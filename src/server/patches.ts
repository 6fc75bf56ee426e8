/**
 * Applies the body of a PATCH request to the current object: patch types, parsing, and the errors of apiserver's patch.go. The patch
 * verb calls this, then decodes the result like a body; `toPatchError` converts the errors of that decoding.
 */
import type { JsonObject } from '../kube/objects.ts'
import { goJson } from '../util/json/go-json.ts'
import { isPlainObject, type Json } from '../util/json/json.ts'
import { invalid } from './field-errors.ts'
import { findDuplicateFields, isTooDeep, parseJsonText } from './json-text.ts'
import type { FieldValidation } from './options.ts'
import { applyJsonOperations, applyMerge, PatchFailure, type PatchOperation } from './patch-dialect.ts'
import { badRequest, entityTooLarge, invalidObject, StatusError, unsupportedMediaType } from './status.ts'
import { rejectPatch } from './strategic/apply.ts'

export interface PatchBodyOptions {
  /** Custom resources do not support strategic merge patches, and have other error messages. */
  readonly isCustom: boolean
  /** Applies a strategic merge patch, for kinds that support it. Modifies the patch. */
  readonly mergeStrategically?: ((current: object, patch: JsonObject) => Patched) | undefined
  readonly fieldValidation: FieldValidation
}

export interface Patched {
  readonly object: { [field: string]: Json }
  /** Unknown fields in the patch itself. They are reported before those of the patched object. */
  readonly problems: readonly string[]
}

const maxOperations = 10_000

type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

/** The patch type of a content type. Must be checked first, even before the existence of the object. */
export function parsePatchType(contentType: string, { isCustom }: { readonly isCustom: boolean }): PatchType {
  const semicolon = contentType.indexOf(';')
  const mediaType = semicolon > 0 ? contentType.slice(0, semicolon) : contentType
  switch (mediaType) {
    case 'application/json-patch+json':
      return 'json'
    case 'application/merge-patch+json':
      return 'merge'
    case 'application/apply-patch+yaml':
      return 'apply'
    case 'application/strategic-merge-patch+json':
      if (isCustom) throw unknownPatchType(isCustom)
      return 'strategic'
    default:
      throw unknownPatchType(isCustom)
  }
}

function unknownPatchType(isCustom: boolean): StatusError {
  // The router of built-in kinds checks content types before the handler does.
  if (!isCustom) return new StatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  const accepted = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml']
  const message = 'the body of the request was in an unknown format - accepted media types include: '
  return unsupportedMediaType(message + accepted.join(', '))
}

/** Returns the patched object. Throws a StatusError if the patch does not apply; modifies none of its arguments. */
export function applyPatchBody(
  contentType: string,
  patchText: string,
  current: object,
  options: PatchBodyOptions,
): Patched {
  const type = parsePatchType(contentType, options)
  if (type === 'strategic') return applyStrategicText(patchText, current, options)
  const patch = parsePatchText(patchText, options)
  const isStrict = options.fieldValidation !== 'Ignore'
  const duplicates = isStrict ? findDuplicateFields(patchText, patch).map((path) => `duplicate field "${path}"`) : []
  if (type === 'merge') return { object: mergeInto(current, patch, isStrict), problems: duplicates }
  const operations = readOperations(patch, isStrict)
  const unknown = isStrict ? findUnknownMembers(operations) : []
  const problems = [...unknown, ...duplicates].map((problem) => `json patch ${problem}`)
  return { object: applyOperations(current, operations), problems }
}

function applyStrategicText(text: string, current: object, options: PatchBodyOptions): Patched {
  const { fieldValidation, mergeStrategically } = options
  const patch = parseStrategicPatch(text)
  const duplicates = findDuplicateFields(text, patch).map((path) => `duplicate field "${path}"`)
  const { object, problems } = mergeStrategically!(current, patch)
  if (fieldValidation === 'Ignore') return { object, problems: [] }
  const all = [...duplicates, ...problems]
  if (fieldValidation === 'Warn' || all.length === 0) return { object, problems: all }
  throw rejectPatch(patch, `strict decoding error: ${all.join(', ')}`)
}

function parseStrategicPatch(text: string): JsonObject {
  const patch = readJson(text, { isCustom: false }, '')
  if (!isPlainObject(patch) && patch !== null) throw badRequest(typeError(patch, mapType))
  return patch ?? {}
}

/** Parses a JSON patch from a webhook. Errors have the messages of Go's decoder; callers use only the message. */
export function parseJsonPatch(text: string): PatchOperation[] {
  return readOperations(parsePatchText(text, { fieldValidation: 'Ignore', isCustom: true }), false)
}

function parsePatchText(text: string, { fieldValidation, isCustom }: PatchBodyOptions): unknown {
  return readJson(text, { isCustom }, fieldValidation === 'Ignore' ? '' : 'error decoding patch: ')
}

function readJson(text: string, { isCustom }: { readonly isCustom: boolean }, prefix: string): unknown {
  try {
    return parseJsonText(text, { exact: isCustom })
  } catch (error) {
    throw error instanceof SyntaxError ? badRequest(prefix + error.message) : error
  }
}

function mergeInto(current: object, patch: unknown, isStrict: boolean): Patched['object'] {
  if (isPlainObject(patch)) return applyMerge(current as Patched['object'], patch)
  if (isStrict && patch !== null) throw badRequest(`error decoding patch: ${typeError(patch, mapType)}`)
  // Without strict validation, a list replaces the whole object and fails as an object only afterwards.
  if (Array.isArray(patch)) throw notAnObject(patch)
  throw badRequest('Invalid JSON Patch')
}

function applyOperations(current: object, operations: readonly PatchOperation[]): Patched['object'] {
  if (operations.length > maxOperations) {
    throw entityTooLarge(`The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`)
  }
  const patched = tryOperations(current as Json, operations)
  if (!isPlainObject(patched)) throw notAnObject(patched)
  if (isTooDeep(patched)) throw tooDeep(patched)
  return patched
}

function tryOperations(document: Json, operations: readonly PatchOperation[]): Json {
  try {
    return applyJsonOperations(document, operations)
  } catch (error) {
    if (!(error instanceof PatchFailure)) throw error
    // The client is not told which operation failed, not even a failed test.
    const message = 'the server rejected our request due to an error in our request'
    throw new StatusError(422, 'Invalid', message, {})
  }
}

const memberNames = new Set(['op', 'path', 'from', 'value'])
const mapType = 'map[string]interface {}'

/** Member types are checked only with strict validation, the default: a wrong type is then a 400, otherwise a 422. */
function readOperations(patch: unknown, isStrict: boolean): PatchOperation[] {
  const [listType, itemType] = isStrict
    ? ['[]handlers.jsonPatchOp', 'handlers.jsonPatchOp']
    : ['jsonpatch.Patch', 'jsonpatch.Operation']
  const prefix = isStrict ? 'error decoding patch: ' : ''
  if (patch === null) return []
  if (!Array.isArray(patch)) throw badRequest(prefix + typeError(patch, listType!))
  return patch.map((operation: unknown) => {
    if (operation === null) return {}
    if (!isPlainObject(operation)) throw badRequest(prefix + typeError(operation, itemType!))
    if (isStrict) checkMembers(operation)
    return operation
  })
}

function checkMembers(operation: PatchOperation): void {
  for (const name of Object.keys(operation)) {
    const value = operation[name]
    if (name === 'value' || !memberNames.has(name) || typeof value === 'string' || value === null) continue
    const type = jsonTypeOf(value)
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${type} into Go struct field jsonPatchOp.${name} of type string`,
    )
  }
}

function findUnknownMembers(operations: readonly PatchOperation[]): string[] {
  return operations.flatMap((operation, index) => {
    const names = Object.keys(operation).filter((name) => !memberNames.has(name))
    return names.map((name) => `unknown field "[${index}].${name}"`)
  })
}

function jsonTypeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

function typeError(value: unknown, type: string): string {
  return `json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type ${type}`
}

const typeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

function notAnObject(patched: Json): StatusError {
  return rejectPatched(patched, `couldn't get version/kind; json parse error: ${typeError(patched, typeMeta)}`)
}

/** kube-apiserver parses the patched object from text and reports the innermost container as too deep. */
function tooDeep(patched: Json): StatusError {
  return rejectPatched(patched, "couldn't get version/kind; json parse error: invalid character '{' exceeded max depth")
}

/** A 422 that shows the whole patched object and its problem. */
export function rejectPatched(patched: Json, why: string): StatusError {
  return invalidObject('', '', '', [invalid('patch', goJson(patched), why)])
}

/** Converts an error of decoding the patched object: the same message as for a body, but as a 422. Other errors are returned unchanged. */
export function toPatchError(patched: () => Json, error: unknown): unknown {
  if (!(error instanceof StatusError) || error.code !== 400) return error
  const why =
    /^\S+ in version "[^"]*" cannot be handled as a \S+: (.*)$/s.exec(error.message)?.[1] ??
    /^the object provided is unrecognized \(must be of type \S+\): (.*) \(.*\)$/s.exec(error.message)?.[1]
  return why === undefined ? error : rejectPatched(patched(), why)
}
