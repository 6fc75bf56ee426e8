/** Errors about single fields of an object, worded like apimachinery's `field.Error`, because clients and people read these messages. */
import { goJson } from '../util/json/go-json.ts'

const titles = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTooFew: 'Too few',
  InternalError: 'Internal error',
  FieldValueTypeInvalid: 'Invalid value',
  FieldValueTooShort: 'Too short',
} as const

type FieldErrorType = keyof typeof titles

export interface FieldError {
  readonly type: FieldErrorType
  /** A path such as `spec.versions[0].schema`, or `<nil>` for the whole object. */
  readonly field: string
  /** The part of the message after the path. */
  readonly body: string
}

function fieldError(type: FieldErrorType, field: string, value: string | undefined, detail: string): FieldError {
  // Template strings instead of a join: there may be many errors that share a long detail, and most are never formatted.
  const shown = value === undefined ? titles[type] : `${titles[type]}: ${value}`
  return { type, field, body: detail === '' ? shown : `${shown}: ${detail}` }
}

/** Formats a value as Go does: strings quoted, numbers and booleans bare, anything else as JSON. */
export function formatValue(value: unknown): string {
  return typeof value === 'string' ? quote(value) : goJson(value)
}

/** Go's `%q`: like JSON, except for control characters and unprintable characters. */
export function quote(text: string): string {
  // An escaped backslash is matched and kept, so that it is not taken for the start of an escape.
  const escaped = JSON.stringify(text).replace(/\\\\|\\u00([0-9a-f]{2})/g, (match, hex?: string) => {
    if (hex === undefined) return match
    return hex === '07' ? '\\a' : hex === '0b' ? '\\v' : `\\x${hex}`
  })
  return escaped.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (character) => {
    const code = character.codePointAt(0)!
    if (code === 0x7f) return '\\x7f'
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`
  })
}

function plural(count: number, one: string): string {
  return count === 1 ? `${count} ${one}` : `${count} ${one}s`
}

export const required = (field: string, detail = ''): FieldError =>
  fieldError('FieldValueRequired', field, undefined, detail)

export const forbidden = (field: string, detail: string): FieldError =>
  fieldError('FieldValueForbidden', field, undefined, detail)

export const invalid = (field: string, value: unknown, detail: string): FieldError =>
  fieldError('FieldValueInvalid', field, formatValue(value), detail)

export const typeInvalid = (field: string, value: unknown, detail: string): FieldError =>
  fieldError('FieldValueTypeInvalid', field, formatValue(value), detail)

export const notFound = (field: string, value: unknown): FieldError =>
  fieldError('FieldValueNotFound', field, formatValue(value), '')

export const duplicate = (field: string, value: unknown): FieldError =>
  fieldError('FieldValueDuplicate', field, formatValue(value), '')

/** `supported` must be in kube-apiserver's order, mostly sorted. */
export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError =>
  fieldError('FieldValueNotSupported', field, formatValue(value), `supported values: ${listOf(supported)}`)

/** Formatted lists, by array identity: many errors may use the same list. */
const lists = new WeakMap<readonly string[], string>()

function listOf(supported: readonly string[]): string {
  const known = lists.get(supported) ?? supported.map(quote).join(', ')
  lists.set(supported, known)
  return known
}

export const tooLong = (field: string, maximum: number, unit: 'byte' | 'character' = 'byte'): FieldError =>
  fieldError('FieldValueTooLong', field, undefined, `may not be more than ${plural(maximum, unit)}`)

export const tooMany = (field: string, actual: number, maximum: number): FieldError =>
  fieldError('FieldValueTooMany', field, String(actual), `must have at most ${plural(maximum, 'item')}`)

/** An invalid body can cause any number of errors: the response contains at most this many. */
const maxErrors = 10_000
const maxErrorCharacters = 8 * 1024 * 1024

export function readableErrors(errors: readonly FieldError[]): readonly FieldError[] {
  let characters = 0
  return errors.slice(0, maxErrors).filter(({ field, body }, index) => {
    characters += field.length + body.length
    return index === 0 || characters <= maxErrorCharacters
  })
}

/** kube-apiserver's aggregate: duplicate messages are dropped, and only several messages are put in brackets. */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  const messages = [...new Set(errors.map(formatFieldError))]
  return messages.length === 1 ? messages[0]! : `[${messages.join(', ')}]`
}

/** `spec.size: Required value`, as messages quote it. */
export function formatFieldError(error: FieldError): string {
  return `${error.field}: ${error.body}`
}
