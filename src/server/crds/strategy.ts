/**
 * The Strategy of one version of a custom resource, created from its schema: decoding, update preparation and validation.
 * Created by resources.ts. Metadata is handled elsewhere.
 */
import { formatGroupVersion, type Json, type JsonObject, type KubeObject } from '../../kube/objects.ts'
import { cloneJson, isDeepEqual } from '../../util/json/deep-equal.ts'
import { getOwn, isPlainObject, setOwn } from '../../util/json/json.ts'
import { celEngine } from '../cel/lazy.ts'
import { type FieldError, formatFieldError, invalid } from '../field-errors.ts'
import { finalizerWarnings } from '../metadata.ts'
import { subdomainNameProblems } from '../names.ts'
import type { Decoded, ScalePaths, Strategy } from '../resource.ts'
import { applyDefaults, dropNulls } from '../schema/default.ts'
import { coerceEmbedded, validateEmbedded } from '../schema/embedded.ts'
import { validateListTypes } from '../schema/list-types.ts'
import { pruneObject } from '../schema/prune.ts'
import type { SchemaNode } from '../schema/structural.ts'
import { validateValue } from '../schema/validate.ts'
import { badRequest } from '../status.ts'
import { validateScaleSpec, validateScaleStatus } from './scale.ts'

export interface CustomStrategyOptions {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly schema: SchemaNode
  readonly hasStatus: boolean
  readonly scale: ScalePaths | undefined
  /** Selector name → field path. */
  readonly selectable: ReadonlyMap<string, readonly string[]>
  /** Only the storage version applies defaults on reading, since each version has its own defaults. */
  readonly isStorage: boolean
}

interface RuleChange {
  readonly old?: KubeObject
  readonly warnings?: string[] | undefined
}

const blocking: ReadonlySet<FieldError['type']> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])
const notChecked: FieldError = invalid(
  '<nil>',
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
)

export function createCustomStrategy(options: CustomStrategyOptions): Strategy {
  const { schema, hasStatus, scale, selectable } = options
  const status = schema.properties.get('status')
  const rules = schema.needs.rules ? celEngine().createRuleValidator(schema) : undefined
  /** CEL rules run only if no blocking errors were found, since they may fail on an invalid object. */
  const withRules = (errors: FieldError[], object: KubeObject, change: RuleChange = {}): FieldError[] => {
    if (!rules) return errors
    if (errors.some(({ type }) => blocking.has(type))) return [...errors, notChecked]
    const { old, warnings } = change
    const options = { ...(old ? { old: asJson(old) } : {}), ...(warnings ? { warnings } : {}) }
    return [...errors, ...rules.validate(asJson(object), options)]
  }
  const validateContent = (object: KubeObject, old?: KubeObject): FieldError[] => [
    ...validateValue(schema, asJson(object), old === undefined ? {} : { old: asJson(old) }),
    ...(scale ? [...validateScaleSpec(object, scale), ...validateScaleStatus(object, scale)] : []),
  ]
  return {
    decode: (body) => decode(body, options),
    fromStorage(object) {
      const read = coerce(object, options).object
      if (options.isStorage) applyDefaults(asJson(read), schema)
      return read
    },
    fillDefaults: (object) => applyDefaults(asJson(object), schema),
    nameProblems: subdomainNameProblems,
    prepareForCreate(object) {
      if (hasStatus) delete object['status']
      object.metadata.generation = 1
    },
    prepareForUpdate: (object, old) => prepareForUpdate(object, old, hasStatus),
    prepareForStatusUpdate,
    validate(object) {
      const json = asJson(object)
      const typeErrors = validateType(object, options)
      const errors = [
        ...(typeErrors.length > 0 ? typeErrors : validateContent(object)),
        ...validateEmbedded(json, schema),
        ...validateListTypes(schema, json),
      ]
      return withRules(errors, object)
    },
    validateUpdate(object, old, warnings) {
      const json = asJson(object)
      const typeErrors = validateType(object, options)
      const errors = [
        ...(typeErrors.length > 0 ? typeErrors : validateContent(object, old)),
        ...validateEmbedded(json, schema),
        ...validateNewListTypes(schema, json, asJson(old)),
      ]
      return withRules(errors, object, { old, warnings })
    },
    validateStatusUpdate(object, old, warnings) {
      const json = asJson(object)
      const value = getOwn(json, 'status')
      const oldStatus = getOwn(asJson(old), 'status')
      const errors: FieldError[] = []
      if (value !== undefined && status) {
        const ratchet = oldStatus === undefined ? {} : { old: oldStatus }
        errors.push(...validateValue(status, value, { prefix: 'status', ...ratchet }))
      }
      if (scale) errors.push(...validateScaleStatus(object, scale))
      errors.push(...validateNewListTypes(schema, json, asJson(old)))
      return withRules(errors, object, { old, warnings })
    },
    warnings: (object, old) => finalizerWarnings(object.metadata, old?.metadata),
    selectableFieldNames: [...selectable.keys()],
    ...(selectable.size === 0
      ? {}
      : { selectableFields: (object: KubeObject) => selectFields(asJson(object), selectable) }),
  }
}

