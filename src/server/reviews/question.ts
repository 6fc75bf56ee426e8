/** The spec of a question, read field by field; what is of the wrong type is refused in the words of Go's decoder. */
import type { JsonObject } from '../../kube/objects.ts'
import { mismatch } from '../decode.ts'
import { badRequest } from '../status.ts'

/** Some fields of a question, and where they are. */
export interface Fields {
  /** The kind of the question. */
  readonly kind: string
  /** The Go type of these fields. */
  readonly struct: string
  /** `spec`, `spec.resourceAttributes`. */
  readonly path: string
  readonly values: JsonObject
}

export function readSpec(kind: string, spec: unknown): Fields {
  // The local kind shares the spec of the other.
  const struct = `${kind.replace(/^Local/, '')}Spec`
  return { kind, struct, path: 'spec', values: asObject(spec, kind, `struct field ${kind}.spec of type v1.${struct}`) }
}

export function isGiven({ values }: Fields, field: string): boolean {
  return values[field] !== undefined && values[field] !== null
}

/** Empty where the field is absent. */
export function readFields(fields: Fields, field: string, struct: string): Fields {
  const { kind, path, values } = fields
  const inner = asObject(values[field], kind, `struct ${fieldOf(fields, field)} of type v1.${struct}`)
  return { kind, struct, path: `${path}.${field}`, values: inner }
}

export function readText(fields: Fields, field: string): string {
  const value = fields.values[field] ?? ''
  if (typeof value === 'string') return value
  throw refuse(fields.kind, value, `struct ${fieldOf(fields, field)} of type string`)
}

export function readTexts(fields: Fields, field: string): string[] {
  const values = fields.values[field] ?? []
  if (!Array.isArray(values)) throw refuse(fields.kind, values, `struct ${fieldOf(fields, field)} of type []string`)
  const stranger = values.find((value) => typeof value !== 'string')
  if (stranger === undefined) return values as string[]
  throw refuse(fields.kind, stranger, `struct ${fieldOf(fields, field)} of type string`)
}

/** Undefined where the field is absent. */
export function readInteger(fields: Fields, field: string): number | undefined {
  const value = fields.values[field] ?? undefined
  if (value === undefined || Number.isSafeInteger(value)) return value as number | undefined
  const given = typeof value === 'number' ? `number ${value}` : undefined
  const target = `struct ${fieldOf(fields, field)} of type int64`
  if (given === undefined) throw refuse(fields.kind, value, target)
  throw unreadable(fields.kind, `json: cannot unmarshal ${given} into Go ${target}`)
}

function fieldOf({ struct, path }: Fields, field: string): string {
  return `field ${struct}.${path}.${field}`
}

function asObject(value: unknown, kind: string, target: string): JsonObject {
  if (value === undefined || value === null) return {}
  if (typeof value === 'object' && !Array.isArray(value)) return value as JsonObject
  throw refuse(kind, value, target)
}

function refuse(kind: string, value: unknown, target: string): Error {
  return unreadable(kind, mismatch(value, target))
}

function unreadable(kind: string, why: string): Error {
  return badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${why}`)
}
