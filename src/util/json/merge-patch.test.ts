import { expect, test } from 'vitest'
import type { Json } from './json.ts'
import { applyMergePatch, changesAnything, pickNamed, withMergePatch, withoutIdleRemovals } from './merge-patch.ts'

/** The table of appendix A of RFC 7386: original, patch, result. */
const appendix: ReadonlyArray<[string, string, string]> = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
]

const ours: ReadonlyArray<[string, string, string]> = [
  ['{}', '{"a":[{"b":null}]}', '{"a":[{"b":null}]}'],
  ['{"a":1}', '{"a":{"b":1,"c":null}}', '{"a":{"b":1}}'],
  ['{"a":null}', '{"a":{"b":{"c":null}}}', '{"a":{"b":{}}}'],
  ['{}', '{"__proto__":{"polluted":1}}', '{"__proto__":{"polluted":1}}'],
  ['{"__proto__":{"a":1}}', '{"__proto__":{"b":2}}', '{"__proto__":{"a":1,"b":2}}'],
  ['{"__proto__":{"a":1}}', '{"__proto__":null}', '{}'],
  ['{}', '{"constructor":{"prototype":{"x":1}}}', '{"constructor":{"prototype":{"x":1}}}'],
]

test.each([...appendix, ...ours])('the document %s patched with %s is %s', (target, patch, expected) => {
  const result = applyMergePatch(JSON.parse(target) as Json, JSON.parse(patch) as Json)
  expect(JSON.stringify(result)).toBe(expected)
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
})

test('a merge patch changes neither the document nor itself, and shares nothing with the result', () => {
  const target = { kept: { a: 1 }, changed: { b: 1 } }
  const patch = { changed: { c: [1] } }
  const result = applyMergePatch(target, patch) as typeof target & { changed: { c: number[] } }
  result.kept.a = 2
  result.changed.c.push(2)
  expect(target).toEqual({ kept: { a: 1 }, changed: { b: 1 } })
  expect(patch).toEqual({ changed: { c: [1] } })
})

test('a merge patch is applied at any depth', () => {
  const deep = (end: string) => JSON.parse(`${'{"a":'.repeat(20_000)}${end}${'}'.repeat(20_000)}`) as Json
  let result = applyMergePatch(deep('{"x":1}'), deep('{"y":2}'))
  for (let level = 0; level < 20_000; level += 1) result = (result as { a: Json }).a
  expect(result).toEqual({ x: 1, y: 2 })
})

test.each([
  ['{"a":1}', '{}', false],
  ['{"a":1}', '{"a":1}', false],
  ['{"a":1}', '{"a":2}', true],
  ['{"a":1}', '{"a":null}', true],
  ['{"a":1}', '{"b":null}', false],
  ['{"a":1}', '{"b":{"c":null,"d":{"e":null}}}', false],
  ['{"a":1}', '{"b":{"c":null,"d":{"e":1}}}', true],
  ['{"a":1}', '{"b":{}}', true],
  ['{"a":{"b":[1,2]}}', '{"a":{"b":[1,2]}}', false],
  ['{"a":{"b":[1,2]}}', '{"a":{"b":[2,1]}}', true],
  ['{"a":1}', '{"a":{"b":null}}', true],
  ['{}', '{"constructor":{"name":null}}', false],
])('the document %s is changed by the merge patch %s: %s', (target, patch, isChanged) => {
  expect(changesAnything(JSON.parse(target) as Json, JSON.parse(patch) as Json)).toBe(isChanged)
})

test.each([
  ['{"a":1}', '{"a":null,"b":null}', '{"a":null}'],
  ['{"a":1}', '{"b":{"c":null,"d":{"e":null}}}', '{}'],
  ['{"a":1}', '{"b":{"c":null,"d":{"e":null},"f":{}}}', '{"b":{"f":{}}}'],
  ['{"a":{"b":1}}', '{"a":{"b":null,"c":null},"d":[null]}', '{"a":{"b":null},"d":[null]}'],
  ['{"a":1}', '{"a":{"b":null}}', '{"a":{}}'],
  ['{}', '{"__proto__":{"x":null},"constructor":{"y":1}}', '{"constructor":{"y":1}}'],
  ['{"a":1}', '{}', '{}'],
])('the removals that are needed for the document %s in the merge patch %s are %s', (target, patch, expected) => {
  expect(JSON.stringify(withoutIdleRemovals(JSON.parse(target) as Json, JSON.parse(patch) as Json))).toBe(expected)
})

test.each<[string, { [key: string]: Json }, { [key: string]: Json }, Json]>([
  ['nothing if the patch is empty', { a: 1 }, {}, {}],
  ['the changed and removed fields', { a: 1, b: 2, c: 3 }, { a: 5, b: null }, { a: 1, b: 2 }],
  ['only existing fields', { a: 1 }, { b: { c: 1 } }, {}],
  ['only the named fields of a nested object', { a: { b: 1, c: 2 } }, { a: { c: 3 } }, { a: { c: 2 } }],
  ['an object as a whole if it is replaced', { a: { b: 1 } }, { a: [1] }, { a: { b: 1 } }],
  ['a list as a whole', { a: [1, 2] }, { a: { b: 1 } }, { a: [1, 2] }],
  [
    'keys such as __proto__',
    JSON.parse('{"__proto__": {"a": 1, "b": 2}}'),
    JSON.parse('{"__proto__": {"a": 2}}'),
    JSON.parse('{"__proto__": {"a": 1}}'),
  ],
])('the part of a document that a merge patch names contains %s', (_, target, patch, expected) => {
  expect(JSON.stringify(pickNamed(target, patch))).toBe(JSON.stringify(expected))
})

test('a patched copy shares the untouched parts of the document, which stays unchanged', () => {
  const target = Object.freeze({ spec: Object.freeze({ size: 1 }), status: Object.freeze({ a: 1, list: [1] }) })
  const patch = { status: { a: null, b: { c: [1], d: null } } }
  const patched = withMergePatch(target as never, patch)
  expect(patched).toEqual({ spec: { size: 1 }, status: { list: [1], b: { c: [1] } } })
  expect(patched['spec']).toBe(target.spec)
  expect((patched['status'] as { list: unknown }).list).toBe(target.status.list)
  expect(target.status).toEqual({ a: 1, list: [1] })
  patch.status.b.c.push(2)
  expect(patched['status']).toEqual({ list: [1], b: { c: [1] } })
})