/** Unlike for built-in kinds, apiVersion and kind of a custom resource are checked here and not earlier. */
function validateType({ apiVersion, kind }: KubeObject, own: CustomStrategyOptions): FieldError[] {
  const expected = formatGroupVersion(own.group, own.version)
  return [
    ...(kind === own.kind ? [] : [invalid('kind', kind, `must be ${own.kind}`)]),
    ...(apiVersion === expected ? [] : [invalid('apiVersion', apiVersion, `must be ${expected}`)]),
  ]
}

function asJson(object: KubeObject): JsonObject {
  return object as unknown as JsonObject
}

function decode(body: KubeObject, options: CustomStrategyOptions): Decoded {
  const { object, dropped } = coerce(body, options)
  applyDefaults(asJson(object), options.schema)
  return { object, problems: dropped.map((path) => `unknown field "${path}"`) }
}

/** A copy pruned to the schema. Metadata stays unchanged, since it is decoded separately. */
export function coerce(
  body: KubeObject,
  { schema, kind, version }: Pick<CustomStrategyOptions, 'schema' | 'kind' | 'version'>,
): { object: KubeObject; dropped: string[] } {
  const given = asJson(body)
  const { metadata } = given
  // An empty placeholder keeps metadata in its position but hides it from pruning.
  const object = cloneJson(metadata === undefined ? given : { ...given, metadata: {} }) as JsonObject
  const dropped = pruneObject(object, schema)
  dropNulls(object, schema)
  if (metadata !== undefined) object['metadata'] = { ...(metadata as JsonObject) }
  const coerced = coerceEmbedded(object, schema, '')
  if ('error' in coerced) {
    const reason = formatFieldError(coerced.error)
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${reason}`)
  }
  return { object: object as unknown as KubeObject, dropped: [...dropped, ...coerced.dropped] }
}

function prepareForUpdate(object: KubeObject, old: KubeObject, hasStatus: boolean): void {
  if (hasStatus) {
    if (Object.hasOwn(old, 'status')) object['status'] = old['status']
    else delete object['status']
  }
  const { metadata, ...fields } = object
  const { metadata: oldMetadata, ...oldFields } = old
  if (!isDeepEqual(fields, oldFields)) metadata.generation = (oldMetadata.generation ?? 0) + 1
}

/** Restores everything but the status and the managed fields. */
function prepareForStatusUpdate(object: KubeObject, old: KubeObject): void {
  const { managedFields } = object.metadata
  const hasNewStatus = Object.hasOwn(object, 'status')
  const status = object['status']
  for (const key of Object.keys(object)) delete object[key]
  // Shallow copies are safe: nothing below metadata is modified from here on.
  for (const key of Object.keys(old)) setOwn(object, key, old[key])
  object.metadata = { ...old.metadata }
  if (managedFields) object.metadata.managedFields = managedFields
  else delete object.metadata.managedFields
  if (hasNewStatus) object['status'] = status
  else delete object['status']
}

/** Duplicates are an error only if the old object has none at all. */
function validateNewListTypes(schema: SchemaNode, json: JsonObject, old: JsonObject): FieldError[] {
  const errors = validateListTypes(schema, json)
  return errors.length > 0 && validateListTypes(schema, old).length > 0 ? [] : errors
}

function selectFields(object: JsonObject, fields: CustomStrategyOptions['selectable']): Record<string, string> {
  const entries = [...fields].map(([name, path]) => {
    let value: Json | undefined = object
    for (const key of path) value = isPlainObject(value) ? getOwn(value, key) : undefined
    return [name, value === null || value === undefined ? '' : String(value)]
  })
  return Object.fromEntries(entries) as Record<string, string>
}
