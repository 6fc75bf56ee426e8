/**
 * The fields of a CustomResourceDefinition by Go type, with which decode.ts reads a client's body. The order and the `optional`
 * flags are those of the Go structs, because objects are written in Go's order and with Go's omissions.
 */

/** Go types that occur in a CRD; `go` is the name in Go's messages. */
export type CrdFieldType =
  | {
      readonly kind: 'string' | 'bool' | 'int32' | 'int64' | 'float64' | 'bytes' | 'time' | 'json'
      readonly go: string
    }
  | { readonly kind: 'list' | 'map'; readonly go: string; readonly of: CrdFieldType }
  | { readonly kind: 'struct'; readonly go: string; readonly fields: () => readonly CrdField[] }
  /** Types with their own UnmarshalJSON that do not report unknown fields: a schema, or a simpler value in its place. */
  | { readonly kind: 'schemaOrBool' | 'schemaOrList' | 'schemaOrNames'; readonly go: string }

export interface CrdField {
  readonly name: string
  readonly shape: CrdFieldType
  /** `omitempty`: omitted if the value is zero or, for a pointer, absent. */
  readonly optional: boolean
  readonly pointer: boolean
}

const text: CrdFieldType = { kind: 'string', go: 'string' }
const flag: CrdFieldType = { kind: 'bool', go: 'bool' }
const int64: CrdFieldType = { kind: 'int64', go: 'int64' }
const float64: CrdFieldType = { kind: 'float64', go: 'float64' }
const json: CrdFieldType = { kind: 'json', go: 'v1.JSON' }

const must = (name: string, shape: CrdFieldType): CrdField => ({ name, shape, optional: false, pointer: false })
const may = (name: string, shape: CrdFieldType): CrdField => ({ name, shape, optional: true, pointer: false })
const pointer = (name: string, shape: CrdFieldType): CrdField => ({ name, shape, optional: true, pointer: true })

/** The fields are created lazily, since schemas contain schemas. */
function struct(name: string, makeFields: () => readonly CrdField[]): CrdFieldType {
  let fields: readonly CrdField[] | undefined
  return { kind: 'struct', go: `v1.${name}`, fields: () => (fields ??= makeFields()) }
}

function list(of: CrdFieldType): CrdFieldType {
  return { kind: 'list', go: `[]${of.go}`, of }
}

function map(go: string, of: CrdFieldType): CrdFieldType {
  return { kind: 'map', go, of }
}

function named(go: string): CrdFieldType {
  return { kind: 'string', go: `v1.${go}` }
}

const schemaOrBool: CrdFieldType = { kind: 'schemaOrBool', go: 'v1.JSONSchemaPropsOrBool' }

const validationRule = struct('ValidationRule', () => [
  must('rule', text),
  may('message', text),
  may('messageExpression', text),
  pointer('reason', named('FieldValueErrorReason')),
  may('fieldPath', text),
  pointer('optionalOldSelf', flag),
])

const externalDocs = struct('ExternalDocumentation', () => [may('description', text), may('url', text)])

export const schemaShape: CrdFieldType = struct('JSONSchemaProps', () => [
  may('id', text),
  may('$schema', named('JSONSchemaURL')),
  pointer('$ref', text),
  may('description', text),
  may('type', text),
  may('format', text),
  may('title', text),
  pointer('default', json),
  pointer('maximum', float64),
  may('exclusiveMaximum', flag),
  pointer('minimum', float64),
  may('exclusiveMinimum', flag),
  pointer('maxLength', int64),
  pointer('minLength', int64),
  may('pattern', text),
  pointer('maxItems', int64),
  pointer('minItems', int64),
  may('uniqueItems', flag),
  pointer('multipleOf', float64),
  may('enum', list(json)),
  pointer('maxProperties', int64),
  pointer('minProperties', int64),
  may('required', list(text)),
  pointer('items', { kind: 'schemaOrList', go: 'v1.JSONSchemaPropsOrArray' }),
  may('allOf', list(schemaShape)),
  may('oneOf', list(schemaShape)),
  may('anyOf', list(schemaShape)),
  pointer('not', schemaShape),
  may('properties', map('map[string]v1.JSONSchemaProps', schemaShape)),
  pointer('additionalProperties', schemaOrBool),
  may('patternProperties', map('map[string]v1.JSONSchemaProps', schemaShape)),
  may(
    'dependencies',
    map('v1.JSONSchemaDependencies', { kind: 'schemaOrNames', go: 'v1.JSONSchemaPropsOrStringArray' }),
  ),
  pointer('additionalItems', schemaOrBool),
  may('definitions', map('v1.JSONSchemaDefinitions', schemaShape)),
  pointer('externalDocs', externalDocs),
  pointer('example', json),
  may('nullable', flag),
  pointer('x-kubernetes-preserve-unknown-fields', flag),
  may('x-kubernetes-embedded-resource', flag),
  may('x-kubernetes-int-or-string', flag),
  may('x-kubernetes-list-map-keys', list(text)),
  pointer('x-kubernetes-list-type', text),
  pointer('x-kubernetes-map-type', text),
  may('x-kubernetes-validations', { kind: 'list', go: 'v1.ValidationRules', of: validationRule }),
])

