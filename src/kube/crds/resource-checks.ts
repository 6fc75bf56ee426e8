/**
 * Validates the options of `defineResource` as apiextensions.k8s.io/v1 validates a CRD: names, group, version, scope here, the options of the
 * version in version-checks.ts. The schemas are converted in object-schema.ts.
 */
import { KopfError } from '../../errors.ts'
import { lazy } from '../../util/lazy.ts'
import { checkNames } from '../../util/option-checks.ts'
import { isConventionalVersion } from '../resources/selector-notations.ts'
import { declaredSchema, type SchemaParts } from './object-schema.ts'
import { isStandardSchema } from './standard-schema.ts'
import { checkVersionOptions } from './version-checks.ts'
import type { CrdVersionOptions } from './version-options.ts'

/** Values of any type, since users of plain JavaScript may pass anything. */
interface CheckedDefinition {
  readonly group: unknown
  readonly version: unknown
  readonly kind: unknown
  readonly plural: unknown
  readonly singular: unknown
  readonly listKind?: unknown
  readonly shortNames: unknown
  readonly categories: unknown
  readonly scope: unknown
  readonly spec: unknown
  readonly status: unknown
}

const nameOptions = ['group', 'version', 'kind', 'plural', 'singular', 'listKind', 'shortNames', 'categories', 'scope']
const schemaOptions = ['spec', 'status']

/** The names of the options that only the CRD needs, complete by the type. */
const versionOptions: Readonly<Record<keyof CrdVersionOptions, true>> = {
  ...{ description: true, printerColumns: true, scale: true, rules: true, selectableFields: true, deprecated: true },
  ...{ served: true, storage: true, preserveUnknownFields: true, labels: true, annotations: true },
}
export const versionOptionNames = Object.keys(versionOptions) as readonly (keyof CrdVersionOptions)[]

const label = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const kindPattern = /^[A-Z][A-Za-z0-9]{0,62}$/

type Fail = (advice: string) => never

/** `given` are the options as passed, of which only the names are checked; `definition` has the defaults filled in. */
export function checkDefinition(definition: CheckedDefinition & CrdVersionOptions, given: object): void {
  const { kind, version, scope, spec, status } = definition
  const fail: Fail = (advice) => {
    throw new KopfError('KOPF_RESOURCE', `Cannot define the resource "${String(kind)}": ${advice}`)
  }
  // Another definition may be spread into the options: `{ ...Database, version: 'v2' }`. Its selector is computed again.
  const names = Object.keys(given).filter((name) => name !== 'selector')
  checkNames(names, [...nameOptions, ...schemaOptions, ...versionOptionNames], fail)
  if (!isText(kind, kindPattern)) fail('its kind must be in CamelCase, letters and digits, such as "Database"')
  checkGroup(definition.group, fail)
  if (typeof version !== 'string' || !isConventionalVersion(version)) {
    fail(`its version is "${String(version)}", but must be like "v1", "v1beta1" or "v2alpha1"`)
  }
  checkResourceNames(definition, fail)
  if (scope !== 'Namespaced' && scope !== 'Cluster') {
    fail(`its scope is "${String(scope)}", but must be "Namespaced" or "Cluster"`)
  }
  checkSchema('spec', spec, fail)
  checkSchema('status', status, fail)
  const declared = lazy(() => declaredSchema(definition as SchemaParts))
  checkVersionOptions(definition, { kind: kind as string, declared, fail })
}

function checkResourceNames(definition: CheckedDefinition, fail: Fail): void {
  const { kind, plural, singular, listKind, shortNames, categories } = definition
  const lists = [shortNames, categories]
  if (!lists.every(Array.isArray)) fail('"shortNames" and "categories" must be lists of names, such as ["db"]')
  const wrong = [plural, singular, ...lists.flat()].find((name) => !isText(name, label))
  if (wrong !== undefined) {
    fail(
      `"${String(wrong)}" is not a valid name: expected lower-case letters, digits and dashes, beginning with a letter`,
    )
  }
  if (listKind === undefined) return
  if (!isText(listKind, kindPattern) || listKind === kind) {
    fail(
      `its listKind is "${String(listKind)}", but must be in CamelCase and not the kind, such as "${String(kind)}List"`,
    )
  }
}

/** Only built-in groups may have no dot. */
function checkGroup(group: unknown, fail: Fail): void {
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

function checkSchema(field: string, schema: unknown, fail: Fail): void {
  if (schema === undefined || isStandardSchema(schema)) return
  fail(`its ${field} is not a schema: give one of zod, valibot, arktype, or of any library that is a Standard Schema`)
}

function isText(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value)
}
