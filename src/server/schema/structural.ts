/**
 * Structural schemas: the OpenAPI v3 schema of a CRD version (`JsonSchema`) is compiled once into nodes, which prune.ts, default.ts,
 * validate.ts, list-types.ts and embedded.ts walk together with an object. crds/structural.ts checks beforehand that a schema is
 * structural.
 */
import type { RE2JS } from 're2js'
import type { Json, JsonObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { type FormatCheck, findFormat, isSupportedFormat } from './formats.ts'
import { compilePattern } from './patterns.ts'

/** A CEL rule. Evaluated by cel/rule-validator.ts. */
export interface ValidationRule {
  rule: string
  message?: string
  messageExpression?: string
  reason?: string
  fieldPath?: string
  optionalOldSelf?: boolean
}

/** `JSONSchemaProps` of apiextensions.k8s.io/v1. */
export interface JsonSchema {
  id?: string
  $schema?: string
  $ref?: string
  description?: string
  type?: string
  format?: string
  title?: string
  default?: Json
  maximum?: number
  exclusiveMaximum?: boolean
  minimum?: number
  exclusiveMinimum?: boolean
  maxLength?: number
  minLength?: number
  pattern?: string
  maxItems?: number
  minItems?: number
  uniqueItems?: boolean
  multipleOf?: number
  enum?: Json[]
  maxProperties?: number
  minProperties?: number
  required?: string[]
  items?: JsonSchema | JsonSchema[]
  allOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  anyOf?: JsonSchema[]
  not?: JsonSchema
  properties?: Record<string, JsonSchema>
  additionalProperties?: JsonSchema | boolean
  patternProperties?: Record<string, JsonSchema>
  dependencies?: Record<string, JsonSchema | string[]>
  additionalItems?: JsonSchema | boolean
  definitions?: Record<string, JsonSchema>
  externalDocs?: JsonObject
  example?: Json
  nullable?: boolean
  'x-kubernetes-preserve-unknown-fields'?: boolean
  'x-kubernetes-embedded-resource'?: boolean
  'x-kubernetes-int-or-string'?: boolean
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-list-type'?: string
  'x-kubernetes-map-type'?: string
  'x-kubernetes-validations'?: ValidationRule[]
}

/** `anyOf`, `oneOf`, `allOf` and `not`; undefined in a node without them. */
export interface Junctors {
  readonly anyOf: readonly SchemaNode[]
  readonly oneOf: readonly SchemaNode[]
  readonly allOf: readonly SchemaNode[]
  readonly not: SchemaNode | undefined
}

/** Limits of values; undefined in a node without them. */
export interface Limits {
  readonly minLength: number | undefined
  readonly maxLength: number | undefined
  readonly minItems: number | undefined
  readonly maxItems: number | undefined
  readonly uniqueItems: boolean
  readonly minProperties: number | undefined
  readonly maxProperties: number | undefined
  readonly minimum: number | undefined
  readonly exclusiveMinimum: boolean
  readonly maximum: number | undefined
  readonly exclusiveMaximum: boolean
  readonly multipleOf: number | undefined
}

/** For each pass: true if it has anything to do in this node or below. */
interface SchemaNeeds {
  readonly defaults: boolean
  readonly embedded: boolean
  readonly listTypes: boolean
  readonly rules: boolean
}

export interface SchemaNode {
  /** Empty if any type is allowed; two types for int-or-string. */
  readonly types: readonly string[]
  readonly nullable: boolean
  /** Only formats that kube-apiserver recognises; others have no effect. */
  readonly format: string
  readonly formatCheck: FormatCheck | undefined
  /** Never null: a default of null counts as none. */
  readonly default: Json | undefined
  readonly properties: ReadonlyMap<string, SchemaNode>
  readonly additional: { readonly allowed: boolean; readonly node: SchemaNode | undefined } | undefined
  readonly items: SchemaNode | undefined
  readonly required: readonly string[]
  readonly enum: readonly Json[]
  readonly limits: Limits | undefined
  readonly pattern: RE2JS | undefined
  readonly junctors: Junctors | undefined
  readonly preserveUnknown: boolean
  readonly embedded: boolean
  readonly listType: string | undefined
  readonly listMapKeys: readonly string[]
  readonly needs: SchemaNeeds
  readonly source: JsonSchema
}

export interface SchemaCompileOptions {
  /**
   * For validating defaults, kube-apiserver converts the schema differently: int-or-string does not restrict the type, and
   * unrecognised formats are kept.
   */
  readonly forDefaults?: boolean
}

export function compileSchema(schema: JsonSchema, options: SchemaCompileOptions = {}): SchemaNode {
  const compile = (child: JsonSchema): SchemaNode => compileSchema(child, options)
  const types = typesOf(schema, options)
  const isKnown = schema.format && (options.forDefaults || isSupportedFormat(types, schema.format))
  const format = isKnown ? schema.format! : ''
  const properties = new Map(Object.entries(schema.properties ?? {}).map(([name, child]) => [name, compile(child)]))
  const additional = compileAdditional(schema.additionalProperties, compile)
  const items = isPlainObject(schema.items) ? compile(schema.items as JsonSchema) : undefined
  // One literal with all fields gives all nodes the same hidden class, which makes every walk faster.
  return {
    types,
    nullable: schema.nullable ?? false,
    format,
    formatCheck: findFormat(format),
    default: schema.default ?? undefined,
    properties,
    additional,
    items,
    required: schema.required ?? [],
    enum: schema.enum ?? [],
    limits: limitsOf(schema),
    pattern: schema.pattern ? compilePattern(schema.pattern) : undefined,
    junctors: compileJunctors(schema, compile),
    preserveUnknown: schema['x-kubernetes-preserve-unknown-fields'] ?? false,
    embedded: schema['x-kubernetes-embedded-resource'] ?? false,
    listType: schema['x-kubernetes-list-type'],
    listMapKeys: schema['x-kubernetes-list-map-keys'] ?? [],
    needs: needsOf(schema, [...properties.values(), ...[additional?.node ?? []].flat(), ...[items ?? []].flat()]),
    source: schema,
  }
}

function limitsOf(schema: JsonSchema): Limits | undefined {
  const limits: Limits = {
    minLength: schema.minLength,
    maxLength: schema.maxLength,
    minItems: schema.minItems,
    maxItems: schema.maxItems,
    uniqueItems: schema.uniqueItems ?? false,
    minProperties: schema.minProperties,
    maxProperties: schema.maxProperties,
    minimum: schema.minimum,
    exclusiveMinimum: schema.exclusiveMinimum ?? false,
    maximum: schema.maximum,
    exclusiveMaximum: schema.exclusiveMaximum ?? false,
    multipleOf: schema.multipleOf,
  }
  return Object.values(limits).some((limit) => limit !== undefined && limit !== false) ? limits : undefined
}

function typesOf(schema: JsonSchema, options: SchemaCompileOptions): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] && !options.forDefaults) return ['integer', 'string']
  return schema.type ? [schema.type] : []
}

