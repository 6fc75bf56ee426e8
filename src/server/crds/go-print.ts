/**
 * Prints parts of a CRD like the real server in its messages: its internal structs have no JSON tags, so every field appears
 * under its Go name. Used by validate.ts and openapi.ts.
 */
import { goJson } from '../../util/json/go-json.ts'
import type { JsonSchema } from '../schema/structural.ts'
import type { CrdVersion } from './definition.ts'

type Print<T> = (value: T) => string

function print(fields: ReadonlyArray<readonly [name: string, text: string]>): string {
  return `{${fields.map(([name, text]) => `"${name}":${text}`).join(',')}}`
}

const orNull = <T>(value: T | undefined | null, one: Print<T>): string => {
  return value === undefined || value === null ? 'null' : one(value)
}

const printList = <T>(list: readonly T[] | undefined, one: Print<T>): string => {
  return orNull(list, (items) => `[${items.map(one).join(',')}]`)
}

const printMap = <T>(map: Readonly<Record<string, T>> | undefined, one: Print<T>): string => {
  return orNull(map, (fields) => {
    const keys = Object.keys(fields).sort()
    return `{${keys.map((key) => `${goJson(key)}:${one(fields[key]!)}`).join(',')}}`
  })
}

export function printVersions(versions: readonly CrdVersion[] | undefined): string {
  return printList(versions, printVersion)
}

function printVersion(version: CrdVersion): string {
  const { schema, subresources } = version
  return print([
    ['Name', goJson(version.name)],
    ['Served', goJson(version.served)],
    ['Storage', goJson(version.storage)],
    ['Deprecated', goJson(version.deprecated ?? false)],
    ['DeprecationWarning', goJson(version.deprecationWarning)],
    ['Schema', orNull(schema, (one) => print([['OpenAPIV3Schema', orNull(one.openAPIV3Schema, printSchema)]]))],
    ['Subresources', orNull(subresources, printSubresources)],
    ['AdditionalPrinterColumns', printList(version.additionalPrinterColumns, printColumn)],
    [
      'SelectableFields',
      printList(version.selectableFields, ({ jsonPath }) => print([['JSONPath', goJson(jsonPath)]])),
    ],
  ])
}

function printSubresources({ status, scale }: NonNullable<CrdVersion['subresources']>): string {
  return print([
    ['Status', orNull(status, () => '{}')],
    [
      'Scale',
      orNull(scale, (paths) =>
        print([
          ['SpecReplicasPath', goJson(paths.specReplicasPath)],
          ['StatusReplicasPath', goJson(paths.statusReplicasPath)],
          ['LabelSelectorPath', goJson(paths.labelSelectorPath)],
        ]),
      ),
    ],
  ])
}

function printColumn(column: NonNullable<CrdVersion['additionalPrinterColumns']>[number]): string {
  return print([
    ['Name', goJson(column.name)],
    ['Type', goJson(column.type)],
    ['Format', goJson(column.format ?? '')],
    ['Description', goJson(column.description ?? '')],
    ['Priority', goJson(column.priority ?? 0)],
    ['JSONPath', goJson(column.jsonPath)],
  ])
}

export function printSchema(schema: JsonSchema): string {
  return print(schemaFields(schema).map(([name, , text]) => [name, text]))
}

/** Go names of the fields that are set, in Go's order, as messages print them. */
export function setFields(schema: JsonSchema): string[] {
  return schemaFields(schema)
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name)
}

