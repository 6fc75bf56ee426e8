/**
 * Signs of secrets in what is about to be written where many can read it. By the names of fields, by the looks of values,
 * and by what the object at hand is known to hold. No proof: a password in a field called `text` is not found. Pure.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { isPlainObject, type Json } from '../../util/json.ts'

/** The end of the name counts: `secretName` and `tokenUrl` only point at one. */
const secretName = /(password|passwd|passphrase|secret|token|credentials?|apikey|accesskey|privatekey|secretkey)$/

const secretValues: ReadonlyArray<readonly [RegExp, string]> = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----/, 'a private key'],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/, 'a token (JWT)'],
  [/^(bearer|basic) \S{8,}$/i, 'an authorization header'],
  [/\b(gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[A-Z0-9]{16})\b/, 'a token'],
  [/^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i, 'a password in a URL'],
]

/** Shorter values are found in too many texts by chance. */
const shortestContent = 6

/** What it looks like, for a message, and where; never the value itself. Undefined where there is no sign. */
export function findSecret(json: Json, body: KubeObject): string | undefined {
  const contents = contentsOf(body)
  const pending: Array<readonly [path: string, value: Json]> = [['', json]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [path, value] = next
    if (typeof value === 'string') {
      const sign = signOf(path, value, contents)
      if (sign !== undefined) return path === '' ? `it looks like ${sign}` : `"${path}" looks like ${sign}`
    } else if (Array.isArray(value)) {
      pending.push(...value.map((item, index) => [`${path}[${index}]`, item] as const))
    } else if (isPlainObject(value)) {
      if (isFilledSecret(value)) return `${path === '' ? 'it' : `"${path}"`} is a Secret with its data`
      pending.push(...Object.entries(value).map(([key, item]) => [path === '' ? key : `${path}.${key}`, item] as const))
    }
  }
  return undefined
}

export function isSecretName(name: string): boolean {
  return secretName.test(name.replaceAll(/[-_]/g, '').toLowerCase())
}

export function looksSecret(value: string): boolean {
  return secretValues.some(([pattern]) => pattern.test(value))
}

function signOf(path: string, value: string, contents: readonly string[]): string | undefined {
  if (value === '') return undefined
  const name = path.slice(path.lastIndexOf('.') + 1).replaceAll(/\[\d+\]$/g, '')
  if (isSecretName(name)) return 'a secret, by its name'
  if (contents.some((content) => value.includes(content))) return 'the content of this Secret'
  return secretValues.find(([pattern]) => pattern.test(value))?.[1]
}

function isFilledSecret(value: { readonly [key: string]: Json }): boolean {
  return value['kind'] === 'Secret' && (isPlainObject(value['data']) || isPlainObject(value['stringData']))
}

/** As it stands there, and decoded. */
function contentsOf({ apiVersion, kind, ...fields }: KubeObject): string[] {
  if (apiVersion !== 'v1' || kind !== 'Secret' || !isPlainObject(fields['data'])) return []
  const encoded = Object.values(fields['data']).filter((value) => typeof value === 'string')
  const decoded = encoded.map((value) => Buffer.from(value, 'base64').toString())
  return [...encoded, ...decoded].filter(({ length }) => length >= shortestContent)
}
