import { expect, test } from 'vitest'
import { expectLinearGrowth, nest, widen } from '../../../test/support/growth.ts'
import { estimateParsedBytes } from './json-size.ts'

const estimate = (text: string) => estimateParsedBytes(Buffer.from(text))

test.each([
  ['a string', '"abc"', 2 * 5 + 24],
  ['a string that contains JSON', '"{[,:\\"{[,:"', 2 * 12 + 24],
  ['an escaped backslash at the end of a string', '["\\\\",{}]', 2 * 9 + 56 + 24 + 24 + 64],
  ['objects, lists, keys and values', '{"a":[1,2]}', 2 * 11 + 64 + 24 + 136 + 56 + 24],
  ['a string without an end', '["abc', 2 * 5 + 56 + 24],
  ['nothing', '', 0],
])('the memory of a parsed JSON text is estimated for %s', (_name, text, bytes) => {
  expect(estimate(text)).toBe(bytes)
})

test.each([
  ['empty objects', `[${Array(50_000).fill('{}').join()}]`],
  ['nested lists', '['.repeat(5000) + ']'.repeat(5000)],
])('the memory of parsed %s is estimated at more than twenty times the text', (_name, text) => {
  expect(estimate(text)).toBeGreaterThan(20 * text.length)
})

test('the memory of an ordinary object is estimated at less than sixteen times its text', () => {
  const env = Array.from({ length: 500 }, (_, n) => ({ name: `VARIABLE_${n}`, value: `the value of number ${n}` }))
  const text = JSON.stringify({ spec: { containers: [{ name: 'main', image: 'example.com/main:1', env }] } })
  expect(estimate(text)).toBeLessThan(16 * text.length)
})

test.each<[string, (n: number) => object]>([
  ['depth', (n) => nest(n)],
  ['width', (n) => widen(n)],
  ['long keys', (n) => widen(10, { keyLength: n * 10 })],
])('the estimate of parsed memory takes linear time: %s', async (_name, make) => {
  const prepare = (n: number) => {
    const text = Buffer.from(JSON.stringify(make(n)))
    return Array.from({ length: 100 }, () => text)
  }
  await expectLinearGrowth({ n: 700, prepare, run: (texts) => texts.forEach(estimateParsedBytes) })
})
