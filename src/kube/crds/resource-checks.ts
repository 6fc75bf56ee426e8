/**
 * Validates the options of `defineResource` as apiextensions.k8s.io/v1 validates a CRD: names, group, version, scope. The schemas are
 * checked in crd.ts.
 */
import { KopfError } from '../../errors.ts'
import { isConventionalVersion } from '../resources/selector-notations.ts'
import { isStandardSchema } from './standard-schema.ts'

interface CheckedDefinition {
  readonly group: unknown
  readonly version: unknown
  readonly kind: unknown
  readonly plural: unknown
  readonly singular: unknown
  readonly shortNames: readonly unknown[]
  readonly categories: readonly unknown[]
  readonly scope: unknown
  readonly spec: unknown
  readonly status: unknown
}

const label = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const kindPattern = /^[A-Z][A-Za-z0-9]{0,62}$/

export function checkDefinition(definition: CheckedDefinition): void {
  const { group, version, kind, plural, singular, shortNames, categories, scope, spec, status } = definition
  const fail = (advice: string): never => {
    throw new KopfError('KOPF_RESOURCE', `Cannot define the resource "${String(kind)}": ${advice}`)
  }
  if (!isText(kind, kindPattern)) fail('its kind must be in CamelCase, letters and digits, such as "Database"')
  checkGroup(group, fail)
  if (typeof version !== 'string' || !isConventionalVersion(version)) {
    fail(`its version is "${String(version)}", but must be like "v1", "v1beta1" or "v2alpha1"`)
  }
  const names = [plural, singular, ...shortNames, ...categories]
  const wrong = names.find((name) => !isText(name, label))
  if (wrong !== undefined) {
    fail(`"${String(wrong)}" is no name for it: lower-case letters, digits and dashes, beginning with a letter`)
  }
  if (scope !== 'Namespaced' && scope !== 'Cluster') {
    fail(`its scope is "${String(scope)}", but must be "Namespaced" or "Cluster"`)
  }
  checkSchema('spec', spec, fail)
  checkSchema('status', status, fail)
}

/** Only built-in groups may have no dot. */
function checkGroup(group: unknown, fail: (advice: string) => never): void {
  const isDomain = typeof group === 'string' && group.length <= 253 && group.split('.').every(isSubdomain)
  if (!isDomain) fail(`its group is "${String(group)}", but must be a domain in lower case, such as "example.com"`)
  if (!(group as string).includes('.')) {
    fail(
      `its group is "${String(group)}", but a custom resource needs a domain with a dot, such as "example.com"; ` +
        `for a resource of Kubernetes itself, write resource<T>("${String(group)}/v1", "name")`,
    )
  }
}

function isSubdomain(part: string): boolean {
  return part.length <= 63 && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(part)
}

function checkSchema(field: string, schema: unknown, fail: (advice: string) => never): void {
  if (schema === undefined || isStandardSchema(schema)) return
  fail(`its ${field} is not a schema: give one of zod, valibot, arktype, or of any library that is a Standard Schema`)
}

function isText(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value)
}
