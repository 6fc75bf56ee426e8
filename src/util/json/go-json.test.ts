import { expect, test } from 'vitest'
import { goJson } from './go-json.ts'

test.each<[unknown, string]>([
  [{ b: 1, a: [true, null, undefined, 'x'] }, '{"a":[true,null,null,"x"],"b":1}'],
  ['<a&b>\u2028', '"\\u003ca\\u0026b\\u003e\\u2028"'],
  [[], '[]'],
  [{}, '{}'],
  [1e21, '1e+21'],
  [1.5e-7, '1.5e-07'],
  [-0, '-0'],
])('the value %j is written as in Go', (value, text) => {
  expect(goJson(value)).toBe(text)
})

test('a value of any depth is written as in Go', () => {
  const text = `${'[{"a":'.repeat(20_000)}1${'}]'.repeat(20_000)}`
  expect(goJson(JSON.parse(text))).toBe(text)
})
