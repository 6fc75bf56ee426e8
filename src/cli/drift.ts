/**
 * How a definition (CRD) that is there differs from the one of the operator. Pure. What the API server fills in by itself is no
 * difference, nor is what operators write there while they run: the conversion.
 */
import type { KubeObject } from '../kube/objects.ts'
import { isPlainObject, type Json } from '../util/json.ts'
import { toJsonPatch } from '../util/json-diff.ts'

/** In words, a line each; none where they agree. */
export function findDrift(wanted: KubeObject, present: KubeObject): string[] {
  const before = comparable(present)
  const operations = toJsonPatch(before, comparable(wanted))
  return operations.map((operation) => {
    const keys = operation.path.slice(1).split('/').map(unescapeKey)
    const where = ['spec', ...keys].join('.')
    const found = valueAt(before, keys)
    if (operation.op === 'remove') return `${where} is ${brief(found)}, and the operator does not have it`
    if (operation.op === 'add') return `${where} is missing, and should be ${brief(operation.value)}`
    return `${where} is ${brief(found)}, and should be ${brief(operation.value)}`
  })
}

/** Versions by their names: their order has no meaning. */
function comparable({ spec = {} }: KubeObject): Json {
  const { conversion: _, preserveUnknownFields: __, versions, names, ...rest } = spec as Fields
  const listed = Array.isArray(versions) ? (versions as Fields[]) : []
  return {
    ...rest,
    names: isPlainObject(names) ? withoutEmpty(names) : {},
    versions: Object.fromEntries(listed.map(({ name, ...version }) => [String(name), version])),
  } as Json
}

type Fields = Record<string, Json>

function withoutEmpty(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !(Array.isArray(value) && value.length === 0)))
}

function unescapeKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}

function valueAt(value: Json, keys: readonly string[]): Json | undefined {
  let found: Json | undefined = value
  for (const key of keys) found = isPlainObject(found) ? (found as Fields)[key] : undefined
  return found
}

const longest = 100

function brief(value: Json | undefined): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}
