import { describe, expect, test } from 'vitest'
import type { Json } from '../../kube/objects.ts'
import { applyDefaults, dropNulls } from './default.ts'
import { compileSchema, type JsonSchema } from './structural.ts'

const withDefault: JsonSchema = { type: 'string', default: 'A' }
const object = (properties: Record<string, JsonSchema>): JsonSchema => ({ type: 'object', properties })

describe('defaults', () => {
  test.each<[string, JsonSchema, Json, Json]>([
    ['fill in what is missing', object({ a: withDefault }), {}, { a: 'A' }],
    ['leave what is there', object({ a: withDefault }), { a: '' }, { a: '' }],
    ['replace null', object({ a: withDefault }), { a: null }, { a: 'A' }],
    ['leave null where it is allowed', object({ a: { ...withDefault, nullable: true } }), { a: null }, { a: null }],
    ['are filled in themselves', object({ a: { ...object({ b: withDefault }), default: {} } }), {}, { a: { b: 'A' } }],
    ['do not make objects on the way', object({ a: object({ b: withDefault }) }), {}, {}],
    [
      'reach into lists and maps',
      object({
        list: { type: 'array', items: object({ a: withDefault }) },
        map: { type: 'object', additionalProperties: object({ a: withDefault }) },
      }),
      { list: [{}, { a: 'B' }], map: { x: {} } },
      { list: [{ a: 'A' }, { a: 'B' }], map: { x: { a: 'A' } } },
    ],
    ['replace null in lists', { type: 'array', items: withDefault }, [null, 'B'], ['A', 'B']],
    ['replace null in maps', { type: 'object', additionalProperties: withDefault }, { x: null }, { x: 'A' }],
    ['ignore a default of null', object({ a: { type: 'string', default: null } }), {}, {}],
    ['ignore values of other types', object({ a: withDefault }), 'text', 'text'],
  ])('%s', (_, schema, value, expected) => {
    applyDefaults(value, compileSchema(schema))
    expect(value).toEqual(expected)
  })

  test('are copies, each time', () => {
    const node = compileSchema(object({ a: { type: 'object', default: { list: [] }, additionalProperties: true } }))
    const first: { a?: { list: unknown[] } } = {}
    applyDefaults(first as Json, node)
    first.a!.list.push(1)
    const second = {}
    applyDefaults(second, node)
    expect(second).toEqual({ a: { list: [] } })
  })
})

test.each<[string, JsonSchema, Json, Json]>([
  ['is dropped from fields that do not allow it', object({ a: { type: 'string' } }), { a: null }, {}],
  ['stays where it is allowed', object({ a: { type: 'string', nullable: true } }), { a: null }, { a: null }],
  ['stays where a default will replace it', object({ a: withDefault }), { a: null }, { a: null }],
  ['stays in lists', { type: 'array', items: { type: 'string' } }, [null], [null]],
  ['stays where nothing is known', object({}), { a: null }, { a: null }],
  ['is dropped from maps', { type: 'object', additionalProperties: { type: 'string' } }, { a: null }, {}],
  [
    'is dropped further down',
    object({ l: { type: 'array', items: object({ a: { type: 'string' } }) } }),
    { l: [{ a: null }] },
    { l: [{}] },
  ],
])('null %s', (_, schema, value, expected) => {
  dropNulls(value, compileSchema(schema))
  expect(value).toEqual(expected)
})
