/**
 * What the check of a value against its schema finds, in the words of kube-openapi, which the real server passes on:
 * `spec.size in body must be of type integer: "string"`. Made by validate.ts and numbers.ts.
 */
import type { Json } from '../../kube/objects.ts'
import { goJson } from '../../util/go-json.ts'
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
  /** With the path in it: the same words twice are the same violation, reported once. */
  readonly message: string
  readonly error: FieldError
}

/** A long enum is described once, not for each value that is not in it. */
const enums = new WeakMap<readonly Json[], { readonly list: string; readonly values: readonly string[] }>()

function describeEnum(supported: readonly Json[]): { readonly list: string; readonly values: readonly string[] } {
  const values = () => supported.map((one) => (typeof one === 'string' ? one : goJson(one)))
  const known = enums.get(supported) ?? { list: goJson(supported), values: values() }
  enums.set(supported, known)
  return known
}

/** Collects the violations of one value, whose place in the object is `prefix`; all paths inside are relative to it. */
export class Violations {
  readonly found: Violation[] = []
  readonly #prefix: string

  constructor(prefix = '') {
    this.#prefix = prefix
  }

  /** In the order found, without repetitions. */
  errors(): FieldError[] {
    const errors = new Map<string, FieldError>()
    // Not all, where there are very many: as keys they would all be written out, each with the whole of its enum.
    const told = new Set(readableErrors(this.found.map(({ error }) => error)))
    for (const { message, error } of this.found) {
      if (told.has(error) && !errors.has(message)) errors.set(message, error)
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

  /** About the value as a whole: the real server reports these at no field. */
  wholeFailed(message: string): void {
    this.#add(message, invalid(this.#field(''), '', message))
  }

  /** Found with a path and a value, but worded without the usual `in body`. */
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
