import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isDeepEqual } from './deep-equal.ts'
import { isLongerAsText, parseJsonText, toAsciiJsonText, toJsonText } from './json-text.ts'

const int64 = 9_223_372_036_854_775_807n

describe('parseJsonText', () => {
  test.each<[string, string, unknown]>([
    ['the largest safe integer', '9007199254740991', 9_007_199_254_740_991],
    ['the smallest unsafe integer', '9007199254740992', 9_007_199_254_740_992n],
    ['a negative unsafe integer', '[-9007199254740993]', [-9_007_199_254_740_993n]],
    ['the largest int64 in an object', '{"a": 9223372036854775807 }', { a: int64 }],
    ['a fraction of many digits', '{"a":1.12345678901234567890}', { a: Number('1.12345678901234567890') }],
    ['many digits and a fraction', '[12345678901234567890.5,1]', [Number('12345678901234567890.5'), 1]],
    ['an exponent', '[12345678901234567890e2]', [Number('12345678901234567890e2')]],
    ['digits in a string', '{"a":"12345678901234567890"}', { a: '12345678901234567890' }],
    ['a string that looks like a list', '["[12345678901234567890]",1]', ['[12345678901234567890]', 1]],
    [
      'escapes beside a large integer',
      String.raw`["\\",12345678901234567890,"\"\u00fc"]`,
      ['\\', 12345678901234567890n, '"ü'],
    ],
    ['a key that occurs twice', '{"a":1,"b":2,"a":12345678901234567890}', { a: 12345678901234567890n, b: 2 }],
    ['an empty key', '{"":12345678901234567890,"a":{"":[]}}', { '': 12345678901234567890n, a: { '': [] } }],
    [
      'all other types of values',
      '[12345678901234567890,true,false,null,-0.5,{},[],""]',
      [12345678901234567890n, true, false, null, -0.5, {}, [], ''],
    ],
  ])('parseJsonText reads %s', (_, text, expected) => {
    const value = parseJsonText(text)
    expect(value).toStrictEqual(expected)
  })

  test.each(['{"__proto__":{"a":1}}', '{"__proto__":{"a":12345678901234567890}}'])(
    'parseJsonText keeps __proto__ as a plain key: %s',
    (text) => {
      const value = parseJsonText(text) as object
      expect(Object.keys(value)).toEqual(['__proto__'])
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    },
  )

  test.each(['', '{', '[12345678901234567890', '{"a":12345678901234567890,}', '[012345678901234567890]'])(
    'parseJsonText refuses the invalid text %j',
    (text) => {
      expect(() => parseJsonText(text)).toThrow(SyntaxError)
    },
  )
})

describe('toJsonText', () => {
  test.each<[string, unknown, string]>([
    ['bigints as integers', { a: [int64, -1n] }, '{"a":[9223372036854775807,-1]}'],
    ['a bigint alone', 5n, '5'],
    [
      'values without a JSON form',
      { a: undefined, b: [undefined, () => 0], c: 1n, d: Number.NaN },
      '{"b":[null,null],"c":1,"d":null}',
    ],
    ['nothing', undefined, 'null'],
    ['dates', { at: new Date(0), n: 1n }, '{"at":"1970-01-01T00:00:00.000Z","n":1}'],
    ['one value in two places', ((one) => ({ a: one, b: one }))([1n]), '{"a":[1],"b":[1]}'],
  ])('toJsonText writes %s', (_, value, expected) => {
    expect(toJsonText(value)).toBe(expected)
  })

  test('toJsonText refuses a circular value', () => {
    const value: unknown[] = [1n]
    value.push(value)
    expect(() => toJsonText(value)).toThrow('it contains itself')
  })

  test('toJsonText and parseJsonText accept any depth', () => {
    const depth = 100_000
    const text = `${'[{"a":'.repeat(depth)}12345678901234567890${'}]'.repeat(depth)}`
    expect(toJsonText(parseJsonText(text)) === text).toBe(true)
  })

  test('toJsonText writes bigints as integers even if the program defines BigInt.prototype.toJSON', () => {
    Object.defineProperty(BigInt.prototype, 'toJSON', { value: String, configurable: true })
    try {
      expect(toJsonText([1n, 2])).toBe('[1,2]')
    } finally {
      Reflect.deleteProperty(BigInt.prototype, 'toJSON')
    }
  })
})

test('toAsciiJsonText escapes as Python does', () => {
  expect(toAsciiJsonText({ ü: '😀\u007f\n\u2028~' })).toBe(String.raw`{"\u00fc":"\ud83d\ude00\u007f\n\u2028~"}`)
})

const { value: document } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.string({ unit: 'binary' }),
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger(),
    fc
      .double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 })
      .map((number) => (number === 0 ? 0 : number)),
    fc.bigInt().map((integer) => (Number.isSafeInteger(Number(integer)) ? Number(integer) : integer)),
    fc.array(tie('value')),
    fc
      .array(
        fc.tuple(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '12345678901234567')), tie('value')),
      )
      .map(Object.fromEntries),
  ),
}))

test('a written JSON text is read as the same value', () => {
  fc.assert(
    fc.property(document, (value) => {
      expect(isDeepEqual(parseJsonText(toJsonText(value)), value)).toBe(true)
      expect(isDeepEqual(parseJsonText(toAsciiJsonText(value)), value)).toBe(true)
    }),
  )
})

test('isLongerAsText is true only for longer texts, and always for a long list of empty lists', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(60), (value, length) => {
      if (isLongerAsText(value, length)) expect(toJsonText(value).length).toBeGreaterThan(length)
    }),
  )
  expect(isLongerAsText({ a: { b: Array.from({ length: 1000 }, () => []) } }, 999)).toBe(true)
  expect(isLongerAsText(['x'.repeat(1000)], 1000)).toBe(true)
})
