/** Validates the schema of a CRD or of one of its versions with all schema rules. */
import { type FieldError, forbidden, invalid } from '../field-errors.ts'
import type { JsonSchema } from '../schema/structural.ts'
import { findUnsupported } from './completeness.ts'
import type { CrdSchema } from './definition.ts'
import { printSchema, setFields } from './go-print.ts'
import { validateOpenApi } from './openapi.ts'
import { checkRules } from './rule-checks.ts'
import { validateSchemaDefaults } from './schema-defaults.ts'
import { validateStructural } from './structural.ts'

/** Keywords allowed at the root of a schema with a status subresource, because the schema of the status must be found in it. */
const allowedAtRoot: readonly string[] = [
  'Description',
  'Type',
  'Format',
  'Title',
  'Maximum',
  'ExclusiveMaximum',
  'Minimum',
  'ExclusiveMinimum',
  'MaxLength',
  'MinLength',
  'Pattern',
  'MaxItems',
  'MinItems',
  'UniqueItems',
  'MultipleOf',
  'Required',
  'Items',
  'Properties',
  'ExternalDocs',
  'Example',
  'XPreserveUnknownFields',
  'XValidations',
]

export interface SchemaOptions {
  readonly hasStatus: boolean
  /** On an update: true if the schema did not change. */
  readonly isUnchanged: boolean
}

export function validateSchema(
  schema: CrdSchema | undefined,
  { hasStatus, isUnchanged }: SchemaOptions,
  path: string,
): FieldError[] {
  const root = schema?.openAPIV3Schema
  if (!root) return []
  const field = `${path}.openAPIV3Schema`
  const errors: FieldError[] = []
  if (hasStatus) errors.push(...validateRootFields(root, field))
  if (root.nullable) errors.push(forbidden(`${field}.nullable`, 'nullable cannot be true at the root'))
  const unsupported = findUnsupported(root)
  const structural = unsupported === undefined ? validateStructure(root, field) : []
  const schemaErrors = validateOpenApi(root, field)
  const isStructural = unsupported === undefined && structural.length === 0
  const rules = isStructural ? checkRules(root, field, { schemaErrors, isUnchanged }) : []
  errors.push(...structural, ...schemaErrors, ...rules)
  // Reported only if no other check found an error.
  if (errors.length === 0 && unsupported !== undefined) errors.push(invalid(field, '', unsupported))
  return errors
}

function validateStructure(root: JsonSchema, field: string): FieldError[] {
  const errors = validateStructural(field, root)
  return errors.length > 0 ? errors : validateSchemaDefaults(root, field)
}

function validateRootFields(root: NonNullable<CrdSchema['openAPIV3Schema']>, field: string): FieldError[] {
  for (const name of setFields(root)) {
    if (name === 'Type' && root.type !== 'object') {
      const detail =
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
      return [invalid(`${field}.type`, root.type, detail)]
    }
    if (!allowedAtRoot.includes(name)) {
      const detail = `only [${allowedAtRoot.join(' ')}] fields are allowed at the root of the schema if the status subresource is enabled`
      return [{ type: 'FieldValueInvalid', field, body: `Invalid value: ${printSchema(root)}: ${detail}` }]
    }
  }
  return []
}
