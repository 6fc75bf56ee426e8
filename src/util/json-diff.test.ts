import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyJsonPatch } from '../../test/support/json-patch.ts'
import type { Json } from './json.ts'
import { toJsonPatch } from './json-diff.ts'

test.each<[string, Json, Json, unknown[]]>([
  ['nothing where nothing differs', { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
  ['a field added', { a: 1 }, { a: 1, b: 2 }, [{ op: 'add', path: '/b', value: 2 }]],
  ['a field removed', { a: 1, b: 2 }, { a: 1 }, [{ op: 'remove', path: '/b' }]],
  ['a value replaced, deep down', { a: { b: 1 } }, { a: { b: 2 } }, [{ op: 'replace', path: '/a/b', value: 2 }]],
  ['lists as a whole', { a: [1, 2] }, { a: [1] }, [{ op: 'replace', path: '/a', value: [1] }]],
  ['keys escaped', { 'a/b~c': 1 }, {}, [{ op: 'remove', path: '/a~1b~0c' }]],
  ['a whole document', 1, { a: 1 }, [{ op: 'replace', path: '', value: { a: 1 } }]],
])('gives %s', (_, before, after, operations) => {
  expect(toJsonPatch(before, after)).toEqual(operations)
})

test('takes __proto__ for a key like any other', () => {
  const after = JSON.parse('{"__proto__": {"polluted": true}}') as Json
  expect(toJsonPatch({}, after)).toEqual([{ op: 'add', path: '/__proto__', value: { polluted: true } }])
})

test('whatever the documents, applying the patch to the one gives the other', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (before, after) => {
      const json = (value: unknown) => JSON.parse(JSON.stringify(value)) as Json
      expect(applyJsonPatch(json(before), toJsonPatch(json(before), json(after)))).toEqual(json(after))
    }),
    { numRuns: 300 },
  )
})

test('does not mind how deep they are', () => {
  const nest = (leaf: number) => {
    let value: Json = leaf
    for (let level = 0; level < 5000; level += 1) value = { a: value }
    return value
  }
  expect(toJsonPatch(nest(1), nest(2))).toHaveLength(1)
})
