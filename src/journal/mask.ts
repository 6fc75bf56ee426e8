/**
 * Replaces secrets by `[concealed]` before they enter the journal or are shown by the dashboard: values of Secrets, of fields that are named like a password,
 * token or key, and texts that contain one. A heuristic for other kinds than Secret: a password in a field called `text` is not found. Pure.
 */
import { isSecret, secretFields } from '../causation/conceal-secrets.ts'
import { looksSecret } from '../steps/secret-detection.ts'
import { concealedText, isConcealed } from '../util/concealed.ts'
import { isContainer, isPlainObject, setOwn } from '../util/json/json.ts'
import { weightOf } from '../util/json/lazy-json.ts'
import { resolvePath } from '../util/json/paths.ts'

/** Words of a field name that holds a secret, without separators and in lower case. `auth` and `key` count only at the end of a name. */
const sensitiveWord = /passw|passphrase|pwd|secret|token|credential|apikey|privatekey|accesskey|signature/
const sensitiveEnd = /(pass|key|keys|auth|authorization|cookie|salt|dsn)$/
/** Such fields name a secret that is kept elsewhere. `secretKeyRef` and `secretName` are no secrets. */
const reference = /(name|names|ref|refs|namespace)$/

/** Whether the values below a field of this name are concealed. */
export function isSensitiveName(name: string): boolean {
  const plain = name.replaceAll(/[-_.]/g, '').toLowerCase()
  if (reference.test(plain)) return false
  return sensitiveWord.test(plain) || sensitiveEnd.test(plain)
}

/** The top-level field of an object whose values are all concealed. Annotations of a Secret may repeat its content. */
export function isSecretField(body: object, path: readonly string[]): boolean {
  if (!isSecret(body)) return false
  return secretFields.includes(path[0] ?? '') || (path[0] === 'metadata' && path[1] === 'annotations')
}

/** Whether the entry is a pair such as `{ name: DB_PASSWORD, value: … }`, whose value is concealed. */
export function isSecretPair(value: { readonly [key: string]: unknown }): boolean {
  const name = value['name'] ?? value['key']
  return typeof name === 'string' && isSensitiveName(name)
}

const names =
  'pass(?:word|wd|phrase)?|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|secret[-_]?key|credentials?|authorization'

/** Parts of a text that are replaced. Each quantifier is bounded, so that a hostile text cannot slow the search down. */
const replacements: ReadonlyArray<readonly [RegExp, string]> = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*/, concealedText],
  [/\b(bearer|basic) {1,4}[\w.~+/=-]{8,}/gi, `$1 ${concealedText}`],
  [
    /\b(?:gh[pousr]_\w{10,}|github_pat_\w{10,}|glpat-[\w-]{10,}|xox[abprs]-[\w-]{10,}|AKIA[A-Z0-9]{12,})/g,
    concealedText,
  ],
  [/\beyJ[\w-]{8,}(?:\.[\w-]*){0,4}/g, concealedText],
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s@"'<>]{1,400}@/gi, `$1${concealedText}@`],
  [
    new RegExp(
      `((?:${names})["']?\\s{0,3}[:=]\\s{0,3})(?!\\[concealed\\])("[^"\\n]{0,400}"?|'[^'\\n]{0,400}'?|[^\\s,;&"'}\\]]{1,400})`,
      'gi',
    ),
    `$1${concealedText}`,
  ],
]

/** Longer texts are cut before the search. */
const maxSearched = 8192
/** A secret may be cut in two at the end of the searched text: the last characters are not shown. */
const cutMargin = 512

/** The text without parts that look like secrets, cut to a length. */
export function maskText(text: string, maxLength: number, secrets?: ReadonlySet<string>): string {
  const isCut = text.length > maxSearched
  let masked = isCut ? text.slice(0, maxSearched) : text
  if (secrets !== undefined) masked = replaceSecrets(masked, secrets)
  for (const [pattern, replacement] of replacements) masked = masked.replace(pattern, replacement)
  if (isCut) masked = masked.slice(0, -cutMargin)
  return masked.length > maxLength || isCut ? `${cut(masked, maxLength - 1)}…` : masked
}

