/** Validates the parts of CRD versions other than their schemas: columns, subresources, selectable fields, deprecations. */
import { goJson } from '../../util/json/go-json.ts'
import { duplicate, type FieldError, invalid, required, tooMany } from '../field-errors.ts'
import { findUnsupported } from './completeness.ts'
import type { CrdColumn, CrdSchema, CrdSelectableField, CrdSubresources, CrdVersion } from './definition.ts'
import { findField } from './field-paths.ts'

const columnTypes = 'boolean,date,integer,number,string'
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']
const maxSelectableFields = 8

/** Only checks for a leading dot; the rest of the path is parsed when a table is rendered. */
function validateSimplePath(value: string, field: string): FieldError[] {
  return value.startsWith('.') ? [] : [invalid(field, value, 'must be a simple json path starting with .')]
}

export function validateColumn(column: CrdColumn, field: string): FieldError[] {
  const errors: FieldError[] = []
  const format = column.format ?? ''
  const types = `must be one of ${columnTypes}`
  if (column.name === '') errors.push(required(`${field}.name`))
  if (column.type === '') errors.push(required(`${field}.type`, types))
  else if (!columnTypes.split(',').includes(column.type)) errors.push(invalid(`${field}.type`, column.type, types))
  if (format !== '' && !columnFormats.includes(format)) {
    errors.push(invalid(`${field}.format`, format, `must be one of ${columnFormats.join(',')}`))
  }
  if (column.jsonPath === '') return [...errors, required(`${field}.JSONPath`)]
  return [...errors, ...validateSimplePath(column.jsonPath, `${field}.JSONPath`)]
}

export function validateSubresources(subresources: CrdSubresources | undefined, path: string): FieldError[] {
  const scale = subresources?.scale
  if (!scale) return []
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = '' } = scale
  const check = (name: string, value: string, parents: readonly string[], words: string): FieldError[] => {
    const field = `${path}.scale.${name}`
    const errors = validateSimplePath(value, field)
    if (errors.length > 0 || parents.some((parent) => value.startsWith(parent))) return errors
    return [invalid(field, value, `should be a json path under ${words}`)]
  }
  return [
    ...(specReplicasPath === ''
      ? [required(`${path}.scale.specReplicasPath`)]
      : check('specReplicasPath', specReplicasPath, ['.spec.'], '.spec')),
    ...(statusReplicasPath === ''
      ? [required(`${path}.scale.statusReplicasPath`)]
      : check('statusReplicasPath', statusReplicasPath, ['.status.'], '.status')),
    ...(labelSelectorPath === ''
      ? []
      : check('labelSelectorPath', labelSelectorPath, ['.spec.', '.status.'], 'either .spec or .status')),
  ]
}

export function validateSelectableFields(
  fields: readonly CrdSelectableField[],
  schema: CrdSchema | undefined,
  path: string,
): FieldError[] {
  const root = schema?.openAPIV3Schema
  if (fields.length === 0 || !root || findUnsupported(root) !== undefined) return []
  const seen = new Set<string>()
  const errors = fields.flatMap(({ jsonPath }, index) => {
    const field = `${path}[${index}].jsonPath`
    if (jsonPath === '') return [required(field)]
    const found = findField(jsonPath, root, { allowBrackets: false })
    if ('problem' in found) return [invalid(field, jsonPath, `is an invalid path: ${found.problem}`)]
    const problems: FieldError[] = []
    if (found.names[0] === 'metadata') {
      problems.push(invalid(field, jsonPath, 'must not point to fields in metadata'))
    }
    if (!['string', 'boolean', 'integer'].includes(found.schema?.type ?? '')) {
      const words = 'must point to a field of type string, boolean or integer.'
      problems.push(invalid(field, jsonPath, `${words} Enum string fields and strings with formats are allowed.`))
    }
    const name = found.names.join('.')
    if (seen.has(name)) problems.push(duplicate(field, jsonPath))
    seen.add(name)
    return problems
  })
  return seen.size > maxSelectableFields ? [...errors, tooMany(path, seen.size, maxSelectableFields)] : errors
}

export function validateDeprecation({ deprecated, deprecationWarning }: CrdVersion, field: string): FieldError[] {
  if (deprecationWarning === undefined) return []
  // The real server prints a string behind a pointer as JSON.
  const error = (detail: string): FieldError => {
    return { type: 'FieldValueInvalid', field, body: `Invalid value: ${goJson(deprecationWarning)}: ${detail}` }
  }
  if (!deprecated) return [error('can only be set for deprecated versions')]
  const errors: FieldError[] = []
  if (Buffer.byteLength(deprecationWarning) > 256) errors.push(error('must be <= 256 characters long'))
  if (deprecationWarning === '') errors.push(error('must not be an empty string'))
  const hidden = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(deprecationWarning)
  if (hidden) {
    const index = Buffer.byteLength(deprecationWarning.slice(0, hidden.index))
    const words = `non-printable character found at index ${index}`
    errors.push(error(`must only contain printable UTF-8 characters; ${words}`))
  }
  return errors
}