const version = struct('CustomResourceDefinitionVersion', () => [
  must('name', text),
  must('served', flag),
  must('storage', flag),
  may('deprecated', flag),
  pointer('deprecationWarning', text),
  pointer(
    'schema',
    struct('CustomResourceValidation', () => [pointer('openAPIV3Schema', schemaShape)]),
  ),
  pointer('subresources', subresources),
  may('additionalPrinterColumns', list(column)),
  may('selectableFields', list(struct('SelectableField', () => [must('jsonPath', text)]))),
])

const subresources = struct('CustomResourceSubresources', () => [
  pointer(
    'status',
    struct('CustomResourceSubresourceStatus', () => []),
  ),
  pointer('scale', scale),
])

const scale = struct('CustomResourceSubresourceScale', () => [
  must('specReplicasPath', text),
  must('statusReplicasPath', text),
  pointer('labelSelectorPath', text),
])

const column = struct('CustomResourceColumnDefinition', () => [
  must('name', text),
  must('type', text),
  may('format', text),
  may('description', text),
  may('priority', { kind: 'int32', go: 'int32' }),
  must('jsonPath', text),
])

const names = struct('CustomResourceDefinitionNames', () => [
  must('plural', text),
  may('singular', text),
  may('shortNames', list(text)),
  must('kind', text),
  may('listKind', text),
  may('categories', list(text)),
])

const service = struct('ServiceReference', () => [
  must('namespace', text),
  must('name', text),
  pointer('path', text),
  pointer('port', { kind: 'int32', go: 'int32' }),
])

const clientConfig = struct('WebhookClientConfig', () => [
  pointer('url', text),
  pointer('service', service),
  may('caBundle', { kind: 'bytes', go: '[]uint8' }),
])

const conversion = struct('CustomResourceConversion', () => [
  must('strategy', named('ConversionStrategyType')),
  pointer(
    'webhook',
    struct('WebhookConversion', () => [
      pointer('clientConfig', clientConfig),
      must('conversionReviewVersions', list(text)),
    ]),
  ),
])

const spec = struct('CustomResourceDefinitionSpec', () => [
  must('group', text),
  must('names', names),
  must('scope', named('ResourceScope')),
  must('versions', list(version)),
  pointer('conversion', conversion),
  may('preserveUnknownFields', flag),
])

const condition = struct('CustomResourceDefinitionCondition', () => [
  must('type', named('CustomResourceDefinitionConditionType')),
  must('status', named('ConditionStatus')),
  must('lastTransitionTime', { kind: 'time', go: 'v1.Time' }),
  may('reason', text),
  may('message', text),
  may('observedGeneration', int64),
])

const status = struct('CustomResourceDefinitionStatus', () => [
  must('conditions', list(condition)),
  must('acceptedNames', names),
  must('storedVersions', list(text)),
  may('observedGeneration', int64),
])

/** Without metadata, which is decoded separately for all kinds. */
export const crdShape: CrdFieldType = struct('CustomResourceDefinition', () => [
  must('apiVersion', text),
  must('kind', text),
  must('spec', spec),
  must('status', status),
])
