/** Parses the `Impersonate-*` request headers. Pure. */
import { quote } from '../field-errors.ts'
import { badRequest } from '../status.ts'

/** The impersonated user exactly as the headers state it, without implied groups. */
export interface ImpersonatedUser {
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

const extraPrefix = 'impersonate-extra-'

/** Separates the values of a repeated header. A header value cannot contain a newline. */
export const headerSeparator = '\n'

/** Undefined if the request does not impersonate, like nearly all requests. */
export function parseImpersonatedUser(headers: Readonly<Record<string, string>>): ImpersonatedUser | undefined {
  const names = impersonationHeaders(headers)
  if (names.length === 0) return undefined
  const extra: Record<string, readonly string[]> = Object.create(null)
  for (const name of names.filter((one) => one.startsWith(extraPrefix))) {
    extra[decodeKey(name.slice(extraPrefix.length))] = valuesOf(headers[name])
  }
  const wanted: ImpersonatedUser = {
    username: valuesOf(headers['impersonate-user'])[0] ?? '',
    uid: valuesOf(headers['impersonate-uid'])[0] ?? '',
    groups: valuesOf(headers['impersonate-group']),
    extra: { ...extra },
  }
  if (wanted.username !== '') return wanted
  const isEmpty = wanted.uid === '' && wanted.groups.length === 0 && Object.keys(extra).length === 0
  if (isEmpty) return undefined
  throw badRequest(`requested ${toGoString(wanted)} without impersonating a user name`)
}

export function impersonationHeaders(headers: Readonly<Record<string, unknown>>): string[] {
  const found: string[] = []
  for (const name in headers) {
    if (name.startsWith('impersonate-')) found.push(name)
  }
  return found
}

function valuesOf(header: string | undefined): string[] {
  return header === undefined ? [] : header.split(headerSeparator)
}

/** Extra keys are percent-encoded, since header names are case-insensitive and allow few characters. */
function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

/** Formats the user like Go's `%#v`. */
function toGoString({ username, uid, groups, extra }: ImpersonatedUser): string {
  const list = (values: readonly string[]): string => `[]string{${values.map(quote).join(', ')}}`
  const extras = Object.entries(extra).map(([key, values]) => `${quote(key)}:${list(values)}`)
  const printed = extras.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${extras.join(', ')}}`
  const printedGroups = groups.length === 0 ? '[]string(nil)' : list(groups)
  return `&user.DefaultInfo{Name:${quote(username)}, UID:${quote(uid)}, Groups:${printedGroups}, Extra:${printed}}`
}