function schemaFields(schema: JsonSchema): Array<[name: string, value: unknown, text: string]> {
  const { externalDocs } = schema
  const zero = (name: string, value: unknown, empty: unknown): [string, unknown, string] => [
    name,
    value,
    goJson(value ?? empty),
  ]
  const one = (name: string, value: unknown): [string, unknown, string] => [name, value, goJson(value)]
  const schemas = (name: string, value: JsonSchema[] | undefined): [string, unknown, string] => {
    return [name, value, printList(value, printSchema)]
  }
  const map = (name: string, value: Record<string, JsonSchema> | undefined): [string, unknown, string] => {
    return [name, value, printMap(value, printSchema)]
  }
  return [
    zero('ID', schema.id, ''),
    zero('Schema', schema.$schema, ''),
    one('Ref', schema.$ref),
    zero('Description', schema.description, ''),
    zero('Type', schema.type, ''),
    zero('Nullable', schema.nullable, false),
    zero('Format', schema.format, ''),
    zero('Title', schema.title, ''),
    one('Default', schema.default),
    one('Maximum', schema.maximum),
    zero('ExclusiveMaximum', schema.exclusiveMaximum, false),
    one('Minimum', schema.minimum),
    zero('ExclusiveMinimum', schema.exclusiveMinimum, false),
    one('MaxLength', schema.maxLength),
    one('MinLength', schema.minLength),
    zero('Pattern', schema.pattern, ''),
    one('MaxItems', schema.maxItems),
    one('MinItems', schema.minItems),
    zero('UniqueItems', schema.uniqueItems, false),
    one('MultipleOf', schema.multipleOf),
    one('Enum', schema.enum),
    one('MaxProperties', schema.maxProperties),
    one('MinProperties', schema.minProperties),
    one('Required', schema.required),
    ['Items', schema.items, orNull(schema.items, printItems)],
    schemas('AllOf', schema.allOf),
    schemas('OneOf', schema.oneOf),
    schemas('AnyOf', schema.anyOf),
    ['Not', schema.not, orNull(schema.not, printSchema)],
    map('Properties', schema.properties),
    ['AdditionalProperties', schema.additionalProperties, orNull(schema.additionalProperties, printOrBool)],
    map('PatternProperties', schema.patternProperties),
    ['Dependencies', schema.dependencies, printMap(schema.dependencies, printDependency)],
    ['AdditionalItems', schema.additionalItems, orNull(schema.additionalItems, printOrBool)],
    map('Definitions', schema.definitions),
    ['ExternalDocs', externalDocs, orNull(externalDocs, printDocs)],
    one('Example', schema.example),
    one('XPreserveUnknownFields', schema['x-kubernetes-preserve-unknown-fields']),
    zero('XEmbeddedResource', schema['x-kubernetes-embedded-resource'], false),
    zero('XIntOrString', schema['x-kubernetes-int-or-string'], false),
    one('XListMapKeys', schema['x-kubernetes-list-map-keys']),
    one('XListType', schema['x-kubernetes-list-type']),
    one('XMapType', schema['x-kubernetes-map-type']),
    ['XValidations', schema['x-kubernetes-validations'], printList(schema['x-kubernetes-validations'], printRule)],
  ]
}

function printDocs({ description = '', url = '' }: NonNullable<JsonSchema['externalDocs']>): string {
  return print([
    ['Description', goJson(description)],
    ['URL', goJson(url)],
  ])
}

export function printItems(items: NonNullable<JsonSchema['items']>): string {
  const isList = Array.isArray(items)
  return print([
    ['Schema', isList ? 'null' : printSchema(items)],
    ['JSONSchemas', isList ? printList(items, printSchema) : 'null'],
  ])
}

function printOrBool(value: JsonSchema | boolean): string {
  return print([
    ['Allows', goJson(value !== false)],
    ['Schema', typeof value === 'boolean' ? 'null' : printSchema(value)],
  ])
}

function printDependency(value: JsonSchema | string[]): string {
  const isList = Array.isArray(value)
  return print([
    ['Schema', isList ? 'null' : printSchema(value)],
    ['Property', isList ? goJson(value) : 'null'],
  ])
}

export function printRule(rule: NonNullable<JsonSchema['x-kubernetes-validations']>[number]): string {
  return print([
    ['Rule', goJson(rule.rule)],
    ['Message', goJson(rule.message ?? '')],
    ['MessageExpression', goJson(rule.messageExpression ?? '')],
    ['Reason', goJson(rule.reason)],
    ['FieldPath', goJson(rule.fieldPath ?? '')],
    ['OptionalOldSelf', goJson(rule.optionalOldSelf)],
  ])
}
