/**
 * Helpers for the cells of built-in tables. Objects come from clients, so every step of a path is checked: missing fields and wrong
 * types read as Go's zero value, as in kube-apiserver's structs.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { Column } from '../resource.ts'
import { formatAge } from './duration.ts'

export type CellValue = ReturnType<Column['cell']>
export type ReadCell = (object: KubeObject, now: Date) => CellValue

/** By column name. */
export type Cells = Readonly<Record<string, ReadCell>>

/** By resource: `apps/deployments`, `/pods`. */
export type TableCells = Readonly<Record<string, Cells>>

export type CellFields = Readonly<Record<string, unknown>>

function isFields(value: unknown): value is CellFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value at a path of names; undefined if a part is missing. */
export function at(object: unknown, path: string): unknown {
  let value = object
  for (const name of path.split('.')) {
    if (!isFields(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value ?? undefined
}

export function textAt(object: unknown, path: string): string {
  const value = at(object, path)
  return typeof value === 'string' ? value : ''
}

export function numberAt(object: unknown, path: string): number {
  const value = at(object, path)
  return typeof value === 'number' ? value : 0
}

export function listAt(object: unknown, path: string): readonly unknown[] {
  const value = at(object, path)
  return Array.isArray(value) ? value : []
}

export function mapAt(object: unknown, path: string): CellFields {
  const value = at(object, path)
  return isFields(value) ? value : {}
}

/** For labels, annotations and capacities, whose names contain dots. */
export function entryAt(object: unknown, path: string, name: string): unknown {
  const entries = mapAt(object, path)
  return Object.hasOwn(entries, name) ? entries[name] : undefined
}

/** The status of a condition, or ''; the first condition of a type counts. */
export function conditionStatus(object: unknown, type: string): string {
  return textAt(
    listAt(object, 'status.conditions').find((condition) => textAt(condition, 'type') === type),
    'status',
  )
}

export const readAge: ReadCell = (object, now) => formatAge(object.metadata.creationTimestamp, now)

/** A text field, or `absent` if it is empty. */
export function text(path: string, absent = ''): ReadCell {
  return (object) => textAt(object, path) || absent
}

export function number(path: string): ReadCell {
  return (object) => numberAt(object, path)
}

export function flag(path: string, absent = false): ReadCell {
  return (object) => (at(object, path) ?? absent) === true
}

/** The number of items in a list. */
export function count(path: string): ReadCell {
  return (object) => listAt(object, path).length
}

/** The container names and images of a pod template. */
export function containers(path: string): Cells {
  const join = (field: string): ReadCell => {
    return (object) =>
      listAt(object, path)
        .map((container) => textAt(container, field))
        .join(',')
  }
  return { Containers: join('name'), Images: join('image') }
}

/** `a=b,c=d` */
export function formatLabels(labels: CellFields): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return pairs.sort().join(',') || '<none>'
}

/** The first `maximum` values, and the number of further ones. */
export function formatSome(values: readonly string[], maximum: number): string {
  const shown = values.slice(0, maximum).join(',')
  return values.length > maximum ? `${shown} + ${values.length - maximum} more...` : shown
}

const operators: Readonly<Record<string, (key: string, values: string) => string>> = {
  In: (key, values) => `${key} in (${values})`,
  NotIn: (key, values) => `${key} notin (${values})`,
  Exists: (key) => key,
  DoesNotExist: (key) => `!${key}`,
}

/** A label selector as in a query; undefined if it is invalid. */
export function formatSelector(selector: unknown): string | undefined {
  const requirements = Object.entries(mapAt(selector, 'matchLabels')).map(([key, value]) => ({
    key,
    text: `${key}=${value}`,
  }))
  for (const expression of listAt(selector, 'matchExpressions')) {
    const key = textAt(expression, 'key')
    const operator = textAt(expression, 'operator')
    if (!Object.hasOwn(operators, operator)) return undefined
    const values = listAt(expression, 'values').map(String).sort().join(',')
    requirements.push({ key, text: operators[operator]!(key, values) })
  }
  requirements.sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
  return requirements.map((requirement) => requirement.text).join(',')
}

export function selector(path: string): ReadCell {
  return (object) => (formatSelector(at(object, path)) ?? '<error>') || '<none>'
}

/** Quantities are strings, or numbers if a client wrote one; the zero value is `0`. */
export function formatQuantity(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '0'
}
