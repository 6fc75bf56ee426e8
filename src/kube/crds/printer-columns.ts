/** The columns of `kubectl get` in a CRD: those of `defineResource`, or defaults that follow from the schema. Called by crd.ts. */
import { isPlainObject } from '../../util/json/json.ts'
import { findPath, toColumnType } from './schema-paths.ts'
import type { Schema } from './structural-schema.ts'
import type { PrinterColumn } from './version-options.ts'

const age: PrinterColumn = { name: 'Age', path: 'metadata.creationTimestamp' }

/** The `additionalPrinterColumns` of a CRD version. With an empty list, the API server shows its own column `Age`. */
export function toPrinterColumns(columns: readonly PrinterColumn[] | undefined, root: Schema): Schema[] {
  return (columns ?? defaultColumns(root)).map(({ name, path, type, priority = 0, description, format }) => ({
    name,
    type: type ?? inferType(root, path),
    ...(format === undefined ? {} : { format }),
    ...(description === undefined ? {} : { description }),
    // The API server does not store a priority of 0.
    ...(priority === 0 ? {} : { priority }),
    jsonPath: toJsonPath(path),
  }))
}

/** A JSONPath of Kubernetes: dotted keys after a dot. A path that begins with a dot is one already. */
export function toJsonPath(path: string): string {
  return path.startsWith('.') ? path : `.${path}`
}

function inferType(root: Schema, path: string): string {
  const found = findPath(root, path.startsWith('.') ? path.slice(1) : path)
  return found.type === 'declared' ? toColumnType(found.schema) : 'string'
}

function defaultColumns(root: Schema): PrinterColumn[] {
  const columns = conditionColumns(root)
  if (findPath(root, 'status.phase').type === 'declared') columns.push({ name: 'Phase', path: 'status.phase' })
  return columns.length === 0 ? [] : [...columns, age]
}

/** The status and the reason of the condition `Ready`, if the schema has a list of conditions that may contain it. */
function conditionColumns(root: Schema): PrinterColumn[] {
  const conditions = findPath(root, 'status.conditions')
  const items = conditions.type === 'declared' ? conditions.schema['items'] : undefined
  if (!isPlainObject(items) || findPath(items, 'status').type === 'missing' || !mayBeReady(items)) return []
  const ready = '.status.conditions[?(@.type=="Ready")]'
  return [
    { name: 'Ready', path: `${ready}.status` },
    ...(findPath(items, 'reason').type === 'missing'
      ? []
      : [{ name: 'Reason', path: `${ready}.reason`, priority: 1 } as const]),
  ]
}

function mayBeReady(condition: Schema): boolean {
  const type = findPath(condition, 'type')
  if (type.type !== 'declared') return type.type === 'open'
  const values = type.schema['enum']
  return !Array.isArray(values) || values.includes('Ready')
}
