/**
 * Creates the CRD of a resource from `defineResource`, for `kopf crd` and for tests. Standard Schemas become OpenAPI schemas as far
 * as the API server can check them.
 */
import { KopfError } from '../../errors.ts'
import type { KubeObject } from '../objects.ts'
import type { CustomResource } from '../resources/resources.ts'
import { compareKubeVersions } from './kube-versions.ts'
import { isStandardSchema, type StandardSchemaV1 } from './standard-schema.ts'
import { type Schema, toStructural } from './structural-schema.ts'

const anything: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

/**
 * Creates the CRD (`apiextensions.k8s.io/v1`) of a resource. The first definition is the storage version; further versions are served
 * too, and need conversion handlers (`on.convert`) if their schemas differ.
 *
 * @example
 * ```ts
 * await client.apply(toCrd(Database))
 * ```
 */
export function toCrd(definition: CustomResource<object>, ...versions: readonly CustomResource<object>[]): KubeObject {
  checkVersions(definition, versions)
  const { group, kind, plural, singular, shortNames, categories, scope } = definition
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        ...(shortNames.length > 0 ? { shortNames: [...shortNames] } : {}),
        ...(categories.length > 0 ? { categories: [...categories] } : {}),
      },
      versions: [definition, ...versions].map((one, position) => ({
        name: one.version,
        served: true,
        storage: position === 0,
        schema: { openAPIV3Schema: objectSchema(one) },
        ...(one.status === undefined ? {} : { subresources: { status: {} } }),
      })),
    },
  }
}

/** One CRD per resource, with all its versions. The version with the highest Kubernetes priority is the storage version. */
export function toCrds(definitions: readonly CustomResource<object>[]): KubeObject[] {
  const byName = new Map<string, CustomResource<object>[]>()
  for (const definition of definitions) {
    const name = `${definition.plural}.${definition.group}`
    byName.set(name, [...(byName.get(name) ?? []), definition])
  }
  return [...byName.values()].map((versions) => {
    const [stored, ...others] = versions.toSorted((a, b) => compareKubeVersions(b.version, a.version))
    return toCrd(stored!, ...others)
  })
}

/** Whether the schema of `status` has the field; false for a resource without a schema. */
export function hasStatusField(resource: unknown, field: string): boolean {
  const { status } = (resource ?? {}) as Partial<CustomResource<object>>
  if (!isStandardSchema(status)) return false
  try {
    const { properties } = convert(resource as CustomResource<object>, 'status', status)
    return Object.hasOwn((properties ?? {}) as object, field)
  } catch {
    // `toCrd` reports the invalid schema.
    return false
  }
}

function checkVersions(definition: CustomResource<object>, versions: readonly CustomResource<object>[]): void {
  const { group, plural, kind } = definition
  if (kind === undefined || plural === undefined) {
    throw new KopfError(
      'KOPF_CRD',
      'Cannot make a definition of a resource that is only named: define it with defineResource',
    )
  }
  const names = new Set([definition.version])
  for (const other of versions) {
    const isSame = other.group === group && other.plural === plural && other.kind === kind
    if (isSame && !names.has(other.version)) names.add(other.version)
    else {
      const why = isSame
        ? `the version ${other.version} is there twice`
        : `${other.plural}.${other.group} is another one`
      throw new KopfError('KOPF_CRD', `Cannot make one definition of several versions of ${plural}.${group}: ${why}`)
    }
  }
}

function objectSchema(definition: CustomResource<object>): Schema {
  if (definition.spec === undefined && definition.status === undefined) return { ...anything }
  const spec = specSchema(definition)
  return {
    type: 'object',
    properties: { spec, status: statusSchema(definition) },
    ...(spec['required'] === undefined ? {} : { required: ['spec'] }),
  }
}

/** The API server sets defaults only in objects that are present, so a spec without required fields defaults to an empty object. */
function specSchema(definition: CustomResource<object>): Schema {
  const schema = convert(definition, 'spec', definition.spec)
  const isOptional = schema['type'] === 'object' && schema['required'] === undefined && schema['default'] === undefined
  return definition.spec !== undefined && isOptional ? { ...schema, default: {} } : schema
}

/**
 * Unknown fields are preserved, since results and progress of handlers are stored in the status. No field is required: handlers set
 * them one by one.
 */
function statusSchema(definition: CustomResource<object>): Schema {
  const { required: _, default: __, ...schema } = convert(definition, 'status', definition.status)
  return { ...schema, ...anything }
}

function convert(definition: CustomResource<object>, field: string, schema: StandardSchemaV1 | undefined): Schema {
  const converter = schema?.['~standard'].jsonSchema
  if (converter === undefined) return { ...anything }
  try {
    const structural = toStructural(toJsonSchema(converter.input))
    return structural['type'] === undefined ? { ...structural, ...anything } : structural
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new KopfError(
      'KOPF_CRD',
      `Cannot make a definition of ${definition.plural}.${definition.group}: its ${field} has types that JSON does not ` +
        `have (${reason}); store dates as strings, and numbers too large as strings`,
      { cause: error },
    )
  }
}

/** The JSON Schema of the input type, in which fields with defaults are optional. Not all libraries support the OpenAPI target. */
function toJsonSchema(write: (options: { readonly target: string }) => Schema): Schema {
  try {
    return write({ target: 'openapi-3.0' })
  } catch (error) {
    try {
      return write({ target: 'draft-2020-12' })
    } catch {
      throw error
    }
  }
}
