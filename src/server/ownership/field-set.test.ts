import { describe, expect, test } from 'vitest'
import {
  difference,
  type FieldSet,
  has,
  intersection,
  parseFieldSet,
  placesOf,
  printPath,
  recursiveDifference,
  toFieldSet,
  toPath,
  union,
} from './field-set.ts'

const a: FieldSet = { 'f:a': {} }
const b: FieldSet = { 'f:b': {} }
const deep: FieldSet = { 'f:a': { 'f:x': {}, 'f:y': {} } }
const both: FieldSet = { 'f:a': { '.': {}, 'f:x': {} } }

describe('union', () => {
  test.each<[string, FieldSet, FieldSet, FieldSet]>([
    ['of different fields', b, a, { 'f:a': {}, 'f:b': {} }],
    ['of a field and one below it', a, deep, { 'f:a': { '.': {}, 'f:x': {}, 'f:y': {} } }],
    ['the other way round', deep, a, { 'f:a': { '.': {}, 'f:x': {}, 'f:y': {} } }],
    ['with nothing', a, {}, a],
    ['of fields below', { 'f:a': { 'f:y': {} } }, { 'f:a': { 'f:x': {} } }, deep],
  ])('%s', (_, one, other, expected) => {
    const united = union(one, other)
    expect(united).toEqual(expected)
    expect(JSON.stringify(united)).toBe(JSON.stringify(expected))
  })

  test('keeps the first itself where it has everything', () => {
    expect(union(deep, { 'f:a': { 'f:x': {} } })).toBe(deep)
  })
})

describe('difference', () => {
  test.each<[string, FieldSet, FieldSet, FieldSet]>([
    ['takes a field', { ...a, ...b }, a, b],
    ['keeps what is below a field that goes', both, a, { 'f:a': { 'f:x': {} } }],
    ['keeps a field when what is below it goes', both, { 'f:a': { 'f:x': {} } }, a],
    ['leaves no empty branch', { 'f:a': { 'f:x': {} } }, { 'f:a': { 'f:x': {} } }, {}],
    ['minds nothing that is not there', a, { 'f:a': { 'f:x': {} }, 'f:c': {} }, a],
  ])('%s', (_, one, other, expected) => {
    expect(difference(one, other)).toEqual(expected)
  })

  test('is the set itself where nothing goes', () => {
    expect(difference(deep, b)).toBe(deep)
  })
})

test.each<[string, FieldSet, FieldSet, FieldSet]>([
  ['everything below', both, a, {}],
  ['only what is named', deep, { 'f:a': { 'f:x': {} } }, { 'f:a': { 'f:y': {} } }],
  ['never a field for something below it', a, { 'f:a': { 'f:x': {} } }, a],
])('the recursive difference takes %s', (_, one, other, expected) => {
  expect(recursiveDifference(one, other)).toEqual(expected)
})

test.each<[FieldSet, FieldSet, FieldSet]>([
  [both, a, a],
  [both, deep, { 'f:a': { 'f:x': {} } }],
  [both, both, both],
  [a, b, {}],
])('the intersection of %j and %j', (one, other, expected) => {
  expect(intersection(one, other)).toEqual(expected)
})

test('a path is in a set or only leads to what is', () => {
  expect(has(both, ['f:a'])).toBe(true)
  expect(has(deep, ['f:a'])).toBe(false)
  expect(has(deep, ['f:a', 'f:x'])).toBe(true)
  expect(has(deep, ['f:b', 'f:x'])).toBe(false)
})

test('elements are in the order of the real server: fields, keys, values by size', () => {
  const set = toFieldSet(
    ['v:10'],
    ['v:9'],
    ['v:"a"'],
    ['k:{"name":"b"}'],
    ['k:{"name":"a","port":1}'],
    ['f:z'],
    ['f:A'],
  )
  expect(Object.keys(set)).toEqual(['f:A', 'f:z', 'k:{"name":"a","port":1}', 'k:{"name":"b"}', 'v:9', 'v:10', 'v:"a"'])
})

test('paths are printed as in conflicts, those of a level before those below', () => {
  const set = { 'f:spec': { 'f:list': { 'k:{"name":"x","port":80}': { 'f:a': {} }, 'v:"y"': {} }, 'f:size': {} } }
  expect([...placesOf(set)].map((place) => printPath(toPath(place)))).toEqual([
    '.spec.size',
    '.spec.list[="y"]',
    '.spec.list[name="x",port=80].a',
  ])
})

describe('what a client has written', () => {
  test('comes into our order and form', () => {
    const raw = { 'f:b': {}, 'f:a': { 'f:x': {}, '.': {} }, 'k:{"port": 1, "name": "x"}': null, 'z:later': {} }
    const set = parseFieldSet(raw)
    expect(JSON.stringify(set)).toBe('{"f:a":{".":{},"f:x":{}},"f:b":{},"k:{\\"name\\":\\"x\\",\\"port\\":1}":{}}')
  })

  test.each([[{ x: {} }], [{ 'f:a': 1 }], ['text'], [{ 'i:x': {} }], [{ 'k:[]': {} }]])('is no set: %j', (raw) => {
    expect(() => parseFieldSet(raw)).toThrow()
  })
})