function compileAdditional(
  additional: JsonSchema | boolean | undefined,
  compile: (child: JsonSchema) => SchemaNode,
): SchemaNode['additional'] {
  if (additional === undefined || additional === null) return undefined
  if (typeof additional === 'boolean') return { allowed: additional, node: undefined }
  return { allowed: true, node: compile(additional) }
}

function compileJunctors(schema: JsonSchema, compile: (child: JsonSchema) => SchemaNode): Junctors | undefined {
  const { anyOf = [], oneOf = [], allOf = [], not } = schema
  if (anyOf.length + oneOf.length + allOf.length === 0 && not === undefined) return undefined
  return {
    anyOf: anyOf.map(compile),
    oneOf: oneOf.map(compile),
    allOf: allOf.map(compile),
    not: not && compile(not),
  }
}

function needsOf(schema: JsonSchema, children: readonly SchemaNode[]): SchemaNeeds {
  const listType = schema['x-kubernetes-list-type']
  return {
    defaults: (schema.default ?? undefined) !== undefined || children.some(({ needs }) => needs.defaults),
    embedded: (schema['x-kubernetes-embedded-resource'] ?? false) || children.some(({ needs }) => needs.embedded),
    listTypes: listType === 'set' || listType === 'map' || children.some(({ needs }) => needs.listTypes),
    rules: (schema['x-kubernetes-validations'] ?? []).length > 0 || children.some(({ needs }) => needs.rules),
  }
}
