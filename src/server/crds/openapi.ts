/**
 * Validates a CRD schema keyword by keyword: the real server's rules beyond the structural check. CEL rules are checked here
 * without being compiled; rule-checks.ts compiles them. Called by validate-schema.ts.
 */

import { isPlainObject } from '../../util/json/json.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../field-errors.ts'
import type { JsonSchema } from '../schema/structural.ts'
import { validateListSchema } from './list-schemas.ts'
import { validateRules } from './rules.ts'

/** Constraints inherited from the enclosing schemas. */
interface SchemaConstraints {
  /** Why defaults are forbidden; undefined if they are allowed. */
  readonly noDefaults: string | undefined
  /** Inside `metadata`, `kind` or `apiVersion` of the resource or of an embedded resource. */
  readonly isInMeta: boolean
}

const types: readonly string[] = ['array', 'boolean', 'integer', 'number', 'object', 'string']
const metaFields: ReadonlySet<string> = new Set(['metadata', 'kind', 'apiVersion'])

export function validateOpenApi(schema: JsonSchema, path: string): FieldError[] {
  return validate(schema, path, { noDefaults: undefined, isInMeta: false }, true)
}

function validate(schema: JsonSchema, path: string, around: SchemaConstraints, isRoot: boolean): FieldError[] {
  const errors = validateOwn(schema, path, around)
  if (schema.uniqueItems) {
    const detail = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic'
    errors.push(forbidden(`${path}.uniqueItems`, detail))
  }
  return [
    ...errors,
    ...validateAdditional(schema, path, around),
    ...validateProperties(schema, path, around, isRoot),
    ...validateNested(schema, path, around),
    ...validateMapType(schema, path),
    ...validateListSchema(schema, path),
    ...validateRules(schema, path),
  ]
}

function validateOwn(schema: JsonSchema, path: string, { noDefaults, isInMeta }: SchemaConstraints): FieldError[] {
  const { type = '' } = schema
  const errors: FieldError[] = []
  if (type !== '' && !types.includes(type)) errors.push(notSupported(`${path}.type`, type, types))
  if (schema.default !== undefined && noDefaults !== undefined) {
    errors.push(forbidden(`${path}.default`, `must not be set ${noDefaults}`))
  }
  for (const name of ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'] as const) {
    if (schema[name] !== undefined) errors.push(forbidden(`${path}.${name}`, `${name} is not supported`))
  }
  if (type === 'null') {
    errors.push(forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'))
  }
  if (Array.isArray(schema.items)) {
    errors.push(forbidden(`${path}.items`, 'items must be a schema object and not an array'))
  }
  if (isInMeta && schema['x-kubernetes-embedded-resource']) {
    errors.push(forbidden(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta'))
  }
  return errors
}

function validateAdditional(schema: JsonSchema, path: string, around: SchemaConstraints): FieldError[] {
  const { additionalProperties: additional, properties } = schema
  if (additional === undefined) return []
  const errors: FieldError[] = []
  if (properties !== undefined && additional !== true) {
    const detail = 'additionalProperties and properties are mutual exclusive'
    errors.push(forbidden(`${path}.additionalProperties`, detail))
  }
  if (!isPlainObject(additional)) return errors
  const inside = around.isInMeta
    ? { ...around, noDefaults: 'inside additionalProperties applying to object metadata' }
    : around
  return [...errors, ...validate(additional as JsonSchema, `${path}.additionalProperties`, inside, false)]
}

function validateProperties(
  schema: JsonSchema,
  path: string,
  around: SchemaConstraints,
  isRoot: boolean,
): FieldError[] {
  const isResource = isRoot || schema['x-kubernetes-embedded-resource']
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const isMeta = isResource && metaFields.has(name)
    const inside = {
      noDefaults: isMeta && isRoot ? `in top-level ${name}` : around.noDefaults,
      isInMeta: around.isInMeta || Boolean(isMeta),
    }
    return validate(child, `${path}.properties[${name}]`, inside, false)
  })
}

function validateNested(schema: JsonSchema, path: string, around: SchemaConstraints): FieldError[] {
  const { not, allOf = [], oneOf = [], anyOf = [], definitions = {}, items, dependencies = {} } = schema
  const check = (child: JsonSchema, name: string): FieldError[] => validate(child, `${path}.${name}`, around, false)
  const dependent = Object.entries(dependencies).filter(([, value]) => isPlainObject(value))
  return [
    ...(not ? check(not, 'not') : []),
    ...allOf.flatMap((child, index) => check(child, `allOf[${index}]`)),
    ...oneOf.flatMap((child, index) => check(child, `oneOf[${index}]`)),
    ...anyOf.flatMap((child, index) => check(child, `anyOf[${index}]`)),
    ...Object.entries(definitions).flatMap(([name, child]) => check(child, `definitions[${name}]`)),
    ...(Array.isArray(items) ? items.flatMap((child, index) => check(child, `items[${index}]`)) : []),
    ...(isPlainObject(items) ? check(items as JsonSchema, 'items') : []),
    ...dependent.flatMap(([name, child]) => check(child as JsonSchema, `dependencies[${name}]`)),
  ]
}

function validateMapType(schema: JsonSchema, path: string): FieldError[] {
  const { type = '', 'x-kubernetes-map-type': mapType } = schema
  const errors: FieldError[] = []
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    errors.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'))
  }
  if (mapType === undefined) return errors
  if (type !== 'object') {
    const detail = 'must be object if x-kubernetes-map-type is specified'
    errors.push(type === '' ? required(`${path}.type`, detail) : invalid(`${path}.type`, type, detail))
  }
  if (mapType !== 'atomic' && mapType !== 'granular') {
    errors.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']))
  }
  return errors
}
