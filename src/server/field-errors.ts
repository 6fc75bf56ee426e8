/**
 * What is wrong with one field of an object, worded as the real API server words it
 * (apimachinery's `field.Error`): clients and people read these messages.
 */

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

export type FieldErrorType = keyof typeof titles

export interface FieldError {
  readonly type: FieldErrorType
  /** A path such as `spec.versions[0].schema`, or `<nil>` for the whole object. */
  readonly field: string
  /** What the message says after the path. */
  readonly body: string
}

function fieldError(type: FieldErrorType, field: string, value: string | undefined, detail: string): FieldError {
  const parts = [titles[type] as string]
  if (value !== undefined) parts.push(value)
  if (detail !== '') parts.push(detail)
  return { type, field, body: parts.join(': ') }
}

/** A value as Go prints it: strings quoted, numbers and booleans bare, anything else as JSON. */
export function formatValue(value: unknown): string {
  return typeof value === 'string' ? quote(value) : JSON.stringify(value ?? null)
}

/** Go's `%q`: like JSON, but for the escapes of control characters and what is not printable. */
export function quote(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped here
  return JSON.stringify(text).replace(/\\u00([0-9a-f]{2})|\\b|\\f|\u007f/g, (match, hex?: string) => {
    if (hex !== undefined) return hex === '07' ? '\\a' : hex === '0b' ? '\\v' : `\\x${hex}`
    return match === '\u007f' ? '\\x7f' : match
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

/** `supported` must come in the order the real server lists them, mostly sorted. */
export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError =>
  fieldError('FieldValueNotSupported', field, formatValue(value), `supported values: ${supported.map(quote).join(', ')}`)

export const tooLong = (field: string, maximum: number, unit: 'byte' | 'character' = 'byte'): FieldError =>
  fieldError('FieldValueTooLong', field, undefined, `may not be more than ${plural(maximum, unit)}`)

export const tooMany = (field: string, actual: number, maximum: number): FieldError =>
  fieldError('FieldValueTooMany', field, String(actual), `must have at most ${plural(maximum, 'item')}`)

/** `spec.size: Required value`: the form in which messages quote it. */
export function formatFieldError(error: FieldError): string {
  return `${error.field}: ${error.body}`
}
