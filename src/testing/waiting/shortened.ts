/** Formats values and objects for error messages: shortened, without managed fields, and without the values of Secrets. */
import { diffValues } from '../../causation/diff.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'

const maxStringLength = 120
const maxItems = 10
const maxValueLength = 160
const maxObjectLength = 4000

/** Formats a value on one line, shortened. */
export function describeValue(value: unknown): string {
  if (value === undefined || value === null) return 'absent'
  return cut(toText(value), maxValueLength)
}

/** Formats an object over several lines, with long strings and lists shortened. */
export function describeShown(shown: object): string {
  return cut(toText(shown, 2), maxObjectLength)
}

/** One line for each changed field. */
export function describeChanges(before: object | undefined, after: object): string[] {
  if (before === undefined) return ['created']
  const diff = diffValues(before, after)
  return diff.map(([operation, path, old, now]) => {
    const field = path.join('.')
    if (operation === 'add') return `+ ${field}: ${describeValue(now)}`
    if (operation === 'remove') return `- ${field}: ${describeValue(old)}`
    return `~ ${field}: ${describeValue(old)} → ${describeValue(now)}`
  })
}

/**
 * Removes the fields that do not help the reader of a failed test (managed fields, resource version), and the values of a Secret.
 */
export function toShown(object: KubeObject): object {
  const { managedFields: _, resourceVersion: __, ...metadata } = object.metadata ?? {}
  const shown = { ...object, metadata }
  if (object.kind !== 'Secret') return shown
  return { ...shown, ...conceal(object, 'data'), ...conceal(object, 'stringData') }
}

function conceal(secret: KubeObject, field: string): object {
  const values = secret[field]
  if (!isPlainObject(values)) return {}
  return {
    [field]: Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, `(${String(value).length} characters)`]),
    ),
  }
}

function toText(value: unknown, indent?: number): string {
  return JSON.stringify(value, (_, one) => shorten(one), indent)
}

function shorten(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return cut(value, maxStringLength)
  if (!Array.isArray(value) || value.length <= maxItems) return value
  return [...value.slice(0, maxItems), `… ${value.length - maxItems} more`]
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`
}
