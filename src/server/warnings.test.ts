import { expect, test } from 'vitest'
import { warningHeaders } from './warnings.ts'

test.each<[string, string[], string[]]>([
  ['each is a header', ['one', 'two'], ['299 - "one"', '299 - "two"']],
  ['each is said once', ['one', 'two', 'one'], ['299 - "one"', '299 - "two"']],
  ['nothing is not said', ['', 'one'], ['299 - "one"']],
  ['quotes and backslashes are escaped', ['a "b" \\c'], ['299 - "a \\"b\\" \\\\c"']],
  ['other characters stay', ['Ключ 😀'], ['299 - "Ключ 😀"']],
  ['line breaks would make headers of their own', ['a\r\nset-cookie: b', 'one\n', 'two'], ['299 - "two"']],
  ['half a character is none', ['a\ud800'], []],
])('%s', (_, texts, expected) => {
  expect(warningHeaders(texts)).toEqual(expected)
})

test('up to four thousand characters are said in full', () => {
  const texts = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(1024))
  expect(warningHeaders(texts)).toEqual(texts.map((text) => `299 - "${text}"`))
})

test('beyond, each is cut short, and not all are said', () => {
  const texts = Array.from({ length: 100 }, (_, index) => `${index} ${'😀'.repeat(1000)}`)
  const headers = warningHeaders(texts)
  expect(headers).toHaveLength(16)
  expect(headers[1]).toBe(`299 - "1 ${'😀'.repeat(254)}"`)
})
