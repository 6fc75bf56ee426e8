/**
 * Validates names, label keys and label values, with kube-apiserver's messages (apimachinery's `validation` and `content` packages).
 * Also generates names.
 */
import { randomInt } from 'node:crypto'

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomain = `${label}(\\.${label})*`
const label1035 = '[a-z]([-a-z0-9]*[a-z0-9])?'
const qualified = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const labelValue = `(${qualified})?`

const matches = {
  label: new RegExp(`^${label}$`),
  subdomain: new RegExp(`^${subdomain}$`),
  label1035: new RegExp(`^${label1035}$`),
  qualified: new RegExp(`^${qualified}$`),
  labelValue: new RegExp(`^${labelValue}$`),
  ordinary: new RegExp(`^(${subdomain}/)?${qualified}$`),
}

const labelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character"
const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
const label1035Rule =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character"
const qualifiedRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
const labelValueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"

function explain(rule: string, pattern: string, examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ')
  return `${rule} (e.g. ${shown}regex used for validation is '${pattern}')`
}

/** Lengths are counted in bytes, as in Go, even if the message says characters. */
function lengthProblems(value: string, maximum: number, unit: 'bytes' | 'characters'): string[] {
  return Buffer.byteLength(value) > maximum ? [`must be no more than ${maximum} ${unit}`] : []
}

export function subdomainProblems(value: string): string[] {
  return subdomainProblemsIn(value, 'characters')
}

function subdomainProblemsIn(value: string, unit: 'bytes' | 'characters'): string[] {
  const problems = lengthProblems(value, 253, unit)
  if (!matches.subdomain.test(value)) problems.push(explain(subdomainRule, subdomain, ['example.com']))
  return problems
}

export function labelProblems(value: string): string[] {
  const problems = lengthProblems(value, 63, 'characters')
  if (matches.label.test(value)) return problems
  if (matches.subdomain.test(value)) return [...problems, 'must not contain dots']
  return [...problems, explain(labelRule, label, ['my-name', '123-abc'])]
}

export function label1035Problems(value: string): string[] {
  const problems = lengthProblems(value, 63, 'characters')
  if (!matches.label1035.test(value)) problems.push(explain(label1035Rule, label1035, ['my-name', 'abc-123']))
  return problems
}

/** Validates keys of labels and annotations, finalizers and condition types: a name with an optional domain before a slash. */
export function qualifiedNameProblems(value: string): string[] {
  if (value.length <= 63 && matches.ordinary.test(value)) return []
  const parts = value.split('/')
  const reason = explain(qualifiedRule, qualified, ['MyName', 'my.name', '123-abc'])
  if (parts.length > 2) {
    return [`a valid label key ${reason} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  }
  const name = parts.pop()!
  const [prefix] = parts
  const problems = prefix === undefined ? [] : prefixProblems(prefix)
  if (name === '') problems.push('name part must be non-empty')
  else problems.push(...lengthProblems(name, 63, 'bytes').map((problem) => `name part ${problem}`))
  if (!matches.qualified.test(name)) problems.push(`name part ${reason}`)
  return problems
}

function prefixProblems(prefix: string): string[] {
  const problems = prefix === '' ? ['must be non-empty'] : subdomainProblemsIn(prefix, 'bytes')
  return problems.map((problem) => `prefix part ${problem}`)
}

export function labelValueProblems(value: string): string[] {
  const problems = lengthProblems(value, 63, 'bytes')
  if (!matches.labelValue.test(value)) {
    problems.push(explain(labelValueRule, labelValue, ['MyValue', 'my_value', '12345']))
  }
  return problems
}

/**
 * One of the four rules for object names; returns the problems of a name, or of a `generateName` prefix. This rule is used by most
 * kinds and all custom resources.
 */
export function subdomainNameProblems(name: string, isPrefix: boolean): string[] {
  return subdomainProblems(isPrefix ? maskTrailingDash(name) : name)
}

/** The rule for namespaces and for names that become part of a host name. */
export function labelNameProblems(name: string, isPrefix: boolean): string[] {
  return labelProblems(isPrefix ? maskTrailingDash(name) : name)
}

/** The rule for services. */
export function label1035NameProblems(name: string, isPrefix: boolean): string[] {
  return label1035Problems(isPrefix ? maskTrailingDash(name) : name)
}

/** The rule for RBAC kinds, and the minimum for all kinds: the name must fit into a path. */
export function pathSegmentNameProblems(name: string, isPrefix: boolean): string[] {
  if (!isPrefix && (name === '.' || name === '..')) return [`may not be '${name}'`]
  return ['/', '%'].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`)
}

/** A prefix may end with a dash, since more follows. kube-apiserver also drops the character before the dash. */
function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name
}

/** Without vowels and similar digits, so that no generated name is a bad word. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'
const maxBaseBytes = 58

/**
 * Generates a name from `metadata.generateName`: five random characters are appended, and the base is cut so that the name has at most
 * 63.
 */
export function generateName(base: string): string {
  const suffix = Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return cutToBytes(base, maxBaseBytes) + suffix
}

/** Go cuts at bytes, possibly inside a character; such a name is rejected in both cases. */
function cutToBytes(text: string, maximum: number): string {
  return Buffer.byteLength(text) <= maximum ? text : Buffer.from(text).subarray(0, maximum).toString()
}
