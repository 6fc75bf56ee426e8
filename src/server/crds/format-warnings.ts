/** Warnings about schema formats that the server does not validate. */
import { quote } from '../field-errors.ts'
import { isSupportedFormat } from '../schema/formats.ts'
import type { JsonSchema } from '../schema/structural.ts'
import type { CustomResourceDefinition } from './definition.ts'

/** An update warns about new formats only. */
export function formatWarnings(crd: CustomResourceDefinition, old?: CustomResourceDefinition): string[] {
  const known = new Set(old === undefined ? [] : unknownFormats(old))
  const fresh = unknownFormats(crd).filter((format) => !known.has(format))
  return fresh.map((format) => `unrecognized format ${quote(format)}`)
}

function unknownFormats({ spec }: CustomResourceDefinition): string[] {
  const found: string[] = []
  const waiting: unknown[] = (spec.versions ?? []).map(({ schema }) => schema?.openAPIV3Schema)
  // Iterative, since the depth of a client's schema is not limited.
  while (waiting.length > 0) {
    const schema = waiting.pop()
    if (typeof schema !== 'object' || schema === null) continue
    const { type, format } = schema as JsonSchema
    if (format !== undefined && !isSupportedFormat(type === undefined ? [] : [type].flat(), format)) found.push(format)
    waiting.push(...subschemas(schema as JsonSchema))
  }
  return found
}

function subschemas(schema: JsonSchema): unknown[] {
  const { items, allOf, anyOf, oneOf, not, properties, additionalProperties } = schema
  return [items, allOf, anyOf, oneOf, not, Object.values(properties ?? {}), additionalProperties].flat()
}
