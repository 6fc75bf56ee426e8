/**
 * Converts JSON Schema of schema libraries into structural OpenAPI 3.0 schemas, which Kubernetes requires:
 * a type at every node, no references, no unions of shapes, no `additionalProperties` beside properties.
 * Parts that cannot be expressed are left unchecked, with a note in the description. Called by crd.ts.
 */
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import { isPlainObject } from '../../util/json/json.ts'

export type Schema = Record<string, unknown>

/** The root of `$ref` paths, and the targets being converted: a reference to one of them is recursive. */
interface SchemaContext {
  readonly root: Schema
  readonly trail: readonly unknown[]
}

export const preserve = 'x-kubernetes-preserve-unknown-fields'
const intOrString = 'x-kubernetes-int-or-string'
const embedded = 'x-kubernetes-embedded-resource'
const rules = 'x-kubernetes-validations'
/** The extensions that replace the type of a schema. */
const typeExtensions = [preserve, intOrString, embedded]

/** The schema of an object with any fields. */
export const anyFields: Schema = { type: 'object', [preserve]: true }

const openNote = 'One of several shapes, not checked by the API server.'
const annotations = ['title', 'description', 'default', 'example', 'externalDocs'] as const
const validations = ['minLength', 'maxLength', 'pattern', 'format', 'minItems', 'maxItems', 'multipleOf', 'enum']
const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minProperties', 'maxProperties']

export function toStructural(schema: Schema): Schema {
  return convert(schema, { root: schema, trail: [] })
}

function convert(given: unknown, context: SchemaContext): Schema {
  if (!isSchema(given)) return { [preserve]: true }
  const schema = withoutNull(withoutConst(given))
  const merged = Array.isArray(schema['allOf']) ? mergeAll(schema, context) : schema
  const result = withExtensions(convertValue(merged, context), merged)
  const isNullable = merged['nullable'] === true || result['nullable'] === true
  const annotated = { ...result, ...annotationsOf(merged, result) }
  return isNullable ? { ...withoutEnum(annotated), nullable: true } : annotated
}

function convertValue(schema: Schema, context: SchemaContext): Schema {
  if (typeof schema['$ref'] === 'string') return convertReference(schema['$ref'], context)
  const members = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(members)) return unite(members.map((one) => convert(one, context)))
  return convertNode(schema, context)
}

/**
 * Adds the `x-kubernetes-` extensions that the author wrote beside a schema, with zod's `.meta()`. An extension that changes the type wins
 * over the type of the schema: `int-or-string` allows none, `embedded-resource` only `object`.
 */
function withExtensions(schema: Schema, given: Schema): Schema {
  const extensions = extensionsOf(given)
  if (Object.keys(extensions).length === 0) return schema
  const inherited = listOf(schema[rules])
  const own = listOf(extensions[rules])
  const extended: Schema = {
    ...schema,
    ...extensions,
    ...(inherited.length > 0 ? { [rules]: [...inherited, ...own] } : {}),
  }
  if (extended[intOrString] === true) {
    const { [preserve]: _, ...others } = extensionsOf(extended)
    return { ...pick(schema, [...validations, ...bounds, 'nullable']), ...others }
  }
  if (extended[embedded] !== true) return extended
  const { additionalProperties: _, ...resource } = extended
  return { ...resource, type: 'object', ...(isSchema(resource['properties']) ? {} : { [preserve]: true }) }
}

function extensionsOf(schema: Schema): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key.startsWith('x-kubernetes-')))
}

/** Replaces a reference by its target: structural schemas have no references. A recursive reference is left unchecked. */
function convertReference(reference: string, { root, trail }: SchemaContext): Schema {
  const target = resolve(root, reference)
  if (target === undefined || target === root || trail.includes(target)) {
    return { ...(target?.['type'] === 'object' ? { type: 'object' } : {}), [preserve]: true }
  }
  return convert(target, { root, trail: [...trail, target] })
}

function resolve(root: Schema, reference: string): Schema | undefined {
  let current: unknown = root
  for (const part of reference.split('/').slice(1)) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    current = isSchema(current) && Object.hasOwn(current, key) ? current[key] : undefined
  }
  return isSchema(current) ? current : undefined
}

function withoutConst(schema: Schema): Schema {
  if (!('const' in schema)) return schema
  const { const: value, ...rest } = schema
  return { ...rest, enum: [value] }
}

/** Converts all notations of a null type into `nullable`. */
function withoutNull(schema: Schema): Schema {
  const { type } = schema
  if (Array.isArray(type)) {
    const types = type.filter((one) => one !== 'null')
    const rest: Schema = { ...schema, ...(types.length < type.length ? { nullable: true } : {}) }
    if (types.length === 1) return { ...rest, type: types[0] }
    const { type: _, ...untyped } = rest
    return { ...untyped, anyOf: types.map((one) => ({ type: one })) }
  }
  const union = 'anyOf' in schema ? 'anyOf' : 'oneOf'
  const members = schema[union]
  if (!Array.isArray(members)) return schema
  const others = members.filter((member) => !isNull(member))
  if (others.length === members.length && others.length !== 1) return schema
  const { [union]: _, ...rest } = schema
  const nullable = others.length < members.length ? { nullable: true } : {}
  const [only] = others
  if (others.length > 1 || !isSchema(only)) return { ...rest, ...nullable, [union]: others }
  return withoutNull(withoutConst({ ...only, ...rest, ...nullable }))
}

