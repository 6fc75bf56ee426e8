/** Reads the fields of a review's spec; wrong types are rejected in the words of Go's decoder. */
import type { JsonObject } from '../../kube/objects.ts'
import { mismatch } from '../decode.ts'
import { badRequest } from '../status.ts'

/** Some fields of a review, and their position. */
export interface ReviewSpecFields {
  /** The kind of the review. */
  readonly kind: string
  /** The Go type of these fields. */
  readonly struct: string
  /** `spec`, `spec.resourceAttributes`. */
  readonly path: string
  readonly values: JsonObject
}

export function readSpec(kind: string, spec: unknown): ReviewSpecFields {
  // LocalSubjectAccessReview shares the spec type of SubjectAccessReview.
  const struct = `${kind.replace(/^Local/, '')}Spec`
  return { kind, struct, path: 'spec', values: asObject(spec, kind, `struct field ${kind}.spec of type v1.${struct}`) }
}

export function isGiven({ values }: ReviewSpecFields, field: string): boolean {
  return values[field] !== undefined && values[field] !== null
}

/** Empty if the field is absent. */
export function readFields(fields: ReviewSpecFields, field: string, struct: string): ReviewSpecFields {
  const { kind, path, values } = fields
  const inner = asObject(values[field], kind, `struct ${fieldOf(fields, field)} of type v1.${struct}`)
  return { kind, struct, path: `${path}.${field}`, values: inner }
}

export function readText(fields: ReviewSpecFields, field: string): string {
  const value = fields.values[field] ?? ''
  if (typeof value === 'string') return value
  throw refuse(fields.kind, value, `struct ${fieldOf(fields, field)} of type string`)
}

export function readTexts(fields: ReviewSpecFields, field: string): string[] {
  const values = fields.values[field] ?? []
  if (!Array.isArray(values)) throw refuse(fields.kind, values, `struct ${fieldOf(fields, field)} of type []string`)
  const wrong = values.find((value) => typeof value !== 'string')
  if (wrong === undefined) return values as string[]
  throw refuse(fields.kind, wrong, `struct ${fieldOf(fields, field)} of type string`)
}

/** Undefined if the field is absent. */
export function readInteger(fields: ReviewSpecFields, field: string): number | undefined {
  const value = fields.values[field] ?? undefined
  if (value === undefined || Number.isSafeInteger(value)) return value as number | undefined
  const given = typeof value === 'number' ? `number ${value}` : undefined
  const target = `struct ${fieldOf(fields, field)} of type int64`
  if (given === undefined) throw refuse(fields.kind, value, target)
  throw unreadable(fields.kind, `json: cannot unmarshal ${given} into Go ${target}`)
}

function fieldOf({ struct, path }: ReviewSpecFields, field: string): string {
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
