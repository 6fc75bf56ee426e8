/** Whom a request says to be made for, by its headers. Pure. */
import { quote } from '../field-errors.ts'
import { badRequest } from '../status.ts'

/** As the headers have it: nothing is filled in. */
export interface WantedUser {
  readonly username: string
  /** '' for none. */
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

const extraPrefix = 'impersonate-extra-'

/** Of a header that comes several times, the values are on lines of their own: no value can hold one. */
export const headerSeparator = '\n'

/** Undefined where nobody is impersonated, as in nearly all requests. */
export function readWantedUser(headers: Readonly<Record<string, string>>): WantedUser | undefined {
  const names = impersonationHeaders(headers)
  if (names.length === 0) return undefined
  const extra: Record<string, readonly string[]> = Object.create(null)
  for (const name of names.filter((one) => one.startsWith(extraPrefix))) {
    extra[decodeKey(name.slice(extraPrefix.length))] = valuesOf(headers[name])
  }
  const wanted: WantedUser = {
    username: valuesOf(headers['impersonate-user'])[0] ?? '',
    uid: valuesOf(headers['impersonate-uid'])[0] ?? '',
    groups: valuesOf(headers['impersonate-group']),
    extra: { ...extra },
  }
  if (wanted.username !== '') return wanted
  const isNobody = wanted.uid === '' && wanted.groups.length === 0 && Object.keys(extra).length === 0
  if (isNobody) return undefined
  throw badRequest(`requested ${inGo(wanted)} without impersonating a user name`)
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

/** Headers know no capital letters, and not every character of a key. */
function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

/** As Go prints the user that was asked for. */
function inGo({ username, uid, groups, extra }: WantedUser): string {
  const list = (values: readonly string[]): string => `[]string{${values.map(quote).join(', ')}}`
  const extras = Object.entries(extra).map(([key, values]) => `${quote(key)}:${list(values)}`)
  const printed = extras.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${extras.join(', ')}}`
  const printedGroups = groups.length === 0 ? '[]string(nil)' : list(groups)
  return `&user.DefaultInfo{Name:${quote(username)}, UID:${quote(uid)}, Groups:${printedGroups}, Extra:${printed}}`
}
