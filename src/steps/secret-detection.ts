/**
 * Finds values that look like secrets, before they are stored on an object that many users can read: by field names, by the form of values, and by
 * the content of the Secret that is handled. A heuristic: a password in a field called `text` is not found. Called by step-results.ts. Pure.
 */
import type { KubeObject } from '../kube/objects.ts'
import { isContainer, isPlainObject, type Json, type JsonContainer } from '../util/json/json.ts'

/** Matches the end of a field name: `secretName` and `tokenUrl` only refer to a secret. */
const secretName = /(password|passwd|passphrase|secret|token|credentials?|apikey|accesskey|privatekey|secretkey)$/

const secretValues: ReadonlyArray<readonly [RegExp, string]> = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----/, 'a private key'],
  [/^(bearer|basic) \S{8,}$/i, 'an authorization header'],
  [/\b(gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[A-Z0-9]{16})\b/, 'a token'],
  [/^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i, 'a password in a URL'],
]

/** Shorter values occur in too many texts by chance. */
const minContentLength = 6

/** A value to check, linked to its parent. Its path is formatted only if it looks like a secret, since paths of deep objects are long. */
interface CheckedValue {
  readonly value: Json
  readonly parent: CheckedValue | undefined
  /** The key, or the index in a list. */
  readonly key: string | number
}

/** Describes the first value that looks like a secret, with its path and never the value itself; undefined if there is none. */
export function findSecret(json: Json, body: KubeObject): string | undefined {
  const contents = contentsOf(body)
  const pending: CheckedValue[] = [{ value: json, parent: undefined, key: '' }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value } = next
    if (typeof value === 'string') {
      const sign = signOf(nameOf(next), value, contents)
      if (sign !== undefined) return `${formatPlace(next)} looks like ${sign}`
    } else if (isContainer(value)) {
      if (isFilledSecret(value)) return `${formatPlace(next)} is a Secret with its data`
      pushInner(next, value, pending)
    }
  }
  return undefined
}

export function isSecretName(name: string): boolean {
  return secretName.test(name.replaceAll(/[-_]/g, '').toLowerCase())
}

export function looksSecret(value: string): boolean {
  return hasJwt(value) || secretValues.some(([pattern]) => pattern.test(value))
}

function pushInner(parent: CheckedValue, value: JsonContainer, pending: CheckedValue[]): void {
  if (Array.isArray(value)) {
    for (const [key, item] of value.entries()) pending.push({ value: item, parent, key })
  } else {
    for (const key of Object.keys(value)) pending.push({ value: value[key]!, parent, key })
  }
}

function formatPlace(found: CheckedValue): string {
  const parts: string[] = []
  for (let at = found; at.parent !== undefined; at = at.parent) {
    parts.push(typeof at.key === 'number' ? `[${at.key}]` : at.parent.parent === undefined ? at.key : `.${at.key}`)
  }
  return parts.length === 0 ? 'it' : `"${parts.reverse().join('')}"`
}

/** The field name of a value; an item of a list has the name of the list. */
function nameOf(found: CheckedValue): string {
  let at = found
  while (typeof at.key === 'number') at = at.parent!
  return at.key.slice(at.key.lastIndexOf('.') + 1)
}

function signOf(name: string, value: string, contents: readonly string[]): string | undefined {
  if (value === '') return undefined
  if (isSecretName(name)) return 'a secret, by its name'
  if (contents.some((content) => value.includes(content))) return 'the content of this Secret'
  if (hasJwt(value)) return 'a token (JWT)'
  return secretValues.find(([pattern]) => pattern.test(value))?.[1]
}

/**
 * Whether the text contains a JWT: three parts separated by dots, of which the first begins with `eyJ`. A single regular expression would scan from
 * every `eyJ` to the end of the text, which takes quadratic time.
 */
function hasJwt(text: string): boolean {
  const parts = text.split('.')
  for (let index = 0; index + 2 < parts.length; index += 1) {
    const payload = parts[index + 1]!
    if (payload.length >= 8 && /^[\w-]+$/.test(payload) && endsWithJwtHeader(parts[index]!)) return true
  }
  return false
}

function endsWithJwtHeader(text: string): boolean {
  const [end = ''] = /(?<![\w-])[\w-]+$/.exec(text) ?? []
  const start = end.search(/\beyJ/)
  return start >= 0 && end.length - start >= 'eyJ'.length + 8
}

function isFilledSecret(value: JsonContainer): boolean {
  if (Array.isArray(value)) return false
  return value['kind'] === 'Secret' && (isPlainObject(value['data']) || isPlainObject(value['stringData']))
}

/** The values of a Secret, both encoded in base64 and decoded; empty for other kinds. */
function contentsOf({ apiVersion, kind, ...fields }: KubeObject): string[] {
  if (apiVersion !== 'v1' || kind !== 'Secret' || !isPlainObject(fields['data'])) return []
  const encoded = Object.values(fields['data']).filter((value) => typeof value === 'string')
  const decoded = encoded.map((value) => Buffer.from(value, 'base64').toString())
  return [...encoded, ...decoded].filter(({ length }) => length >= minContentLength)
}
