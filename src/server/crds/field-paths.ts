/**
 * Resolves field paths in a schema, as used by `selectableFields` and CEL rules: `.spec.engine` or `['with.dots']`. No other
 * JSONPath syntax is allowed.
 */

import { isPlainObject } from '../../util/json/json.ts'
import type { JsonSchema } from '../schema/structural.ts'

export interface FieldPathOptions {
  /** Allows `['name']` as well as `.name`. */
  readonly allowBrackets?: boolean
}

export type SchemaField =
  | {
      readonly names: readonly string[]
      readonly schema: JsonSchema | undefined
      /** The path as messages print it: `spec.labels[app]`, with brackets for map keys. */
      readonly path: string
    }
  | { readonly problem: string }

export function findField(
  path: string,
  root: JsonSchema,
  { allowBrackets = true }: FieldPathOptions = {},
): SchemaField {
  const tokens = tokenize(path)
  const names: string[] = []
  let written = ''
  let schema: JsonSchema | undefined = root
  while (tokens.length > 0) {
    const opening = tokens.shift()!
    if (opening === '[' && !allowBrackets) return { problem: 'array notation is not allowed' }
    if (opening !== '[' && opening !== '.') return { problem: `expected [ or . but got: ${opening}` }
    const name = opening === '.' ? tokens.shift() : quotedName(tokens.shift())
    if (name === undefined) return { problem: 'unexpected end of JSON path' }
    if (typeof name !== 'string') return name
    const child: JsonSchema | true | undefined = schema && childOf(schema, name)
    if (child === undefined) return { problem: 'does not refer to a valid field' }
    written += schema?.properties ? `${written === '' ? '' : '.'}${name}` : `[${name}]`
    schema = child === true ? undefined : child
    names.push(name)
    if (opening === '[') {
      const closing = tokens.shift()
      if (closing === undefined) return { problem: 'unexpected end of JSON path' }
      if (closing !== ']') return { problem: `expected ] but got ${closing}` }
    }
  }
  return { names, schema, path: written }
}

/** Splits the path into delimiters and the text between them; a single-quoted string is one token. */
function tokenize(path: string): string[] {
  return path.match(/'(?:[^'\\]|\\.)*'?|[.[\]]|[^.[\]']+[^.[\]]*/gs) ?? []
}

function quotedName(token: string | undefined): string | { problem: string } | undefined {
  if (token === undefined) return undefined
  if (!/^'.*'$/s.test(token) || token.length < 2) return { problem: `expected single quoted string but got ${token}` }
  return token.slice(1, -1).replace(/\\(.)/gs, '$1')
}

/** True for a key of a map whose values have no schema. */
function childOf({ properties, additionalProperties }: JsonSchema, name: string): JsonSchema | true | undefined {
  if (properties) return Object.hasOwn(properties, name) ? properties[name] : undefined
  if (additionalProperties === undefined) return undefined
  return isPlainObject(additionalProperties) ? (additionalProperties as JsonSchema) : true
}
