/** Applies JSON patches of add, remove and replace, for tests of the code that creates them. Shares no code with it on purpose. */
import type { Json } from '../../src/util/json/json.ts'
import type { JsonPatchOperation } from '../../src/util/json/json-patch.ts'

export function applyJsonPatch(document: Json, operations: readonly JsonPatchOperation[]): Json {
  const holder = { root: structuredClone(document) } as Record<string, Json>
  for (const operation of operations) {
    const keys = operation.path.split('/').slice(1)
    const names = keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    const path = ['root', ...names]
    const last = path.pop()!
    let parent = holder as Record<string, unknown>
    for (const key of path) parent = Object.getOwnPropertyDescriptor(parent, key)!.value as Record<string, unknown>
    if (operation.op === 'remove') delete parent[last]
    else {
      Object.defineProperty(parent, last, {
        value: operation.value,
        writable: true,
        enumerable: true,
        configurable: true,
      })
    }
  }
  return holder['root']!
}
