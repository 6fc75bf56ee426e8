/** Every error a user may throw or catch. The lowest floor of the house: everything may import it. */
import type { Duration } from './util/duration.ts'

/**
 * Makes `instanceof` work across copies of the package: the command and the user's project may load one each.
 * A class is known by its name under one registered symbol; so is every class it descends from.
 */
const brands: unique symbol = Symbol.for('kopf.errors') as never

export function brand(name: string): (target: { prototype: object }) => void {
  return (target: { prototype: object }): void => {
    const inherited = (target.prototype as { [brands]?: readonly string[] })[brands] ?? []
    Object.defineProperty(target.prototype, brands, { value: [...inherited, name] })
    Object.defineProperty(target, Symbol.hasInstance, {
      // Classes that users derive from ours inherit this, and have no brand: for them it is the ordinary question.
      value(this: unknown, value: unknown): boolean {
        if (this === target) return hasBrand(value, name)
        return Function.prototype[Symbol.hasInstance].call(this as () => void, value)
      },
    })
  }
}

function hasBrand(value: unknown, name: string): boolean {
  if (typeof value !== 'object' || value === null) return false
  return (value as { [brands]?: readonly string[] })[brands]?.includes(name) ?? false
}

/** What an error is an instance of, by name; empty for those that are none of ours. */
export function brandsOf(error: object): readonly string[] {
  return (error as { [brands]?: readonly string[] })[brands] ?? []
}

/** For an error that was made anew from what another thread told of it. */
export function rebrand(error: Error, names: readonly string[]): void {
  if (names.length > 0) Object.defineProperty(error, brands, { value: names })
}

/** The root of all errors of this package. `code` is stable across versions; the message is for people. */
export class KopfError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}
brand('KopfError')(KopfError)

/** When a handler is to be called again. */
export interface TemporaryErrorOptions extends ErrorOptions {
  /** How long to wait before the handler is called again; 60 seconds unless told, 0 or null for at once. */
  readonly delay?: Duration | null
}

/** Thrown by a handler to be called again later. */
export class TemporaryError extends KopfError {
  readonly delay: Duration | null

  constructor(message: string, { delay = 60, ...options }: TemporaryErrorOptions = {}) {
    super('KOPF_TEMPORARY', message, options)
    this.delay = delay
  }
}
brand('TemporaryError')(TemporaryError)

/** Thrown by a handler to say that calling it again would not help. */
export class PermanentError extends KopfError {
  constructor(message: string, options?: ErrorOptions & { readonly code?: string }) {
    super(options?.code ?? 'KOPF_PERMANENT', message, options)
  }
}
brand('PermanentError')(PermanentError)

/** A handler has used up its `timeout`. */
export class HandlerTimeoutError extends PermanentError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, { ...options, code: 'KOPF_HANDLER_TIMEOUT' })
  }
}
brand('HandlerTimeoutError')(HandlerTimeoutError)

/** A handler has used up its `retries`. */
export class HandlerRetriesError extends PermanentError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, { ...options, code: 'KOPF_HANDLER_RETRIES' })
  }
}
brand('HandlerRetriesError')(HandlerRetriesError)

/** Nothing that could log in has found credentials for a cluster. */
export class LoginError extends KopfError {
  constructor(message: string, options?: ErrorOptions) {
    super('KOPF_LOGIN', message, options)
  }
}
brand('LoginError')(LoginError)

/** How a request is refused. */
export interface AdmissionErrorOptions extends ErrorOptions {
  /** The code of the answer to whoever made the request. Default: 500. */
  readonly status?: number
}

/** Thrown by an admission handler to refuse the request, in words for whoever made it. */
export class AdmissionError extends PermanentError {
  readonly status: number

  constructor(message: string, { status = 500, ...options }: AdmissionErrorOptions = {}) {
    super(message, { ...options, code: 'KOPF_ADMISSION' })
    this.status = status
  }
}
brand('AdmissionError')(AdmissionError)

/** A request to a webhook that makes no sense, whatever it is about; `status` is the HTTP status to answer it with. */
export class WebhookError extends KopfError {
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super('KOPF_WEBHOOK', message, options)
    this.status = status
  }
}
brand('WebhookError')(WebhookError)
