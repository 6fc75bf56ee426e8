import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyJsonPatch } from '../../../test/support/json-patch.ts'
import type { Json } from './json.ts'
import { toJsonPatch } from './json-patch.ts'

test.each<[string, Json, Json, unknown[]]>([
  ['no operations if nothing differs', { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
  ['an added field', { a: 1 }, { a: 1, b: 2 }, [{ op: 'add', path: '/b', value: 2 }]],
  ['a removed field', { a: 1, b: 2 }, { a: 1 }, [{ op: 'remove', path: '/b' }]],
  ['a replaced nested value', { a: { b: 1 } }, { a: { b: 2 } }, [{ op: 'replace', path: '/a/b', value: 2 }]],
  ['a replaced list as a whole', { a: [1, 2] }, { a: [1] }, [{ op: 'replace', path: '/a', value: [1] }]],
  ['escaped keys', { 'a/b~c': 1 }, {}, [{ op: 'remove', path: '/a~1b~0c' }]],
  ['a replaced document as a whole', 1, { a: 1 }, [{ op: 'replace', path: '', value: { a: 1 } }]],
])('a JSON patch has %s', (_, before, after, operations) => {
  expect(toJsonPatch(before, after)).toEqual(operations)
})

test('a JSON patch takes __proto__ as a plain key', () => {
  const after = JSON.parse('{"__proto__": {"polluted": true}}') as Json
  expect(toJsonPatch({}, after)).toEqual([{ op: 'add', path: '/__proto__', value: { polluted: true } }])
})

test('a JSON patch applied to the old document gives the new document, for any documents', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (before, after) => {
      const json = (value: unknown) => JSON.parse(JSON.stringify(value)) as Json
      expect(applyJsonPatch(json(before), toJsonPatch(json(before), json(after)))).toEqual(json(after))
    }),
    { numRuns: 300 },
  )
})

test('a JSON patch is made for documents of any depth', () => {
  const nest = (leaf: number) => {
    let value: Json = leaf
    for (let level = 0; level < 5000; level += 1) value = { a: value }
    return value
  }
  expect(toJsonPatch(nest(1), nest(2))).toHaveLength(1)
})
