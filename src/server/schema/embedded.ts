/**
 * Embedded objects (`x-kubernetes-embedded-resource`): decodes and validates their metadata like that of any object, in addition to
 * the schema. The enclosing object itself is not checked here.
 */
import { type Json, type JsonObject, type ObjectMeta, parseGroupVersion } from '../../kube/objects.ts'
import { getOwn, isPlainObject } from '../../util/json/json.ts'
import { type FieldError, invalid, required } from '../field-errors.ts'
import { validateMetadata } from '../metadata.ts'
import { DecodingError, readMetadata } from '../metadata-decoding.ts'
import { label1035Problems, pathSegmentNameProblems } from '../names.ts'
import type { SchemaNode } from './structural.ts'

/** Called with every embedded object and its path; outer objects come first. */
type VisitEmbedded = (object: JsonObject, path: string) => void

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}

function visitEmbedded(value: Json, node: SchemaNode | undefined, path: string, visit: VisitEmbedded): void {
  if (!node?.needs.embedded || typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const [index, child] of value.entries()) visitEmbedded(child, node.items, `${path}[${index}]`, visit)
    return
  }
  if (node.embedded) visit(value, path)
  for (const key of Object.keys(value)) {
    const property = node.properties.get(key)
    if (property) visitEmbedded(value[key]!, property, join(path, key), visit)
    else visitEmbedded(value[key]!, node.additional?.node, `${path}[${key}]`, visit)
  }
}

class CoerceError extends Error {
  readonly error: FieldError
  constructor(error: FieldError) {
    super(error.body)
    this.error = error
  }
}

/**
 * Decodes the metadata of embedded objects and drops unknown fields. Returns the paths of the dropped fields, sorted, or the first
 * type error.
 */
export function coerceEmbedded(
  value: Json,
  node: SchemaNode,
  path: string,
): { dropped: string[] } | { error: FieldError } {
  const dropped: string[] = []
  try {
    visitEmbedded(value, node, path, (object, at) => {
      for (const key of ['apiVersion', 'kind']) {
        const text = getOwn(object, key)
        if (text !== undefined && typeof text !== 'string') {
          throw new CoerceError(invalid(join(at, key), text, 'must be a string'))
        }
      }
      dropped.push(...coerceMetadata(object, at))
    })
  } catch (error) {
    if (error instanceof CoerceError) return { error: error.error }
    throw error
  }
  return { dropped: dropped.sort() }
}

function coerceMetadata(object: JsonObject, path: string): string[] {
  const raw = getOwn(object, 'metadata')
  if (raw === undefined) return []
  try {
    const { metadata, problems } = readMetadata(raw, { enclosingKind: undefined })
    object['metadata'] = metadata as JsonObject
    return problems.map((problem) => join(path, problem.replace(/^unknown field "(.*)"$/s, '$1')))
  } catch (error) {
    if (!(error instanceof DecodingError)) throw error
    throw new CoerceError(invalid(join(path, 'metadata'), raw, error.message))
  }
}

export function validateEmbedded(value: Json, node: SchemaNode, path = ''): FieldError[] {
  const errors: FieldError[] = []
  visitEmbedded(value, node, path, (object, at) => {
    for (const key of ['apiVersion', 'kind']) if (!Object.hasOwn(object, key)) errors.push(required(join(at, key)))
    errors.push(...validateApiVersion(object, at), ...validateKind(object, at), ...validateObjectMeta(object, at))
  })
  return errors
}

function validateApiVersion(object: JsonObject, path: string): FieldError[] {
  const value = getOwn(object, 'apiVersion')
  if (value === undefined) return []
  const field = join(path, 'apiVersion')
  if (typeof value !== 'string') return [invalid(field, value, 'must be a string')]
  if (value === '') return [invalid(field, value, 'must not be empty')]
  if (value.split('/').length <= 2 || parseGroupVersion(value)) return []
  return [invalid(field, value, `unexpected GroupVersion string: ${value}`)]
}

function validateKind(object: JsonObject, path: string): FieldError[] {
  const value = getOwn(object, 'kind')
  if (value === undefined) return []
  const field = join(path, 'kind')
  if (typeof value !== 'string') return [invalid(field, value, 'must be a string')]
  if (value === '') return [invalid(field, value, 'must not be empty')]
  const problems = label1035Problems(value.toLowerCase())
  if (problems.length === 0) return []
  return [invalid(field, value, `may have mixed case, but should otherwise match: ${problems.join(',')}`)]
}

/** The name may be missing or anything that fits into a path; an object with a namespace counts as namespaced. */
function validateObjectMeta(object: JsonObject, path: string): FieldError[] {
  if (!isPlainObject(getOwn(object, 'metadata'))) return []
  const metadata = object['metadata'] as ObjectMeta
  const errors = validateMetadata(
    { ...metadata, name: metadata.name || 'fakename' },
    { namespaced: (metadata.namespace ?? '') !== '', nameProblems: pathSegmentNameProblems },
  )
  return errors.map((error) => ({ ...error, field: join(path, error.field) }))
}
