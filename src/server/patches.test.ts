import { describe, expect, test } from 'vitest'
import type { FieldValidation } from './options.ts'
import { applyPatchBody, parsePatchType, rejectPatched, toPatchError } from './patches.ts'
import { badRequest, conflict, type StatusError } from './status.ts'

const jsonPatch = 'application/json-patch+json'
const mergePatch = 'application/merge-patch+json'

const current = () => ({
  apiVersion: 'v1',
  kind: 'Widget',
  metadata: { name: 'a' },
  spec: { list: [1, 2, 3], text: 'x', none: null, nested: { b: 1 } },
})

function apply(contentType: string, patch: unknown, fieldValidation: FieldValidation = 'Warn') {
  const text = typeof patch === 'string' ? patch : JSON.stringify(patch)
  return applyPatchBody(contentType, text, current(), { isCustom: true, fieldValidation })
}

const spec = (contentType: string, patch: unknown): unknown => apply(contentType, patch).object['spec']

function refusal(contentType: string, patch: unknown, fieldValidation: FieldValidation = 'Warn'): object {
  try {
    apply(contentType, patch, fieldValidation)
  } catch (error) {
    const { code, reason, message, details } = error as StatusError
    return { code, reason, message, ...(details && { details }) }
  }
  throw new Error('The patch was applied')
}

describe('content types', () => {
  const accepted =
    'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml'

  test.each([
    [jsonPatch, 'json'],
    [mergePatch, 'merge'],
    [`${mergePatch}; charset=utf-8`, 'merge'],
    ['application/apply-patch+yaml', 'apply'],
  ])('%s is taken', (contentType, expected) => {
    expect(parsePatchType(contentType, { isCustom: true })).toBe(expected)
    expect(parsePatchType(contentType, { isCustom: false })).toBe(expected)
  })

  test('a strategic merge patch is taken of kinds whose types are known', () => {
    expect(parsePatchType('application/strategic-merge-patch+json', { isCustom: false })).toBe('strategic')
  })

  test.each([
    ['text/plain', true, accepted],
    ['', true, accepted],
    ['application/json', true, accepted],
    ['application/strategic-merge-patch+json', true, accepted],
    ['text/plain', false, '415: Unsupported Media Type'],
    ['application/apply-patch+cbor', true, accepted],
    ['application/apply-patch+cbor', false, '415: Unsupported Media Type'],
  ])('%j of a custom resource: %s', (contentType, isCustom, message) => {
    const expected = expect.objectContaining({ code: 415, reason: 'UnsupportedMediaType', message })
    expect(() => parsePatchType(contentType, { isCustom })).toThrow(expected)
  })
})

