import { expect, test } from 'vitest'
import type { Json } from '../../kube/objects.ts'
import { formatFieldError } from '../field-errors.ts'
import { validateListTypes } from './list-types.ts'
import { compileSchema, type JsonSchema } from './structural.ts'

const set: JsonSchema = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } }
const map = (...keys: string[]): JsonSchema => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items: { type: 'object', properties: { sets: set } },
})

test.each<[string, JsonSchema, Json, string[]]>([
  [
    'a set has each value once, and each repetition one error',
    set,
    ['a', 'b', 'a', 'a', 'b'],
    ['l[2]: Duplicate value: "a"', 'l[4]: Duplicate value: "b"'],
  ],
  ['a text is not the number it looks like', set, ['1', 1, 'null', null], []],
  [
    'objects are the same whatever the order of their keys',
    set,
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    ['l[1]: Duplicate value: {"a":1,"b":2}'],
  ],
  [
    'a map has each key once',
    map('k'),
    [{ k: 'a' }, { k: 'b' }, { k: 'a', v: 1 }],
    ['l[2]: Duplicate value: {"k":"a"}'],
  ],
  ['keys that are missing are the same', map('k'), [{}, { v: 1 }, null], ['l[1]: Duplicate value: {}']],
  ['a key of null is not a missing one', map('k'), [{}, { k: null }], []],
  [
    'several keys count together',
    map('p', 'n'),
    [
      { n: 'a', p: 1 },
      { n: 'a', p: 2 },
      { p: 1, n: 'a' },
    ],
    ['l[2]: Duplicate value: {"n":"a","p":1}'],
  ],
  [
    'items of a map are objects',
    map('k'),
    [{ k: 'a' }, 'x'],
    ['l[1]: Invalid value: "x": must be an object for an array of list-type map'],
  ],
  ['items are looked into', map('k'), [{ k: 'a', sets: ['x', 'x'] }], ['l[0].sets[1]: Duplicate value: "x"']],
])('%s', (_, schema, list, errors) => {
  const node = compileSchema({ type: 'object', properties: { l: schema } })
  expect(validateListTypes(node, { l: list }).map(formatFieldError)).toEqual(errors)
})

test('fields of maps stand in brackets', () => {
  const node = compileSchema({ type: 'object', additionalProperties: set })
  expect(validateListTypes(node, { a: ['x', 'x'] }).map(({ field }) => field)).toEqual(['[a][1]'])
})
