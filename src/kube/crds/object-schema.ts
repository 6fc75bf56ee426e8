/**
 * The OpenAPI schema of a resource from `defineResource`: Standard Schemas become structural schemas as far as the API server can check
 * them. crd.ts puts the schema into the CRD; schema-paths.ts looks up fields in it.
 */
import { KopfError } from '../../errors.ts'
import { findPath } from './schema-paths.ts'
import { isStandardSchema, type StandardSchemaV1 } from './standard-schema.ts'
import { anyFields, type Schema, toStructural } from './structural-schema.ts'
import type { CrdVersionOptions } from './version-options.ts'

/** The parts of a resource definition that its schema is made of. */
export interface SchemaParts extends Pick<CrdVersionOptions, 'description' | 'preserveUnknownFields'> {
  readonly group: string
  readonly plural: string
  readonly spec: StandardSchemaV1 | undefined
  readonly status: StandardSchemaV1 | undefined
}

/** The schema of the whole object, without the rules of the resource. */
export function toObjectSchema(parts: SchemaParts): Schema {
  const { description, preserveUnknownFields } = parts
  const fields = parts.spec === undefined && parts.status === undefined ? anyFields : declaredFields(parts)
  return {
    ...(description === undefined ? {} : { description }),
    ...fields,
    ...(preserveUnknownFields === true ? anyFields : {}),
  }
}

function declaredFields(parts: SchemaParts): Schema {
  const spec = specSchema(parts)
  return {
    type: 'object',
    properties: { spec, status: statusSchema(parts) },
    ...(spec['required'] === undefined ? {} : { required: ['spec'] }),
  }
}

/** The API server sets defaults only in objects that are present, so a spec without required fields defaults to an empty object. */
function specSchema(parts: SchemaParts): Schema {
  const schema = fieldSchema(parts, 'spec')
  const isOptional = schema['type'] === 'object' && schema['required'] === undefined && schema['default'] === undefined
  return parts.spec !== undefined && isOptional ? { ...schema, default: {} } : schema
}

/**
 * Unknown fields are preserved, since results and progress of handlers are stored in the status. No field is required: handlers set
 * them one by one.
 */
function statusSchema(parts: SchemaParts): Schema {
  const { required: _, default: __, ...schema } = fieldSchema(parts, 'status')
  return { ...schema, ...anyFields }
}

/** The schema of `spec` or `status` as the author wrote it. Any fields are allowed without a schema, or if the library cannot express it. */
function fieldSchema(parts: SchemaParts, field: 'spec' | 'status'): Schema {
  const converter = parts[field]?.['~standard'].jsonSchema
  if (converter === undefined) return { ...anyFields }
  try {
    const structural = toStructural(toJsonSchema(converter.input))
    return structural['type'] === undefined ? { ...structural, ...anyFields } : structural
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new KopfError(
      'KOPF_CRD',
      `Cannot create the CRD of ${parts.plural}.${parts.group}: its ${field} has types that JSON does not ` +
        `have (${reason}); store dates as strings, and numbers too large as strings`,
      { cause: error },
    )
  }
}

/** The fields that the author has declared, for schema-paths.ts. A schema that cannot be converted counts as open; `toCrd` reports it. */
export function declaredSchema(parts: SchemaParts): Schema {
  const { spec, status, preserveUnknownFields } = parts
  if (spec === undefined && status === undefined) return anyFields
  const fieldOrOpen = (field: 'spec' | 'status'): Schema => {
    try {
      return fieldSchema(parts, field)
    } catch {
      return anyFields
    }
  }
  return {
    type: 'object',
    properties: { spec: fieldOrOpen('spec'), status: fieldOrOpen('status') },
    ...(preserveUnknownFields === true ? anyFields : {}),
  }
}

/** Whether the schema of `status` has the field; false for a resource without a schema. */
export function hasStatusField(resource: unknown, field: string): boolean {
  const parts = (resource ?? {}) as SchemaParts
  if (!isStandardSchema(parts.status)) return false
  return findPath(declaredSchema(parts), `status.${field}`).type === 'declared'
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
