/**
 * The CustomResourceDefinition of a resource that the user has defined, for `kopf crd` and for tests. The schemas of the
 * user become the schema of the API server, as far as it can check them.
 */
import { KopfError } from '../errors.ts'
import { compareKubeVersions } from './kube-versions.ts'
import type { KubeObject } from './objects.ts'
import type { CustomResource } from './resources.ts'
import { isStandardSchema, type StandardSchemaV1 } from './schemas.ts'
import { type Schema, toStructural } from './structural.ts'

const anything: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

/**
 * An `apiextensions.k8s.io/v1` definition. The first version given is the one that is stored; further ones are served too, and
 * need conversions (`on.convert`) where they differ in more than their name.
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

/** One for each resource, with all of its versions; the one that Kubernetes would prefer is stored. */
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

/** Whether the status of its objects is known to have the field; false for a resource that is only named. */
export function hasStatusField(resource: unknown, field: string): boolean {
  const { status } = (resource ?? {}) as Partial<CustomResource<object>>
  if (!isStandardSchema(status)) return false
  try {
    const { properties } = convert(resource as CustomResource<object>, 'status', status)
    return Object.hasOwn((properties ?? {}) as object, field)
  } catch {
    // Whoever makes a definition of it is told.
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

/** The API server fills defaults only into what is there: where nothing is required, an empty spec is there always. */
function specSchema(definition: CustomResource<object>): Schema {
  const schema = convert(definition, 'spec', definition.spec)
  const isOptional = schema['type'] === 'object' && schema['required'] === undefined && schema['default'] === undefined
  return definition.spec !== undefined && isOptional ? { ...schema, default: {} } : schema
}

/**
 * Handlers' results and progress are stored there too, under names no schema knows; and fields come one after the other,
 * so that none can be required from the beginning.
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

/** What users may write is the input: fields with defaults are not required. Not all libraries speak OpenAPI. */
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
