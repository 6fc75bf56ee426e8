/**
 * Signs of secrets in what is about to be written where many can read it. By the names of fields, by the looks of values,
 * and by what the object at hand is known to hold. No proof: a password in a field called `text` is not found. Pure.
 */
import type { KubeObject } from '../kube/objects.ts'
import { isContainer, isPlainObject, type Json, type JsonContainer } from '../util/json/json.ts'

/** The end of the name counts: `secretName` and `tokenUrl` only point at one. */
const secretName = /(password|passwd|passphrase|secret|token|credentials?|apikey|accesskey|privatekey|secretkey)$/

const secretValues: ReadonlyArray<readonly [RegExp, string]> = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----/, 'a private key'],
  [/^(bearer|basic) \S{8,}$/i, 'an authorization header'],
  [/\b(gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[A-Z0-9]{16})\b/, 'a token'],
  [/^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i, 'a password in a URL'],
]

/** Shorter values are found in too many texts by chance. */
const minContentLength = 6

/** A value, and where it is. Only the place of what is found is put into words: paths of deep objects are long. */
interface DetectedSecret {
  readonly value: Json
  readonly parent: DetectedSecret | undefined
  /** The key, or the index in a list. */
  readonly key: string | number
}

/** What it looks like, for a message, and where; never the value itself. Undefined where there is no sign. */
export function findSecret(json: Json, body: KubeObject): string | undefined {
  const contents = contentsOf(body)
  const pending: DetectedSecret[] = [{ value: json, parent: undefined, key: '' }]
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

function pushInner(parent: DetectedSecret, value: JsonContainer, pending: DetectedSecret[]): void {
  if (Array.isArray(value)) {
    for (const [key, item] of value.entries()) pending.push({ value: item, parent, key })
  } else {
    for (const key of Object.keys(value)) pending.push({ value: value[key]!, parent, key })
  }
}

function formatPlace(found: DetectedSecret): string {
  const parts: string[] = []
  for (let at = found; at.parent !== undefined; at = at.parent) {
    parts.push(typeof at.key === 'number' ? `[${at.key}]` : at.parent.parent === undefined ? at.key : `.${at.key}`)
  }
  return parts.length === 0 ? 'it' : `"${parts.reverse().join('')}"`
}

/** Items of lists have the name of the list. */
function nameOf(found: DetectedSecret): string {
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
 * Whether there is a JWT: three parts between dots, of which the first begins with `eyJ`. A pattern for all of it would look
 * from every `eyJ` to the end of the text, which takes long where there are many.
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

/** As it stands there, and decoded. */
function contentsOf({ apiVersion, kind, ...fields }: KubeObject): string[] {
  if (apiVersion !== 'v1' || kind !== 'Secret' || !isPlainObject(fields['data'])) return []
  const encoded = Object.values(fields['data']).filter((value) => typeof value === 'string')
  const decoded = encoded.map((value) => Buffer.from(value, 'base64').toString())
  return [...encoded, ...decoded].filter(({ length }) => length >= minContentLength)
}