/** The API server rejects null for any enum, even if the enum lists it, but accepts it for any pattern: enums become patterns. */
function withoutEnum({ enum: values, ...rest }: Schema): Schema {
  if (!Array.isArray(values)) return rest
  const others = values.filter((value) => value !== null)
  if (rest['type'] !== 'string' || others.length === 0) return rest
  const escaped = others.map((value) => String(value).replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return { ...rest, pattern: `^(?:${escaped.join('|')})$` }
}

function isNull(member: unknown): boolean {
  if (!isSchema(member)) return false
  const { type, enum: values, const: value } = member
  return type === 'null' || value === null || (Array.isArray(values) && values.length === 1 && values[0] === null)
}

/** Merges `allOf` members: properties and rules are united; for other keywords the first member counts. */
function mergeAll({ allOf, ...result }: Schema, { root }: SchemaContext): Schema {
  const properties = { ...fieldsOf(result['properties']) }
  const required = new Set(listOf(result['required']))
  for (const given of listOf(allOf).filter(isSchema)) {
    const member = typeof given['$ref'] === 'string' ? fieldsOf(resolve(root, given['$ref'])) : given
    for (const key of Object.keys(member)) {
      if (key === rules) result[rules] = [...listOf(result[rules]), ...listOf(member[rules])]
      else if (!Object.hasOwn(result, key)) result[key] = member[key]
    }
    Object.assign(properties, fieldsOf(member['properties']))
    for (const key of listOf(member['required'])) required.add(key)
  }
  if (Object.keys(properties).length > 0) result['properties'] = properties
  if (required.size > 0) result['required'] = [...required]
  return result
}

/** Merges union members into one schema: Kubernetes allows alternatives of values but not of types. */
function unite(members: readonly Schema[]): Schema {
  const result = uniteValues(members)
  return members.some(({ nullable }) => nullable === true) ? { ...result, nullable: true } : result
}

function uniteValues(members: readonly Schema[]): Schema {
  const types = new Set(members.map(({ type }) => type))
  const [type] = types
  const [first] = members
  if (members.every((member) => isDeepEqual(member, first))) return first ?? { [preserve]: true }
  if (types.size === 2 && types.has('string') && types.has('integer') && members.every((one) => !('enum' in one))) {
    return { [intOrString]: true, ...(members.length === 2 ? boundsOfBoth(members) : {}) }
  }
  if (types.size > 1 || type === undefined) return { [preserve]: true, description: openNote }
  if (type === 'object') return commonFields(members)
  if (type === 'array') return { type, items: { [preserve]: true }, description: openNote }
  if (members.every((member) => Array.isArray(member['enum']))) {
    return { type, enum: [...new Set(members.flatMap((member) => member['enum']))] }
  }
  return { type, anyOf: members.map((member) => pick(member, [...validations, ...bounds])) }
}

/** The API server applies the bounds of strings to strings only, and those of integers to integers only. */
function boundsOfBoth(members: readonly Schema[]): Schema {
  const [integer, string] = ['integer', 'string'].map((type) => members.find((member) => member['type'] === type) ?? {})
  return { ...pick(integer!, [...bounds, 'multipleOf']), ...pick(string!, ['minLength', 'maxLength', 'pattern']) }
}

/** The properties that all members have. In a discriminated union, at least the discriminator is checked. */
function commonFields(members: readonly Schema[]): Schema {
  const all = members.map((member) => fieldsOf(member['properties']) as Record<string, Schema>)
  const shared = Object.keys(all[0] ?? {}).filter((key) => all.every((fields) => Object.hasOwn(fields, key)))
  const properties = shared.map((key) => [key, unite(all.map((fields) => fields[key] ?? {}))])
  const required = listOf(members[0]?.['required']).filter((key) =>
    members.every((member) => listOf(member['required']).includes(key)),
  )
  return {
    type: 'object',
    [preserve]: true,
    description: openNote,
    ...(shared.length > 0 ? { properties: Object.fromEntries(properties) } : {}),
    ...(required.length > 0 ? { required } : {}),
  }
}

function convertNode(schema: Schema, context: SchemaContext): Schema {
  const type = schema['type'] ?? typeOfEnum(schema['enum'])
  if (type === undefined) {
    const values = { ...pick(schema, ['enum']), [preserve]: true }
    // A schema that says nothing about the value allows null; without `nullable`, the API server would drop it.
    const saysNothing = schema['enum'] === undefined && !typeExtensions.some((name) => name in schema)
    return saysNothing ? { ...values, nullable: true } : values
  }
  const values = { type, ...pick(schema, validations), ...boundsOf({ ...schema, type }) }
  if (type === 'object') return { ...values, ...convertFields(schema, context) }
  if (type === 'array') return { ...values, items: convertItems(schema, context) }
  return type === 'string' ? toKubernetesString(values) : values
}

function convertFields(schema: Schema, context: SchemaContext): Schema {
  const { properties, additionalProperties: extra, patternProperties } = schema
  const required = pick(schema, ['required'])
  const entries = Object.entries(fieldsOf(properties)).map(([key, field]) => [key, convert(field, context)] as const)
  const fields = entries.length > 0 ? { properties: Object.fromEntries(entries) } : {}
  if (patternProperties !== undefined || extra === true) return { ...required, ...fields, [preserve]: true }
  if (!isSchema(extra)) return { ...required, ...fields }
  const value = convert(extra, context)
  const isOpen = entries.length > 0 || isDeepEqual(value, { [preserve]: true, nullable: true })
  return { ...required, ...fields, ...(isOpen ? { [preserve]: true } : { additionalProperties: value }) }
}

/** A tuple becomes an array whose items may have the type of any of its positions. */
function convertItems({ items, prefixItems }: Schema, context: SchemaContext): Schema {
  const places = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined
  return places === undefined ? convert(items, context) : unite(places.map((place) => convert(place, context)))
}

/**
 * Exclusive bounds are booleans beside the bound in OpenAPI 3.0, and numbers in later versions of JSON Schema. The bounds of zod's integers
 * say what JavaScript can compute with and nothing about the field, so they are dropped.
 */
function boundsOf(schema: Schema): Schema {
  const result = pick(schema, bounds)
  for (const [bound, exclusive, isTighter] of [
    ['minimum', 'exclusiveMinimum', (a: number, b: number) => a >= b],
    ['maximum', 'exclusiveMaximum', (a: number, b: number) => a <= b],
  ] as const) {
    const limit = schema[exclusive]
    if (typeof limit !== 'number') continue
    const given = schema[bound]
    delete result[exclusive]
    if (typeof given !== 'number' || isTighter(limit, given))
      Object.assign(result, { [bound]: limit, [exclusive]: true })
  }
  if (schema['type'] !== 'integer') return result
  if (result['minimum'] === Number.MIN_SAFE_INTEGER && result['exclusiveMinimum'] !== true) delete result['minimum']
  if (result['maximum'] === Number.MAX_SAFE_INTEGER && result['exclusiveMaximum'] !== true) delete result['maximum']
  return result
}

function typeOfEnum(values: unknown): string | undefined {
  if (!Array.isArray(values)) return undefined
  const types = new Set(values.filter((value) => value !== null).map((value) => typeof value))
  const [type] = types
  if (types.size !== 1) return undefined
  return type === 'string' || type === 'number' || type === 'boolean' ? type : undefined
}

function annotationsOf(schema: Schema, result: Schema): Schema {
  const own = pick(schema, annotations)
  const texts = [own['description'], result['description']].filter((text) => text !== undefined)
  return texts.length > 0 ? { ...own, description: [...new Set(texts)].join('\n') } : own
}

function pick(schema: Schema, keys: readonly string[]): Schema {
  return Object.fromEntries(keys.filter((key) => schema[key] !== undefined).map((key) => [key, schema[key]]))
}

function isSchema(value: unknown): value is Schema {
  return isPlainObject(value)
}

function fieldsOf(value: unknown): Schema {
  return isSchema(value) ? value : {}
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** Syntax that Go's RE2 lacks: look-around, back-references, code point escapes, empty sets, some character classes. */
const unknownToGo = /\(\?(?:[=!]|<[=!])|\\(?:[1-9ukcX]|[pP]\{[^}]*[=_][^}]*\})|\[\^?\]/

/** Go's limit for counted repetitions. */
const maxRepeats = 1000

/** Drops patterns that Go cannot compile, and formats with another meaning: the API server rejects a CRD with an invalid pattern. */
function toKubernetesString(schema: Schema): Schema {
  const { pattern, format, ...rest } = schema
  // `duration` is ISO 8601 (`P1D`) in JSON Schema but Go's format (`24h`) in Kubernetes.
  const hasFormat = typeof format === 'string' && format !== 'duration'
  const hasPattern = typeof pattern === 'string' && isKnownToGo(pattern)
  return {
    ...rest,
    ...(hasFormat ? { format } : {}),
    ...(hasPattern ? { pattern } : {}),
    ...(pattern === undefined || hasPattern ? {} : { description: 'Its pattern is not checked by the API server.' }),
  }
}

function isKnownToGo(pattern: string): boolean {
  if (unknownToGo.test(pattern)) return false
  return [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].every(
    ([, from, to]) => Number(from) <= maxRepeats && Number(to ?? 0) <= maxRepeats,
  )
}
