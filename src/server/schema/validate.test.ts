/** Tests how checks are combined. crds/recorded.test.ts compares the messages with kube-apiserver. */
import { describe, expect, test } from 'vitest'
import type { Json } from '../../kube/objects.ts'
import { formatFieldError } from '../field-errors.ts'
import { compileSchema, type JsonSchema } from './structural.ts'
import { validateValue } from './validate.ts'

function validate(schema: JsonSchema, value: Json, options: { old?: Json; prefix?: string } = {}): string[] {
  return validateValue(compileSchema(schema), value, options).map(formatFieldError)
}

const text: JsonSchema = { type: 'string', maxLength: 2 }

describe('the errors of a value', () => {
  test('come in the order of the real checks: type, junctors, limits, enum', () => {
    const schema: JsonSchema = { type: 'integer', minLength: 3, pattern: '^a', enum: ['abc'], not: { enum: ['x'] } }
    expect(validate({ type: 'object', properties: { a: schema } }, { a: 'x' })).toEqual([
      'a: Invalid value: "string": a in body must be of type integer: "string"',
      '<nil>: Invalid value: "": "a" must not validate the schema (not)',
      'a: Invalid value: "x": a in body should be at least 3 chars long',
      'a: Unsupported value: "x": supported values: "abc"',
    ])
  })

  test('are reported once, though several schemas find them', () => {
    const schema: JsonSchema = { type: 'object', required: ['a'], allOf: [{ required: ['a'] }, { required: ['a'] }] }
    expect(validate(schema, {})).toEqual([
      'a: Required value',
      '<nil>: Invalid value: "": "" must validate all the schemas (allOf). None validated',
    ])
  })

  test('have their paths from the prefix on', () => {
    const schema: JsonSchema = { type: 'object', required: ['b'], properties: { a: text } }
    expect(validate(schema, { a: 5 }, { prefix: 'status' })).toEqual([
      'status.a: Invalid value: "integer": a in body must be of type string: "integer"',
      'status.b: Required value',
    ])
    expect(validate(schema, 'x', { prefix: 'status' })).toEqual([
      'status: Invalid value: "string":  in body must be of type object: "string"',
    ])
  })

  test('of an anyOf are those of the schema that came nearest', () => {
    const schema: JsonSchema = {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'integer' } },
      anyOf: [{ required: ['c'] }, { properties: { a: { minLength: 5 }, b: { minimum: 1 } } }],
    }
    expect(validate(schema, { a: 'x', b: 1 })).toEqual([
      '<nil>: Invalid value: "": "" must validate at least one schema (anyOf)',
      'a: Invalid value: "x": a in body should be at least 5 chars long',
    ])
  })

  test('of a oneOf with several answers say how many', () => {
    const schema: JsonSchema = {
      type: 'object',
      oneOf: [{ minProperties: 0 }, { minProperties: 0 }, { minProperties: 9 }],
    }
    expect(validate(schema, {})).toEqual([
      '<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ])
  })

  test('count characters, not units', () => {
    expect(validate(text, '😀😀')).toEqual([])
    expect(validate({ type: 'string', minLength: 2 }, '😀')).toHaveLength(1)
  })

  test('of a pattern cost linear time', () => {
    expect(validate({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(50_000)}!`)).toHaveLength(1)
  })

  test('do not come from fields that objects inherit', () => {
    const schema: JsonSchema = { type: 'object', properties: { constructor: text } as never, required: ['toString'] }
    expect(validate(schema, {})).toEqual(['toString: Required value'])
  })

  test('leave rules in CEL to others, and keep them', () => {
    const rules = [{ rule: 'false' }]
    const node = compileSchema({ type: 'object', 'x-kubernetes-validations': rules })
    expect(validateValue(node, {})).toEqual([])
    expect(node.source['x-kubernetes-validations']).toBe(rules)
  })
})

describe('an update', () => {
  const item: JsonSchema = { type: 'object', properties: { k: { type: 'string' }, v: text } }
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      a: text,
      b: text,
      list: { type: 'array', items: text },
      map: { type: 'array', items: item, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] },
    },
  }
  test.each<[string, Json, Json, string[]]>([
    ['forgives what did not change', { a: 'long' }, { a: 'long', b: 'x' }, []],
    ['does not forgive what did', { a: 'long' }, { a: 'longer' }, ['a']],
    ['does not forgive what is new', {}, { a: 'long' }, ['a']],
    ['forgives whole lists only', { list: ['long', 'a'] }, { list: ['long', 'b'] }, ['list[0]']],
    ['forgives lists that are the same', { list: ['long'] }, { list: ['long'], a: 'x' }, []],
    [
      'finds items of maps by their keys',
      {
        map: [
          { k: 'a', v: 'long' },
          { k: 'b', v: 'long' },
        ],
      },
      {
        map: [
          { k: 'b', v: 'long' },
          { k: 'a', v: 'other' },
        ],
      },
      ['map[1].v'],
    ],
  ])('%s', (_, old, value, fields) => {
    const errors = validateValue(compileSchema(schema), value, { old })
    expect(errors.map(({ field }) => field)).toEqual(fields)
  })
})
