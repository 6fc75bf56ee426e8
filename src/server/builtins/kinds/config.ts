/** Rules for ConfigMap and Secret. */
import type { KubeObject } from '../../../kube/objects.ts'
import { type FieldError, forbidden, invalid, required, tooLong } from '../../field-errors.ts'
import { subdomainNameProblems } from '../../names.ts'
import { base64Length } from '../base64.ts'
import { checkImmutable, problemsAt } from '../checks.ts'
import type { KindRules } from '../strategy.ts'
import { configKeyProblems } from '../validation/keys.ts'
import { isEqual } from '../values.ts'

type Texts = Readonly<Record<string, string>>

const maxSize = 1024 * 1024

const textsOf = (object: KubeObject, field: string): Texts => (object[field] ?? {}) as Texts

function sizeOf(texts: Texts, isBase64: boolean): number {
  return Object.values(texts).reduce((sum, text) => sum + (isBase64 ? base64Length(text) : Buffer.byteLength(text)), 0)
}

function checkKeys(field: string, texts: Texts): FieldError[] {
  return Object.keys(texts).flatMap((key) => problemsAt(`${field}[${key}]`, key, configKeyProblems(key)))
}

function validateConfigMap(object: KubeObject): FieldError[] {
  const [data, binaryData] = [textsOf(object, 'data'), textsOf(object, 'binaryData')]
  const errors = Object.keys(data).flatMap((key) => {
    const problems = configKeyProblems(key)
    if (Object.hasOwn(binaryData, key)) problems.push('duplicate of key present in binaryData')
    return problemsAt(`data[${key}]`, key, problems)
  })
  errors.push(...checkKeys('binaryData', binaryData))
  // The real server reports this error with an empty path, which prints as `[]`.
  if (sizeOf(data, false) + sizeOf(binaryData, true) > maxSize) errors.push(tooLong('[]', maxSize))
  return errors
}

function checkFrozen(object: KubeObject, old: KubeObject, fields: readonly string[]): FieldError[] {
  if (old['immutable'] !== true) return []
  const message = 'field is immutable when `immutable` is set'
  const errors = object['immutable'] === true ? [] : [forbidden('immutable', message)]
  const changed = fields.filter((field) => !isEqual(object[field], old[field]))
  return [...errors, ...changed.map((field) => forbidden(field, message))]
}

/** ConfigMap and Secret validate their metadata on every update, including `generateName`. */
function checkPrefix({ metadata: { generateName } }: KubeObject): FieldError[] {
  return generateName
    ? problemsAt('metadata.generateName', generateName, subdomainNameProblems(generateName, true))
    : []
}

export const configMapRules: KindRules = {
  validate: validateConfigMap,
  validateChange: (object, old) => [...checkFrozen(object, old, ['data', 'binaryData']), ...checkPrefix(object)],
}

const requiredKeys: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
}

function checkSecretType(secret: KubeObject): FieldError[] {
  const type = secret['type'] as string
  const data = textsOf(secret, 'data')
  const has = (key: string): boolean => Object.hasOwn(data, key)
  if (type === 'kubernetes.io/service-account-token') {
    const key = 'kubernetes.io/service-account.name'
    return secret.metadata.annotations?.[key] ? [] : [required(`metadata.annotations[${key}]`)]
  }
  if (type === 'kubernetes.io/basic-auth') {
    return has('username') || has('password') ? [] : [required('data[username]'), required('data[password]')]
  }
  if (type === 'kubernetes.io/ssh-auth') return data['ssh-privatekey'] ? [] : [required('data[ssh-privatekey]')]
  const keys = Object.hasOwn(requiredKeys, type) ? requiredKeys[type]! : []
  const missing = keys.filter((key) => !has(key)).map((key) => required(`data[${key}]`))
  const isRegistry = type.startsWith('kubernetes.io/docker') && keys.length > 0
  return isRegistry && missing.length === 0 ? checkRegistry(keys[0]!, data[keys[0]!]!) : missing
}

/** Validates the Docker registry configuration. The reasons are Go's messages for the most common JSON errors. */
function checkRegistry(key: string, content: string): FieldError[] {
  const text = Buffer.from(content, 'base64').toString()
  const problem = registryProblem(text)
  return problem === undefined ? [] : [invalid(`data[${key}]`, '<secret contents redacted>', problem)]
}

function registryProblem(text: string): string | undefined {
  const first = text.trimStart()[0]
  if (first === undefined) return 'unexpected end of JSON input'
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && !Array.isArray(parsed)) return undefined
    const what = Array.isArray(parsed) ? 'array' : typeof parsed === 'boolean' ? 'bool' : typeof parsed
    return `json: cannot unmarshal ${what} into Go value of type map[string]interface {}`
  } catch {
    return first === '{'
      ? 'unexpected end of JSON input'
      : `invalid character '${first}' looking for beginning of value`
  }
}

function validateSecret(secret: KubeObject): FieldError[] {
  const data = textsOf(secret, 'data')
  const errors = checkKeys('data', data)
  if (sizeOf(data, true) > maxSize) errors.push(tooLong('data', maxSize))
  return [...errors, ...checkSecretType(secret)]
}

export const secretRules: KindRules = {
  validate: validateSecret,
  validateChange: (object, old) => [
    ...checkImmutable('type', object['type'], old['type']),
    ...checkFrozen(object, old, ['data']),
    ...checkPrefix(object),
  ],
  selectable: { type: (secret) => (secret['type'] as string | undefined) ?? '' },
}