describe('JSON patches', () => {
  test('are applied to a copy', () => {
    const object = current()
    const patch = '[{"op":"remove","path":"/spec/list/0"}]'
    const result = applyPatchBody(jsonPatch, patch, object, { isCustom: true, fieldValidation: 'Strict' })
    expect(result.object['spec']).toEqual({ ...current().spec, list: [2, 3] })
    expect(result.problems).toEqual([])
    expect(object).toEqual(current())
  })

  test.each<[string, unknown[], object]>([
    ['take negative indices', [{ op: 'remove', path: '/spec/list/-1' }], { list: [1, 2] }],
    ['append at minus one', [{ op: 'add', path: '/spec/list/-1', value: 4 }], { list: [1, 2, 3, 4] }],
    ['take signs and leading zeros', [{ op: 'replace', path: '/spec/list/+01', value: 9 }], { list: [1, 9, 3] }],
    ['ignore what is before the first slash', [{ op: 'replace', path: 'x/spec/text', value: 'y' }], { text: 'y' }],
    ['replace what is not there', [{ op: 'replace', path: '/spec/new', value: 1 }], { new: 1 }],
    ['add null for no value', [{ op: 'add', path: '/spec/new' }], { new: null }],
    ['copy what is not there as null', [{ op: 'copy', from: '/spec/no', path: '/spec/new' }], { new: null }],
    ['test what is not there for null', [{ op: 'test', path: '/spec/no', value: null }], {}],
    ['test null without a value', [{ op: 'test', path: '/spec/none' }], {}],
    ['leave a lone tilde alone', [{ op: 'add', path: '/spec/a~2', value: 1 }], { 'a~2': 1 }],
    ['keep hostile keys', [{ op: 'add', path: '/spec/__proto__', value: 1 }], JSON.parse('{"__proto__":1}')],
    ['do nothing where there is nothing to do', [], {}],
  ])('%s', (_, patch, changes) => {
    const expected = Object.entries({ ...current().spec, ...changes }).sort()
    expect(Object.entries(spec(jsonPatch, patch) as object).sort()).toEqual(expected)
  })

  test('may be null', () => {
    expect(apply(jsonPatch, 'null').object).toEqual(current())
  })

  const rejected = {
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
    details: {},
  }

  test.each<[string, unknown[]]>([
    ['a failed test', [{ op: 'test', path: '/spec/text', value: 'y' }]],
    ['a test of a value without one', [{ op: 'test', path: '/spec/text' }]],
    ['an unknown operation', [{ op: 'spam', path: '/spec' }]],
    ['no operation', [{}]],
    ['null as an operation', [null]],
    ['no path', [{ op: 'add', value: 1 }]],
    ['a removed key that is not there', [{ op: 'remove', path: '/spec/no' }]],
    ['a path through what is not there', [{ op: 'add', path: '/spec/no/x', value: 1 }]],
    ['a path through null', [{ op: 'add', path: '/spec/none/x', value: 1 }]],
    ['a path through a text', [{ op: 'add', path: '/spec/text/x', value: 1 }]],
    ['a path through what all objects inherit', [{ op: 'add', path: '/constructor/x', value: 1 }]],
    ['an index beyond the end', [{ op: 'add', path: '/spec/list/4', value: 1 }]],
    ['an index too far from the end', [{ op: 'remove', path: '/spec/list/-4' }]],
    ['an index that is none', [{ op: 'add', path: '/spec/list/1e0', value: 1 }]],
    ['the whole document, added', [{ op: 'add', path: '', value: {} }]],
    ['the whole document, removed', [{ op: 'remove', path: '' }]],
    ['a scalar for a document', [{ op: 'replace', path: '', value: 1 }]],
    ['a move without a source', [{ op: 'move', path: '/spec/x' }]],
    ['a move into itself', [{ op: 'move', from: '/spec', path: '/spec/x' }]],
  ])('refuse %s without saying why', (_, patch) => {
    expect(refusal(jsonPatch, patch)).toEqual(rejected)
  })

  test('do not grow for ever by copying', () => {
    const doubling = Array.from({ length: 40 }, () => ({ op: 'copy', from: '/spec/nested', path: '/spec/nested/x' }))
    const twice = doubling.map((operation, index) => ({ ...operation, path: `/spec/nested/x${index}` }))
    expect(refusal(jsonPatch, twice)).toEqual(rejected)
    expect(() => apply(jsonPatch, twice.slice(0, 10))).not.toThrow()
  })

  test('have ten thousand operations at most', () => {
    const operations = (count: number) =>
      Array.from({ length: count }, () => ({ op: 'test', path: '/kind', value: 'Widget' }))
    expect(apply(jsonPatch, operations(10_000)).object).toEqual(current())
    expect(refusal(jsonPatch, operations(10_001))).toEqual({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    })
  })

  test.each<[string, FieldValidation, string]>([
    ['{}', 'Warn', 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp'],
    ['{}', 'Ignore', 'json: cannot unmarshal object into Go value of type jsonpatch.Patch'],
    ['[1]', 'Strict', 'error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp'],
    ['[[]]', 'Ignore', 'json: cannot unmarshal array into Go value of type jsonpatch.Operation'],
    [
      '[{"op":1}]',
      'Warn',
      'error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string',
    ],
    [
      '[{"op":"add","path":true}]',
      'Warn',
      'error decoding patch: json: cannot unmarshal bool into Go struct field jsonPatchOp.path of type string',
    ],
    ['[', 'Warn', 'error decoding patch: unexpected end of JSON input'],
    ['[', 'Ignore', 'unexpected end of JSON input'],
  ])('%s is a bad request (%s)', (patch, fieldValidation, message) => {
    expect(refusal(jsonPatch, patch, fieldValidation)).toEqual({ code: 400, reason: 'BadRequest', message })
  })

  test('name what is strange in them', () => {
    const patch = '[{"op":"test","path":"/kind","value":"Widget","x":1,"op":"test"}]'
    const problems = ['json patch unknown field "[0].x"', 'json patch duplicate field "[0].op"']
    expect(apply(jsonPatch, patch, 'Warn').problems).toEqual(problems)
    expect(apply(jsonPatch, patch, 'Ignore').problems).toEqual([])
  })

  test('that make something else of an object are invalid', () => {
    const message =
      ' "" is invalid: patch: Invalid value: "[]": couldn\'t get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    const patch = [{ op: 'replace', path: '', value: [] }]
    expect(refusal(jsonPatch, patch)).toMatchObject({ code: 422, reason: 'Invalid', message })
  })
})

describe('merge patches', () => {
  test.each<[string, object, object]>([
    ['remove, replace and add', { none: 1, text: null, new: { a: null, b: 1 } }, { none: 1, new: { b: 1 } }],
    ['merge objects', { nested: { c: 2 } }, { nested: { b: 1, c: 2 } }],
    ['drop nulls from the objects of a new list', { new: [{ a: null }, null] }, { new: [{}, null] }],
    ['drop nulls from a list that replaces one', { list: [{ a: null }] }, { list: [{}] }],
    ['keep nulls in a list that replaces an object', { nested: [{ a: null }] }, { nested: [{ a: null }] }],
  ])('%s', (_, patch, changes) => {
    const expected: Record<string, unknown> = { ...current().spec, ...changes }
    if ('text' in patch) delete expected['text']
    expect(spec(mergePatch, { spec: patch })).toEqual(expected)
  })

  test.each<[string, FieldValidation, string]>([
    ['[]', 'Warn', 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
    [
      '5',
      'Strict',
      'error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}',
    ],
    ['5', 'Ignore', 'Invalid JSON Patch'],
    ['null', 'Warn', 'Invalid JSON Patch'],
    ['{', 'Warn', 'error decoding patch: unexpected end of JSON input'],
    ['', 'Warn', 'error decoding patch: unexpected end of JSON input'],
  ])('%s is a bad request (%s)', (patch, fieldValidation, message) => {
    expect(refusal(mergePatch, patch, fieldValidation)).toEqual({ code: 400, reason: 'BadRequest', message })
  })

  test('name the keys that occur twice', () => {
    expect(apply(mergePatch, '{"spec":{},"spec":{"a":1,"a":2}}').problems).toEqual([
      'duplicate field "spec"',
      'duplicate field "spec.a"',
    ])
  })
})

describe('objects that cannot be decoded after the patch', () => {
  test('are shown in the answer, as Go would print them', () => {
    const error = badRequest('Widget in version "v1" cannot be handled as a Widget: json: no')
    const shown = toPatchError(() => ({ b: '<', a: 1 }), error) as StatusError
    expect(shown.toStatus()).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: ' "" is invalid: patch: Invalid value: "{\\"a\\":1,\\"b\\":\\"\\\\u003c\\"}": json: no',
      reason: 'Invalid',
      details: {
        causes: [
          {
            reason: 'FieldValueInvalid',
            message: 'Invalid value: "{\\"a\\":1,\\"b\\":\\"\\\\u003c\\"}": json: no',
            field: 'patch',
          },
        ],
      },
      code: 422,
    })
    expect(rejectPatched({ a: 1 }, 'why').code).toBe(422)
  })

  test('leave all other errors as they are', () => {
    for (const error of [badRequest('x'), conflict({ group: '', plural: 'pods' }, 'a', 'b'), new Error('bug')]) {
      expect(toPatchError(() => ({}), error)).toBe(error)
    }
  })
})
