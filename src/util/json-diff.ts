/** The JSON patch (RFC 6902) that turns one document into another: only add, remove and replace. Does not recurse. */
import { isDeepEqual } from './equality.ts'
import { isPlainObject, type Json } from './json.ts'

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: Json }
  | { readonly op: 'remove'; readonly path: string }

/** Lists that differ are replaced as a whole. */
export function toJsonPatch(before: Json, after: Json): JsonPatchOperation[] {
  const operations: JsonPatchOperation[] = []
  const pending: Array<readonly [Json, Json, string]> = [[before, after, '']]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [old, now, path] = next
    if (isPlainObject(old) && isPlainObject(now)) compareFields(old, now, path, operations, pending)
    else if (!isDeepEqual(old, now)) operations.push({ op: 'replace', path, value: now })
  }
  return operations
}

type Fields = { [key: string]: Json }

function compareFields(
  old: Fields,
  now: Fields,
  path: string,
  operations: JsonPatchOperation[],
  pending: Array<readonly [Json, Json, string]>,
): void {
  for (const key of Object.keys(old)) {
    if (!Object.hasOwn(now, key) || now[key] === undefined) operations.push({ op: 'remove', path: join(path, key) })
    else if (old[key] !== now[key]) pending.push([old[key]!, now[key]!, join(path, key)])
  }
  for (const key of Object.keys(now)) {
    if (Object.hasOwn(old, key) || now[key] === undefined) continue
    operations.push({ op: 'add', path: join(path, key), value: now[key]! })
  }
}

function join(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}
