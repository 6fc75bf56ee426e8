/**
 * The failures of a request, each a `Status` as the real API server answers it: code, reason, message, details.
 * Whoever finds that a request cannot be served throws one of these; api-server.ts turns it into the answer.
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

/** A request refused. Not an error of this program: an answer. */
export class StatusError extends Error {
  readonly code: number
  readonly reason: string
  readonly details: StatusDetails | undefined
  /** A list that cannot go on says here how it could. */
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

  /** The body of the answer, with the fields in the order of the real server. */
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

/** For a path that leads to no resource at all. */
export function pathNotFound(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource', {})
}

/** For a verb that the resource has not, where its path is known: the router's answer, before any resource looks at it. */
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

/** The version asked for is no longer kept: the client has to list again. */
export function expired(message: string): StatusError {
  return new StatusError(410, 'Expired', message)
}

/** The real server means 400 here and says 500. */
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

/** For a bug of this server: it must not pass in silence, nor take the connection's other requests with it. */
export function internalError(error: unknown): StatusError {
  const message = error instanceof Error ? error.message : String(error)
  return new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })
}

/** The change has not happened, and can be tried again: the disk may take it then. */
export function cannotKeep(why: string): StatusError {
  const message = `Internal error occurred: the change cannot be kept: ${why}`
  return new StatusError(500, 'InternalError', message, { causes: [{ message: why }], retryAfterSeconds: 1 })
}

export function notImplemented(message: string): StatusError {
  return new StatusError(501, 'NotImplemented', message)
}

/** The server cannot answer in time, for example a version that it has not reached yet. */
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
