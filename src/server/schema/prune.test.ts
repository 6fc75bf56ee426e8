import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../kube/objects.ts'
import { pruneObject, pruneValue } from './prune.ts'
import { compileSchema, type JsonSchema } from './structural.ts'

const text: JsonSchema = { type: 'string' }
const named: JsonSchema = { type: 'object', properties: { name: text } }
const free = { 'x-kubernetes-preserve-unknown-fields': true }

describe('pruning', () => {
  test.each<[string, JsonSchema, unknown, unknown, string[]]>([
    ['drops unknown fields', named, { name: 'a', size: 1 }, { name: 'a' }, ['size']],
    [
      'names them by their path, sorted',
      { type: 'object', properties: { list: { type: 'array', items: named }, inner: named } },
      { zebra: 1, list: [{ name: 'a' }, { name: 'b', colour: 'red' }], inner: { x: { y: 1 } } },
      { list: [{ name: 'a' }, { name: 'b' }], inner: {} },
      ['inner.x', 'list[1].colour', 'zebra'],
    ],
    [
      'keeps the fields of maps',
      { type: 'object', additionalProperties: named },
      { a: { name: 'x', b: 1 } },
      { a: { name: 'x' } },
      ['a.b'],
    ],
    [
      'keeps the fields of maps without a schema, and empties them',
      { type: 'object', additionalProperties: true },
      { a: { b: 1 }, c: [[{ d: 1 }, 2]], e: 'x' },
      { a: {}, c: [[{}, 2]], e: 'x' },
      ['a.b', 'c[0][0].d'],
    ],
    [
      'preserves unknown fields where told so',
      { type: 'object', ...free },
      { a: { b: [{ c: 1 }] } },
      { a: { b: [{ c: 1 }] } },
      [],
    ],
    [
      'prunes again below what is preserved',
      { type: 'object', ...free, properties: { known: named } },
      { any: { thing: 1 }, known: { name: 'a', more: 1 } },
      { any: { thing: 1 }, known: { name: 'a' } },
      ['known.more'],
    ],
    [
      'looks through lists that preserve unknown fields',
      { type: 'array', ...free, items: { type: 'object', properties: { known: named } } },
      [{ any: 1, known: { name: 'a', more: 1 } }, [1]],
      [{ any: 1, known: { name: 'a' } }, [1]],
      ['[0].known.more'],
    ],
    [
      'leaves the metadata of embedded objects alone',
      { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: named } },
      { apiVersion: 'v1', kind: 'Pod', metadata: { any: 1 }, spec: { name: 'a', b: 1 }, c: 1 },
      { apiVersion: 'v1', kind: 'Pod', metadata: { any: 1 }, spec: { name: 'a' } },
      ['c', 'spec.b'],
    ],
    ['does not mind values of other types', named, 'text', 'text', []],
    ['knows no field that objects inherit', named, { constructor: 1, toString: 2 }, {}, ['constructor', 'toString']],
  ])('%s', (_, schema, value, expected, dropped) => {
    const pruned = JSON.parse(JSON.stringify(value))
    expect(pruneValue(pruned, compileSchema(schema))).toEqual(dropped)
    expect(pruned).toEqual(expected)
  })

  test('leaves the metadata of a whole object alone, though the schema does not mention it', () => {
    const object = { apiVersion: 'a/v1', kind: 'A', metadata: { name: 'x' }, name: 'a', size: 1 } as JsonObject
    expect(pruneObject(object, compileSchema(named))).toEqual(['size'])
    expect(object).toEqual({ apiVersion: 'a/v1', kind: 'A', metadata: { name: 'x' }, name: 'a' })
  })

  test('treats a field called __proto__ as any other', () => {
    const object = JSON.parse('{"__proto__":{"a":1},"map":{"__proto__":"x"}}')
    const schema: JsonSchema = { type: 'object', properties: { map: { type: 'object', additionalProperties: text } } }
    expect(pruneObject(object, compileSchema(schema))).toEqual(['__proto__'])
    expect(JSON.stringify(object)).toBe('{"map":{"__proto__":"x"}}')
  })
})
