/**
 * What was thrown, on its way from one thread to another: as data, and made again, so that the same follows from it.
 * Used on both sides. Never throws: what cannot be carried becomes an error that says what it was.
 */
import { describeError } from '../../core/handling/describe-error.ts'
import { brandsOf, rebrand } from '../../errors.ts'
import { setOwn } from '../../util/json.ts'
import { isError, toJsonLine } from '../../util/log-text.ts'
import { canClone } from './cloning.ts'

export type Carried = { readonly error: CarriedError } | { readonly value: unknown }

interface CarriedError {
  /** The nearest class of the language: `TypeError`. */
  readonly type: string
  readonly brands: readonly string[]
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly cause: Carried | undefined
  /** Of an `AggregateError`. */
  readonly errors: readonly Carried[] | undefined
  /** What else is on it: a code, a delay. */
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

/** So many causes of causes are carried: logs show no more. */
const mostErrors = 6
const ownWords = new Set(['name', 'message', 'stack', 'cause', 'errors'])

export function carry(thrown: unknown, left: number = mostErrors): Carried {
  try {
    return isError(thrown) ? { error: toData(thrown, left) } : { value: structuredClone(thrown) }
  } catch {
    return { error: toData(new Error(describeError(thrown)), 0) }
  }
}

/** Of a log line: whatever cannot be copied is shown as the log would show it. */
export function carryField(value: unknown): Carried {
  return isError(value) || canClone(value) ? carry(value) : { value: JSON.parse(toJsonLine(value)) }
}

export function restore(carried: Carried): unknown {
  return 'error' in carried ? fromData(carried.error) : carried.value
}

function toData(error: Error, left: number): CarriedError {
  const { name, message, stack, cause, errors } = error as Error & { errors?: unknown }
  const inner = (value: unknown) => carry(value, left - 1)
  return {
    type: typeOf(error),
    brands: [...brandsOf(error)],
    name: String(name),
    message: String(message),
    stack: typeof stack === 'string' ? stack : undefined,
    cause: cause === undefined || left <= 0 ? undefined : inner(cause),
    errors: Array.isArray(errors) && left > 0 ? errors.slice(0, mostErrors).map(inner) : undefined,
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
    if (!ownWords.has(key) && canClone(value)) setOwn(fields, key, value)
  }
  return fields
}

function fromData({ type, brands, fields, ...words }: CarriedError): Error {
  const error = new Error(words.message)
  Object.setPrototypeOf(error, (types[type] ?? Error).prototype)
  rebrand(error, brands)
  Object.assign(error, fields)
  put(error, 'stack', words.stack)
  if (words.name !== error.name) put(error, 'name', words.name)
  if (words.cause !== undefined) put(error, 'cause', restore(words.cause))
  if (words.errors !== undefined) put(error, 'errors', words.errors.map(restore))
  return error
}

/** As the language does it: there for whoever asks, and not among what is listed. */
function put(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, configurable: true, enumerable: false })
}