/** Cuts without splitting a surrogate pair. */
function cut(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '')
}

function replaceSecrets(text: string, secrets: ReadonlySet<string>): string {
  let masked = text
  for (const secret of secrets) if (masked.includes(secret)) masked = masked.replaceAll(secret, concealedText)
  return masked
}

/** Shorter values occur in too many texts by chance. */
const minSecretLength = 4
/** Limits the search of one object. An object with more secrets is one whose texts are not shown at all. */
const maxSecrets = 200
const maxNodes = 20_000

const everything: ReadonlySet<string> = new Set([''])
const none: ReadonlySet<string> = new Set()
const known = new WeakMap<object, ReadonlySet<string>>()

/** Objects with longer texts are not searched: their JSON would have to be parsed for it. */
const maxSearchedBytes = 64 * 1024

/**
 * The secret values of an object, which its error messages and log lines may repeat: the values of a Secret and of sensitive fields. Computed once per state. The
 * result contains the empty text if there are too many: then every text is concealed.
 */
export function secretsOf(body: object): ReadonlySet<string> {
  const before = known.get(body)
  if (before !== undefined) return before
  const found = weightOf(body).bytes > maxSearchedBytes ? none : collectSecrets(body)
  known.set(body, found)
  return found
}

function collectSecrets(body: object): ReadonlySet<string> {
  const found = new Set<string>()
  const isOfSecret = isSecret(body)
  const pending: Array<{ readonly value: unknown; readonly isHidden: boolean }> = []
  for (const [key, value] of Object.entries(body)) {
    pending.push({ value, isHidden: isOfSecret && secretFields.includes(key) })
  }
  let nodes = 0
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    nodes += 1
    if (nodes > maxNodes || found.size > maxSecrets) return everything
    const { value, isHidden } = next
    if (Array.isArray(value)) {
      for (const item of value) pending.push({ value: item, isHidden })
    } else if (isPlainObject(value)) {
      const isPair = isSecretPair(value)
      for (const [key, inner] of Object.entries(value)) {
        pending.push({ value: inner, isHidden: isHidden || isSensitiveName(key) || (isPair && key === 'value') })
      }
    } else if (isHidden || (typeof value === 'string' && looksSecret(value))) {
      addForms(found, value)
    }
  }
  return found.size === 0 ? none : found
}

/** The value in the forms in which a text may have it: plain, JSON-escaped, and decoded if it is base64. */
function addForms(found: Set<string>, value: unknown): void {
  if (typeof value !== 'string' || value.length < minSecretLength) return
  const decoded = Buffer.from(value, 'base64')
  const forms = [value, JSON.stringify(value).slice(1, -1)]
  if (decoded.toString('base64') === value) forms.push(decoded.toString())
  for (const form of forms) if (form.length >= minSecretLength) found.add(form)
}

/** The text of an error, an event or a log line about an object: without the secrets of the object. */
export function maskTextOf(body: object | undefined, text: string, maxLength: number): string {
  const secrets = body === undefined ? undefined : secretsOf(body)
  if (secrets?.has('')) return concealedText
  return maskText(text, maxLength, secrets)
}

const maxDepth = 8

/** The JSON text of a value without secrets, cut to a length. Time and memory depend on the length only, not on the value. */
export function describeValue(
  value: unknown,
  { isHidden, maxLength }: { readonly isHidden: boolean; readonly maxLength: number },
): string {
  const text = write(value, { isHidden, left: { characters: 2 * maxLength }, depth: 0 })
  return text.length > maxLength ? `${cut(text, maxLength - 1)}…` : text
}

interface ValueWriter {
  readonly isHidden: boolean
  readonly left: { characters: number }
  readonly depth: number
}

