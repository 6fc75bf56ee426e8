import { describe, expect, test } from 'vitest'
import { base64Length, parseBase64 } from './base64.ts'

test('line breaks are taken out', () => {
  expect(parseBase64('YWJj\nZGVm\r\n')).toEqual({ text: 'YWJjZGVm' })
})

test('nothing is fine', () => {
  expect(parseBase64('')).toEqual({ text: '' })
})

describe('what is no base64 is refused with its position', () => {
  test.each([
    ['*', 0],
    ['YWJj!', 4],
    ['YWJ', 0],
    ['YWJjZ', 4],
    ['YW=j', 3],
  ])('%s', (text, position) => {
    expect(parseBase64(text)).toEqual({ error: `illegal base64 data at input byte ${position}` })
  })
})

test('the length is that of the bytes', () => {
  expect(base64Length('YWI=')).toBe(2)
})
