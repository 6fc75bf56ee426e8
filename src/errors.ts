/** All errors that users can throw or catch. Every folder may import this file. */
import type { Duration } from './util/text/duration.ts'

/**
 * Makes `instanceof` work across copies of the package: the command and the user's project may each load one. The prototype of each class
 * lists the names of the class and of its base classes under a registered symbol.
 */
const brands: unique symbol = Symbol.for('kopf.errors') as never

/** A decorator that makes `instanceof` compare brand names instead of prototypes. */
export function brand(name: string): (target: { prototype: object }) => void {
  return (target: { prototype: object }): void => {
    const inherited = (target.prototype as { [brands]?: readonly string[] })[brands] ?? []
    Object.defineProperty(target.prototype, brands, { value: [...inherited, name] })
    Object.defineProperty(target, Symbol.hasInstance, {
      // Classes of users that extend these classes inherit this method but have no brand: they use the normal `instanceof`.
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

/** The names of the classes that an error is an instance of; empty for errors of other packages. */
export function brandsOf(error: object): readonly string[] {
  return (error as { [brands]?: readonly string[] })[brands] ?? []
}

/** Restores the class names of an error that was deserialized from another thread. */
export function rebrand(error: Error, names: readonly string[]): void {
  if (names.length > 0) Object.defineProperty(error, brands, { value: names })
}

/** The base class of all errors of this package. Compare `code`, which is stable across versions, rather than the message. */
export class KopfError extends Error {
  /** A stable identifier of the problem, such as `KOPF_SETTINGS`. */
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}
brand('KopfError')(KopfError)

/** The options of `new TemporaryError()`. */
export interface TemporaryErrorOptions extends ErrorOptions {
  /** The delay before the handler is called again. 0 or null: immediately. Default: 60 seconds. */
  readonly delay?: Duration | null
}

/**
 * Throw it in a handler to be called again after a delay.
 *
 * @example
 * ```ts
 * throw new TemporaryError('The database is not ready', { delay: '10s' })
 * ```
 */
export class TemporaryError extends KopfError {
  /** The delay before the handler is called again. */
  readonly delay: Duration | null

  constructor(message: string, { delay = 60, ...options }: TemporaryErrorOptions = {}) {
    super('KOPF_TEMPORARY', message, options)
    this.delay = delay
  }
}
brand('TemporaryError')(TemporaryError)

/**
 * Throw it in a handler that should not be called again for this cause: a retry would not help.
 *
 * @example
 * ```ts
 * throw new PermanentError('The size must be positive')
 * ```
 */
export class PermanentError extends KopfError {
  constructor(message: string, options?: ErrorOptions & { readonly code?: string }) {
    super(options?.code ?? 'KOPF_PERMANENT', message, options)
  }
}
brand('PermanentError')(PermanentError)

/** A handler has exceeded its `timeout`. The framework creates this error. */
export class HandlerTimeoutError extends PermanentError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, { ...options, code: 'KOPF_HANDLER_TIMEOUT' })
  }
}
brand('HandlerTimeoutError')(HandlerTimeoutError)

/** A handler has exhausted its `retries`. The framework creates this error. */
export class HandlerRetriesError extends PermanentError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, { ...options, code: 'KOPF_HANDLER_RETRIES' })
  }
}
brand('HandlerRetriesError')(HandlerRetriesError)

/** There are no credentials for the cluster: neither from login handlers, nor a service account, nor a kubeconfig. */
export class LoginError extends KopfError {
  constructor(message: string, options?: ErrorOptions) {
    super('KOPF_LOGIN', message, options)
  }
}
brand('LoginError')(LoginError)

/** The options of `new AdmissionError()`. */
export interface AdmissionErrorOptions extends ErrorOptions {
  /** The HTTP status of the response to the user. Default: 500. */
  readonly status?: number
}

/**
 * Throw it in an admission handler to reject the request. The user sees the message, for example in the output of kubectl.
 *
 * @example
 * ```ts
 * throw new AdmissionError('The size must be at most 100', { status: 422 })
 * ```
 */
export class AdmissionError extends PermanentError {
  /** The HTTP status of the response to the user. */
  readonly status: number

  constructor(message: string, { status = 500, ...options }: AdmissionErrorOptions = {}) {
    super(message, { ...options, code: 'KOPF_ADMISSION' })
    this.status = status
  }
}
brand('AdmissionError')(AdmissionError)

/** A malformed request to a webhook: the function of a webhook server rejects with it. */
export class WebhookError extends KopfError {
  /** The HTTP status of the response. */
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super('KOPF_WEBHOOK', message, options)
    this.status = status
  }
}
brand('WebhookError')(WebhookError)