function write(value: unknown, writer: ValueWriter): string {
  const { isHidden, left, depth } = writer
  if (value === null || value === undefined || value === '') return spend(left, JSON.stringify(value ?? null))
  if (isHidden || isConcealed(value)) return spend(left, concealedText)
  if (typeof value === 'string') return spend(left, writeText(value, left.characters))
  if (!isContainer(value)) return spend(left, String(value))
  if (depth === maxDepth || left.characters <= 0) return spend(left, '…')
  const inner = { isHidden, left, depth: depth + 1 }
  return Array.isArray(value) ? writeList(value, inner) : writeObject(value, inner)
}

function spend(left: ValueWriter['left'], text: string): string {
  left.characters -= text.length
  return text
}

/** A text that is JSON itself, such as the last handled state in an annotation, is only counted: its fields may be secret. */
function writeText(text: string, characters: number): string {
  if (/^\s{0,4}[[{]/.test(text)) return JSON.stringify(`[JSON, ${text.length} characters]`)
  return JSON.stringify(maskText(text, Math.max(8, characters)))
}

function writeList(items: readonly unknown[], writer: ValueWriter): string {
  const parts: string[] = []
  for (const item of items) {
    if (writer.left.characters <= 0) break
    parts.push(write(item, writer))
  }
  return `[${parts.join(',')}${parts.length < items.length ? ',…' : ''}]`
}

function writeObject(value: { readonly [key: string]: unknown }, writer: ValueWriter): string {
  const isPair = isSecretPair(value)
  const parts: string[] = []
  let isWhole = true
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue
    if (writer.left.characters <= 0) {
      isWhole = false
      break
    }
    const name = spend(writer.left, JSON.stringify(cut(key, 64)))
    const isHidden = writer.isHidden || isSensitiveName(key) || (isPair && key === 'value')
    parts.push(`${name}:${write(value[key], { ...writer, isHidden })}`)
  }
  return `{${parts.join(',')}${isWhole ? '' : ',…'}}`
}

const maxJsonNodes = 2000
const maxJsonText = 500

/** A JSON value without secrets, with short texts, and with at most 2,000 values. `path`: the field of the object that it is the value of. */
export function maskJson(
  value: unknown,
  { path, body }: { readonly path: readonly string[]; readonly body: object },
): unknown {
  const isHidden = isSecretField(body, path) || path.some(isSensitiveName) || isHiddenPair(body, path)
  return copyMasked(value, { isHidden, depth: 0, left: { nodes: maxJsonNodes }, secrets: secretsOf(body) })
}

function isHiddenPair(body: object, path: readonly string[]): boolean {
  if (path.at(-1) !== 'value') return false
  const pair = resolvePath(body, path.slice(0, -1))
  return isPlainObject(pair) && isSecretPair(pair)
}

interface MaskedCopy {
  readonly isHidden: boolean
  readonly depth: number
  readonly left: { nodes: number }
  readonly secrets: ReadonlySet<string>
}

function copyMasked(value: unknown, copy: MaskedCopy): unknown {
  const { isHidden, depth, left, secrets } = copy
  left.nodes -= 1
  if (value === null || value === undefined || value === '') return value
  if (isHidden || isConcealed(value) || secrets.has('')) return concealedText
  if (typeof value === 'bigint') return Number(value)
  if (typeof value === 'string') {
    return /^\s{0,4}[[{]/.test(value) ? `[JSON, ${value.length} characters]` : maskText(value, maxJsonText, secrets)
  }
  if (!isContainer(value)) return value
  if (depth === maxDepth || left.nodes <= 0) return '…'
  const inner = { ...copy, depth: depth + 1 }
  if (Array.isArray(value)) {
    const items = value.slice(0, Math.max(0, left.nodes)).map((item) => copyMasked(item, inner))
    return items.length < value.length ? [...items, '…'] : items
  }
  const isPair = isSecretPair(value)
  const fields: { [key: string]: unknown } = {}
  for (const key of Object.keys(value)) {
    if (left.nodes <= 0) {
      fields['…'] = '…'
      break
    }
    setOwn(
      fields,
      key,
      copyMasked(value[key], { ...inner, isHidden: isSensitiveName(key) || (isPair && key === 'value') }),
    )
  }
  return fields
}
