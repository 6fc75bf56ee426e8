/**
 * Validates the defaults in a schema: each must conform to its schema and contain no fields that would be pruned. Called by
 * validate-schema.ts.
 */
import type { Json, JsonObject } from '../../kube/objects.ts'
import { cloneJson, isDeepEqual } from '../../util/json/deep-equal.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { celEngine } from '../cel/lazy.ts'
import { type FieldError, formatFieldError, invalid } from '../field-errors.ts'
import { coerceEmbedded, validateEmbedded } from '../schema/embedded.ts'
import { pruneObject, pruneValue } from '../schema/prune.ts'
import { compileSchema, type JsonSchema, type SchemaNode } from '../schema/structural.ts'
import { validateValue } from '../schema/validate.ts'

/** Context of a schema. A default inside metadata is validated as part of the whole object, which `wrap` builds. */
interface DefaultContext {
  readonly root: JsonSchema
  readonly isInMeta: boolean
  readonly wrap: (value: unknown) => unknown
}

export function validateSchemaDefaults(schema: JsonSchema, path: string): FieldError[] {
  return validate(schema, path, { root: schema, isInMeta: false, wrap: (value) => value }, true)
}

/** Defaults below `additionalProperties` are not validated, as in the real server. */
function validate(schema: JsonSchema, path: string, outer: DefaultContext, isRoot = false): FieldError[] {
  const isResource = isRoot || (schema['x-kubernetes-embedded-resource'] ?? false)
  const place = isResource ? { root: schema, isInMeta: false, wrap: (value: unknown) => value } : outer
  const errors = schema.default === undefined ? [] : validateDefault(schema, path, place)
  if (isPlainObject(schema.items)) {
    const inside = { ...place, wrap: (value: unknown) => place.wrap([value]) }
    errors.push(...validate(schema.items as JsonSchema, `${path}.items`, inside))
  }
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    const isMeta = isResource && (name === 'metadata' || name === 'apiVersion' || name === 'kind')
    const inside = {
      ...place,
      isInMeta: place.isInMeta || isMeta,
      wrap: (value: unknown) => place.wrap({ [name]: value }),
    }
    errors.push(...validate(child, `${path}.properties[${name}]`, inside))
  }
  return errors
}

function validateDefault(schema: JsonSchema, path: string, place: DefaultContext): FieldError[] {
  const field = `${path}.default`
  const value = schema.default!
  const node = compileSchema(schema, { forDefaults: true })
  if (place.isInMeta) {
    const problem = metadataProblem(schema, place)
    if (problem !== undefined) return [invalid(field, value, `must result in valid metadata: ${problem}`)]
    return validateBySchema(node, value, field)
  }
  const errors: FieldError[] = []
  const pruned = cloneJson(value)
  if (node.embedded && isPlainObject(pruned)) pruneObject(pruned, node)
  else pruneValue(pruned, node)
  if (!isDeepEqual(pruned, value)) errors.push(invalid(field, value, 'must not have unknown fields'))
  const coerced = coerceEmbedded(cloneJson(value), node, field)
  if ('error' in coerced) return [...errors, coerced.error]
  const embedded = validateEmbedded(value, node, field)
  return [...errors, ...(embedded.length > 0 ? embedded : validateBySchema(node, value, field))]
}

/** CEL rules run only if the schema itself reports no errors. */
function validateBySchema(node: SchemaNode, value: Json, field: string): FieldError[] {
  const errors = validateValue(node, value, { prefix: field })
  if (errors.length > 0 || !node.needs.rules) return errors
  return celEngine().createRuleValidator(node, node.embedded).validateDefault(value, field)
}

function metadataProblem(schema: JsonSchema, { root, wrap }: DefaultContext): string | undefined {
  const typeMeta = { apiVersion: 'validation/v1', kind: 'Validation' }
  const object = { ...typeMeta, ...(wrap(cloneJson(schema.default)) as JsonObject) }
  const node = compileSchema({ ...root, 'x-kubernetes-embedded-resource': true }, { forDefaults: true })
  const coerced = coerceEmbedded(object, node, '')
  if ('error' in coerced) return formatFieldError(coerced.error)
  const errors = validateEmbedded(object, node, '').map(formatFieldError)
  if (errors.length === 0) return undefined
  return errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`
}
