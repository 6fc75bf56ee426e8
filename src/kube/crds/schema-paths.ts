/**
 * Finds dotted paths such as `status.phase` in the schema of a resource: whether the schema declares the field, its type for a printer
 * column, and the most similar path for an error message. Used by object-schema.ts, version-checks.ts and printer-columns.ts.
 */
import { getOwn, isPlainObject } from '../../util/json/json.ts'
import { suggestName } from '../../util/text/did-you-mean.ts'
import { preserve, type Schema } from './structural-schema.ts'
import type { ColumnType } from './version-options.ts'

/** `open`: the schema allows any field there, so the path may exist. */
export type SchemaPath =
  | { readonly type: 'declared'; readonly schema: Schema }
  | { readonly type: 'open' }
  | { readonly type: 'missing' }

const text: Schema = { type: 'string' }
const time: Schema = { type: 'string', format: 'date-time' }
const integer: Schema = { type: 'integer' }
const texts: Schema = { type: 'object', additionalProperties: text }
const list: Schema = { type: 'array' }

/** The fields that every object has and that the schema of a CRD does not list. */
const commonFields: Schema = {
  properties: {
    apiVersion: text,
    kind: text,
    metadata: {
      properties: {
        ...{ name: text, generateName: text, namespace: text, uid: text, resourceVersion: text, selfLink: text },
        ...{ generation: integer, creationTimestamp: time, deletionTimestamp: time, labels: texts, annotations: texts },
        ...{ deletionGracePeriodSeconds: integer, finalizers: list, ownerReferences: list, managedFields: list },
      },
    },
  },
}

export function findPath(root: Schema, path: string): SchemaPath {
  const keys = path.split('.')
  const common = findKeys(commonFields, keys)
  return common.type !== 'missing' || keys[0] === 'metadata' ? common : findKeys(root, keys)
}

function findKeys(root: Schema, keys: readonly string[]): SchemaPath {
  let schema = root
  for (const key of keys) {
    const field = key === '' ? undefined : fieldOf(schema, key)
    if (field === undefined) return { type: key !== '' && isOpen(schema) ? 'open' : 'missing' }
    schema = field
  }
  return { type: 'declared', schema }
}

function fieldOf({ properties, additionalProperties }: Schema, key: string): Schema | undefined {
  const field = isPlainObject(properties) ? getOwn(properties, key) : undefined
  const found: unknown = field ?? additionalProperties
  return isPlainObject(found) ? found : undefined
}

function isOpen(schema: Schema): boolean {
  return schema[preserve] === true
}

/** The declared path that is most similar to a missing one. */
export function suggestPath(root: Schema, path: string): string | undefined {
  return suggestName(path, [...listPaths(root), ...listPaths(commonFields)])
}

const maxListed = 2000
const maxDepth = 10

/** All declared paths, without those below maps: their keys are arbitrary. */
function listPaths(root: Schema): string[] {
  const found: string[] = []
  const visit = ({ properties }: Schema, prefix: string, depth: number): void => {
    if (!isPlainObject(properties) || depth > maxDepth) return
    for (const [key, field] of Object.entries(properties)) {
      if (found.length >= maxListed) return
      found.push(prefix + key)
      if (isPlainObject(field)) visit(field, `${prefix}${key}.`, depth + 1)
    }
  }
  visit(root, '', 1)
  return found
}

/** The type of a printer column for values of a schema. Kubernetes prints lists and objects as strings. */
export function toColumnType({ type, format }: Schema): ColumnType {
  if (type === 'integer' || type === 'number' || type === 'boolean') return type
  return type === 'string' && format === 'date-time' ? 'date' : 'string'
}
