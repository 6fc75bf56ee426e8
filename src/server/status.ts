/**
 * Failures of requests, each a `Status` like kube-apiserver's: code, reason, message, details. Thrown anywhere during a request;
 * answering.ts converts them into the response.
 */
import { formatGroupResource, type GroupResource } from '../kube/objects.ts'
import { type FieldError, formatFieldErrors, quote, readableErrors } from './field-errors.ts'

interface StatusDetails {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: ReadonlyArray<{ readonly reason?: string; readonly message?: string; readonly field?: string }>
  readonly retryAfterSeconds?: number
}

/** A rejected request. Not a bug of this server, but a response. */
export class StatusError extends Error {
  readonly code: number
  readonly reason: string
  readonly details: StatusDetails | undefined
  /** The continue token to restart an expired list with. */
  readonly metadata: { readonly continue?: string }

  constructor(
    code: number,
    reason: string,
    message: string,
    details?: StatusDetails,
    metadata: { readonly continue?: string } = {},
  ) {
    super(message)
    this.metadata = metadata
    this.name = 'StatusError'
    this.code = code
    this.reason = reason
    this.details = details
  }

  /** The body of the response, with fields in kube-apiserver's order. */
  toStatus(): Record<string, unknown> {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.metadata,
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    }
  }
}

function detailsOf({ group, plural }: GroupResource, name?: string): StatusDetails {
  return { ...(name ? { name } : {}), ...(group === '' ? {} : { group }), kind: plural }
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message)
}

export function unauthorized(): StatusError {
  return new StatusError(401, 'Unauthorized', 'Unauthorized')
}

export function forbidden(resource: GroupResource, name: string, why: string): StatusError {
  const subject = formatGroupResource(resource)
  const message = name === '' ? `${subject} is forbidden: ${why}` : `${subject} ${quote(name)} is forbidden: ${why}`
  return new StatusError(403, 'Forbidden', message, detailsOf(resource, name))
}

export function notFound(resource: GroupResource, name: string): StatusError {
  const message = `${formatGroupResource(resource)} ${quote(name)} not found`
  return new StatusError(404, 'NotFound', message, detailsOf(resource, name))
}

/** The path is not a resource. */
export function pathNotFound(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource', {})
}

/** The path is known, but the resource does not support the verb. Sent by the router, before the resource's handler. */
export function methodNotAllowed(): StatusError {
  return new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {})
}

export function alreadyExists(resource: GroupResource, name: string): StatusError {
  const message = `${formatGroupResource(resource)} ${quote(name)} already exists`
  return new StatusError(409, 'AlreadyExists', message, detailsOf(resource, name))
}

export function conflict(resource: GroupResource, name: string, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${formatGroupResource(resource)} ${quote(name)}: ${why}`
  return new StatusError(409, 'Conflict', message, detailsOf(resource, name))
}

/** The requested version is no longer available: the client must list again. */
export function expired(message: string): StatusError {
  return new StatusError(410, 'Expired', message)
}

/** kube-apiserver intends 400 here but sends 500. */
export function noVersion(resourceVersion: string): StatusError {
  return new StatusError(500, '', `strconv.ParseUint: parsing ${quote(resourceVersion)}: invalid syntax`)
}

export function entityTooLarge(message: string): StatusError {
  return new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: ${message}`)
}

export function unsupportedMediaType(message: string): StatusError {
  return new StatusError(415, 'UnsupportedMediaType', message)
}

export function invalidObject(group: string, kind: string, name: string, all: readonly FieldError[]): StatusError {
  const errors = readableErrors(all)
  const subject = group === '' ? kind : `${kind}.${group}`
  const suffix = errors.length === 0 ? '' : `: ${formatFieldErrors(errors)}`
  return new StatusError(422, 'Invalid', `${subject} ${quote(name)} is invalid${suffix}`, {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    ...(kind === '' ? {} : { kind }),
    causes: errors.map((error) => ({ reason: error.type, message: error.body, field: error.field })),
  })
}

/** A bug of this server, reported as a response instead of closing the connection with its other requests. */
export function internalError(error: unknown): StatusError {
  const message = error instanceof Error ? error.message : String(error)
  return new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })
}

/** The change was not stored. The client can retry when the disk works again. */
export function cannotStore(why: string): StatusError {
  const message = `Internal error occurred: the change cannot be kept: ${why}`
  return new StatusError(500, 'InternalError', message, { causes: [{ message: why }], retryAfterSeconds: 1 })
}

export function notImplemented(message: string): StatusError {
  return new StatusError(501, 'NotImplemented', message)
}

/** The server cannot respond in time, for example because it has not reached the requested version. */
export function timedOut(
  message: string,
  retryAfterSeconds: number,
  cause: { readonly reason: string; readonly message: string },
): StatusError {
  return new StatusError(504, 'Timeout', `Timeout: ${message}`, {
    causes: [cause],
    retryAfterSeconds,
  })
}
