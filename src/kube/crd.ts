/**
 * The CustomResourceDefinition of a resource that the user has defined, for `kopf crd` and for tests. The schemas of the
 * user become the schema of the API server, as far as it can check them.
 */
import { KopfError } from '../errors.ts'
import type { KubeObject } from './objects.ts'
import type { CustomResource } from './resources.ts'
import type { StandardSchemaV1 } from './schemas.ts'
import { type Schema, toStructural } from './structural.ts'

const anything: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

/** An `apiextensions.k8s.io/v1` definition with one version, served and stored. */
export function toCrd(definition: CustomResource<object>): KubeObject {
  const { group, version, kind, plural, singular, shortNames, categories, scope } = definition
  if (kind === undefined || plural === undefined) {
    throw new KopfError(
      'KOPF_CRD',
      'Cannot make a definition of a resource that is only named: define it with defineResource',
    )
  }
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
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: objectSchema(definition) },
          ...(definition.status === undefined ? {} : { subresources: { status: {} } }),
        },
      ],
    },
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
