import { expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import type { Json } from '../../util/json/json.ts'
import { builtinFieldTypes } from '../builtins/types.ts'
import { compareObjects } from './compare.ts'

const anything = builtinFieldTypes.custom({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true })

function deep(levels: number, value: Json): KubeObject {
  let spec = value
  for (let level = 0; level < levels; level += 1) spec = { a: spec }
  return { apiVersion: 'x/v1', kind: 'Thing', metadata: { name: 'a' }, spec } as unknown as KubeObject
}

test('objects are compared however deep they are: the stack does not grow with them', () => {
  const { added, modified, removed } = compareObjects(anything, deep(3000, 1), deep(3000, 2))
  expect([added, removed]).toEqual([{}, {}])
  let depth = 0
  for (let at = modified['f:spec']; at?.['f:a'] !== undefined; at = at['f:a']) depth += 1
  expect(depth).toBe(3000)
})
