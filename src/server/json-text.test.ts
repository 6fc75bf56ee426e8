import { describe, expect, test } from 'vitest'
import { toJsonText } from '../util/json/json-text.ts'
import { findDuplicateFields, parseJsonText } from './json-text.ts'

test('reads JSON', () => {
  expect(parseJsonText(' {"a": [1, "x", null, {"b": true}]}\n')).toEqual({ a: [1, 'x', null, { b: true }] })
})

describe('syntax errors in the words of Go', () => {
  test.each([
    ['', 'unexpected end of JSON input'],
    ['{', 'unexpected end of JSON input'],
    ['{"a"', 'unexpected end of JSON input'],
    ['{"a":', 'unexpected end of JSON input'],
    ['[1,', 'unexpected end of JSON input'],
    ['"a', 'unexpected end of JSON input'],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ["'", "invalid character '\\'' looking for beginning of value"],
    ['ä', "invalid character 'Ã' looking for beginning of value"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{"a"}', "invalid character '}' after object key"],
    ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
    ['[1 2]', "invalid character '2' after array element"],
    ['[] x', "invalid character 'x' after top-level value"],
    ['"\u0001"', "invalid character '\\x01' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\', "invalid character ' ' in string escape code"],
    ['"\\u12g"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['-x', "invalid character 'x' in numeric literal"],
    ['1.', "invalid character ' ' after decimal point in numeric literal"],
    ['1e+', "invalid character ' ' in exponent of numeric literal"],
    ['falsy', "invalid character 'y' in literal false (expecting 'e')"],
    ['tru', "invalid character ' ' in literal true (expecting 'e')"],
  ])('%j', (text, message) => {
    expect(() => parseJsonText(text)).toThrow(new SyntaxError(message))
  })
})

describe('depth', () => {
  const lists = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

  test('is limited to 10,000 levels', () => {
    const refusal = new SyntaxError("invalid character '[' exceeded max depth")
    expect(toJsonText(parseJsonText(lists(10_000)))).toBe(lists(10_000))
    expect(() => parseJsonText(lists(10_001))).toThrow(refusal)
    expect(() => parseJsonText('['.repeat(10_001))).toThrow(refusal)
    expect(() => parseJsonText(lists(1_000_000))).toThrow(refusal)
    expect(() => parseJsonText('{"a":'.repeat(10_001))).toThrow("invalid character '{' exceeded max depth")
    expect(parseJsonText(`[${Array(20_000).fill('[]')}]`)).toHaveLength(20_000)
  })

  test('does not count brackets in texts', () => {
    expect(parseJsonText(JSON.stringify('['.repeat(30_000)))).toHaveLength(30_000)
  })
})

describe('keys that occur twice', () => {
  test.each<[string, string[]]>([
    ['{"a":1,"b":{"a":2}}', []],
    ['{"a":1,"a":2,"a":3}', ['a']],
    ['{"a":{"b":1,"b":[{"c":1,"c":2},{"c":3}]}}', ['a.b', 'a.b[0].c']],
    ['[{"a":[{}, {"b":1,"b":2}]}]', ['[0].a[1].b']],
    ['{"a":"x\\"a","\\u0061":2}', ['a']],
    ['{"a":"b","b":"b"}', []],
    ['{"__proto__":1,"__proto__":2}', ['__proto__']],
    ['"a"', []],
  ])('of %s are %j', (text, expected) => {
    expect(findDuplicateFields(text)).toEqual(expected)
  })

  test('are told a hundred times at most', () => {
    const twice = Array.from({ length: 150 }, (_, index) => `"k${index}":1,"k${index}":2`)
    expect(findDuplicateFields(`{${twice.join(',')}}`)).toHaveLength(100)
  })
})
