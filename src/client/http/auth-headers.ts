/** Headers of a request that authenticate the client: `Authorization` and impersonation. Pure; called by transport.ts. */
import type { ConnectionInfoOptions, Impersonation } from '../auth/connection-info.ts'

export type AuthHeaders = Readonly<Record<string, string | readonly string[]>>

export function toAuthHeaders(options: ConnectionInfoOptions): AuthHeaders {
  const authorization = toAuthorization(options)
  return {
    ...(authorization === undefined ? {} : { authorization }),
    ...(options.impersonate && toImpersonation(options.impersonate)),
  }
}

/** The value of the `Authorization` header; undefined for credentials that need none, such as client certificates. */
export function toAuthorization({ token, scheme, username, password = '' }: ConnectionInfoOptions): string | undefined {
  if (token !== undefined) return `${scheme ?? 'Bearer'} ${token}`
  if (username !== undefined) return toBasic(username, password)
  return scheme
}

export function toBasic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

/** Keys of `extra` become header names; characters that headers cannot contain are percent-encoded, as the API server expects. */
function toImpersonation({ user, uid, groups = [], extra = {} }: Impersonation): AuthHeaders {
  const extras = Object.entries(extra).map(([key, values]) => [`impersonate-extra-${escapeKey(key)}`, values])
  return {
    'impersonate-user': user,
    ...(uid === undefined ? {} : { 'impersonate-uid': uid }),
    ...(groups.length === 0 ? {} : { 'impersonate-group': groups }),
    ...Object.fromEntries(extras),
  }
}

function escapeKey(key: string): string {
  const toHex = (part: string) =>
    [...Buffer.from(part)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
  // In lower case, since the server does not preserve the case of header names.
  return key.toLowerCase().replace(/[^a-z0-9!#$&'*+.^_`|~-]+/g, toHex)
}
