/**
 * Violations of a schema in the words of kube-openapi: `spec.size in body must be of type integer: "string"`. Created by validate.ts
 * and numbers.ts.
 */
import type { Json } from '../../kube/objects.ts'
import { goJson } from '../../util/json/go-json.ts'
import {
  type FieldError,
  invalid,
  notSupported,
  quote,
  readableErrors,
  required,
  tooLong,
  tooMany,
  typeInvalid,
} from '../field-errors.ts'

export interface Violation {
  /** Contains the path; equal messages are reported once. */
  readonly message: string
  readonly error: FieldError
}

/** The descriptions of enums, created once per enum because they may be long. */
const enums = new WeakMap<readonly Json[], { readonly list: string; readonly values: readonly string[] }>()

function describeEnum(supported: readonly Json[]): { readonly list: string; readonly values: readonly string[] } {
  const values = () => supported.map((one) => (typeof one === 'string' ? one : goJson(one)))
  const known = enums.get(supported) ?? { list: goJson(supported), values: values() }
  enums.set(supported, known)
  return known
}

/** Collects the violations of one value. `prefix` is its path in the object; all other paths are relative to it. */
export class Violations {
  readonly found: Violation[] = []
  readonly #prefix: string

  constructor(prefix = '') {
    this.#prefix = prefix
  }

  /** In the order found, without duplicates. */
  errors(): FieldError[] {
    const errors = new Map<string, FieldError>()
    // Limited beforehand, because as map keys all messages would be written out, each with its whole enum.
    const reported = new Set(readableErrors(this.found.map(({ error }) => error)))
    for (const { message, error } of this.found) {
      if (reported.has(error) && !errors.has(message)) errors.set(message, error)
    }
    return [...errors.values()]
  }

  typeFailed(path: string, expected: string, actual: string): void {
    const message = `${path} in body must be of type ${expected}: ${quote(actual)}`
    this.#add(message, typeInvalid(this.#field(path), actual, message))
  }

  valueFailed(path: string, value: Json, words: string): void {
    const message = `${path} in body ${words}`
    this.#add(message, invalid(this.#field(path), value, message))
  }

  propertyForbidden(path: string, key: string): void {
    const message = `${path}.${key} in body is a forbidden property`
    this.#add(message, invalid(this.#field(path), key, message))
  }

  requiredMissing(path: string): void {
    this.#add(`${path} in body is required`, required(this.#field(path)))
  }

  tooLong(path: string, maximum: number): void {
    this.#add(`${path} in body should be at most ${maximum} chars long`, tooLong(this.#field(path), maximum))
  }

  tooMany(path: string, actual: number, maximum: number, what: 'items' | 'properties'): void {
    this.#add(`${path} in body should have at most ${maximum} ${what}`, tooMany(this.#field(path), actual, maximum))
  }

  enumFailed(path: string, value: Json, supported: readonly Json[]): void {
    const { list, values } = describeEnum(supported)
    this.#add(`${path} in body should be one of ${list}`, notSupported(this.#field(path), value, values))
  }

  /** A violation of the value as a whole, which kube-apiserver reports without a field. */
  wholeFailed(message: string): void {
    this.#add(message, invalid(this.#field(''), '', message))
  }

  /** A violation with a path and a value, but without `in body` in its message. */
  worded(path: string, value: Json, message: string): void {
    this.#add(message, invalid(this.#field(path), value, message))
  }

  #add(message: string, error: FieldError): void {
    this.found.push({ message, error })
  }

  #field(path: string): string {
    const relative = path.startsWith('.') ? path.slice(1) : path
    if (relative === '') return this.#prefix === '' ? '<nil>' : this.#prefix
    return this.#prefix === '' ? relative : `${this.#prefix}.${relative}`
  }
}
