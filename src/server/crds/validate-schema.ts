/** Validates the schema of a CRD, or of one of its versions, with all the rules there are for schemas. */
import { type FieldError, forbidden, invalid } from '../field-errors.ts'
import { findUnsupported } from './completeness.ts'
import type { CrdSchema } from './definition.ts'
import { printSchema, setFields } from './go-print.ts'
import { validateOpenApi } from './openapi.ts'
import { validateSchemaDefaults } from './schema-defaults.ts'
import { validateStructural } from './structural.ts'

/** With a status subresource, these are what the root may have: the schema of the status has to be found in it. */
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

export function validateSchema(schema: CrdSchema | undefined, hasStatus: boolean, path: string): FieldError[] {
  const root = schema?.openAPIV3Schema
  if (!root) return []
  const field = `${path}.openAPIV3Schema`
  const errors: FieldError[] = []
  if (hasStatus) errors.push(...validateRootFields(root, field))
  if (root.nullable) errors.push(forbidden(`${field}.nullable`, 'nullable cannot be true at the root'))
  const unsupported = findUnsupported(root)
  if (unsupported === undefined) {
    const structural = validateStructural(field, root)
    errors.push(...(structural.length > 0 ? structural : validateSchemaDefaults(root, field)))
  }
  errors.push(...validateOpenApi(root, field))
  // Said only if nothing said it better.
  if (errors.length === 0 && unsupported !== undefined) errors.push(invalid(field, '', unsupported))
  return errors
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
