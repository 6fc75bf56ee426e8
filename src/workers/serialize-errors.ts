/**
 * Serializes thrown values and log fields for another thread, and restores them with their classes, so that `instanceof` works. Used on both
 * sides. Never throws: a value that cannot be serialized becomes an error that describes it.
 */

import { brandsOf, rebrand } from '../errors.ts'
import { setOwn } from '../util/json/json.ts'
import { describeError } from '../util/log/describe-error.ts'
import { isError, toJsonLine } from '../util/log/error-text.ts'
import { canClone } from './serialize-args.ts'

export type SerializedErrorValue = { readonly error: SerializedError } | { readonly value: unknown }

interface SerializedError {
  /** The nearest built-in class, such as `TypeError`. */
  readonly type: string
  readonly brands: readonly string[]
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly cause: SerializedErrorValue | undefined
  /** The errors of an `AggregateError`. */
  readonly errors: readonly SerializedErrorValue[] | undefined
  /** The other fields, such as `code` and `delay`. */
  readonly fields: Readonly<Record<string, unknown>>
}

const types: Readonly<Record<string, { readonly prototype: Error }>> = {
  AggregateError,
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
}

/** The maximum depth of nested causes, and the maximum number of aggregated errors: logs show no more. */
const maxErrors = 6
const standardFields = new Set(['name', 'message', 'stack', 'cause', 'errors'])

export function serializeError(thrown: unknown, depthLeft: number = maxErrors): SerializedErrorValue {
  try {
    return isError(thrown) ? { error: toData(thrown, depthLeft) } : { value: structuredClone(thrown) }
  } catch {
    return { error: toData(new Error(describeError(thrown)), 0) }
  }
}

/** Serializes a field of a log line. A value that cannot be cloned is formatted as in the log. */
export function serializeField(value: unknown): SerializedErrorValue {
  return isError(value) || canClone(value) ? serializeError(value) : { value: JSON.parse(toJsonLine(value)) }
}

export function deserializeError(serialized: SerializedErrorValue): unknown {
  return 'error' in serialized ? fromData(serialized.error) : serialized.value
}

function toData(error: Error, depthLeft: number): SerializedError {
  const { name, message, stack, cause, errors } = error as Error & { errors?: unknown }
  const inner = (value: unknown) => serializeError(value, depthLeft - 1)
  return {
    type: typeOf(error),
    brands: [...brandsOf(error)],
    name: String(name),
    message: String(message),
    stack: typeof stack === 'string' ? stack : undefined,
    cause: cause === undefined || depthLeft <= 0 ? undefined : inner(cause),
    errors: Array.isArray(errors) && depthLeft > 0 ? errors.slice(0, maxErrors).map(inner) : undefined,
    fields: fieldsOf(error),
  }
}

function typeOf(error: Error): string {
  for (let one: unknown = error; one !== null; one = Object.getPrototypeOf(one)) {
    for (const [name, { prototype }] of Object.entries(types)) if (one === prototype) return name
  }
  return 'Error'
}

function fieldsOf(error: Error): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(error)) {
    if (!standardFields.has(key) && canClone(value)) setOwn(fields, key, value)
  }
  return fields
}

function fromData({ type, brands, fields, ...standard }: SerializedError): Error {
  const error = new Error(standard.message)
  Object.setPrototypeOf(error, (types[type] ?? Error).prototype)
  rebrand(error, brands)
  Object.assign(error, fields)
  defineHidden(error, 'stack', standard.stack)
  if (standard.name !== error.name) defineHidden(error, 'name', standard.name)
  if (standard.cause !== undefined) defineHidden(error, 'cause', deserializeError(standard.cause))
  if (standard.errors !== undefined) defineHidden(error, 'errors', standard.errors.map(deserializeError))
  return error
}

/** Defines a property that is not enumerable, as the built-in ones of errors. */
function defineHidden(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, configurable: true, enumerable: false })
}
