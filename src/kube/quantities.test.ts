import { describe, expect, test } from 'vitest'
import { nanosOf, parseQuantity, roundToMilli } from './quantities.ts'

const suffix = "unable to parse quantity's suffix"
const format = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

describe('canonical quantities', () => {
  test.each([
    ['0', '0'],
    ['1', '1'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['0.5', '500m'],
    ['.5', '500m'],
    ['1000', '1k'],
    ['1024', '1024'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Ki', '512'],
    ['1023Ki', '1023Ki'],
    ['100Mi', '100Mi'],
    ['-1Gi', '-1Gi'],
    ['1e3', '1e3'],
    ['12E2', '1200'],
    ['1500e-3', '1500e-3'],
    ['1000000000000', '1T'],
    ['0.0000000001', '1n'],
    ['00.10', '100m'],
    ['+5', '+5'],
    ['1.', '1.'],
    ['1e+3', '1e+3'],
    ['1e30', '1e30'],
    ['8Ei', '9223372036854775807'],
  ])('the quantity %s is written as %s', (text, canonical) => {
    expect(parseQuantity(text)).toMatchObject({ text: canonical })
  })
})

describe('invalid quantities', () => {
  test.each([
    ['', format],
    ['much', format],
    ['1 Gi', format],
    ['1.2.3', format],
    ['1mm', suffix],
    ['1gi', format],
    ['1K', suffix],
    ['1e', suffix],
  ])('the quantity "%s" is refused', (text, problem) => {
    expect(parseQuantity(text)).toBe(problem)
  })
})

test('quantities are rounded up to thousandths', () => {
  expect(roundToMilli('1u')).toBe('1m')
  expect(roundToMilli('1500u')).toBe('2m')
  expect(roundToMilli('5m')).toBe('5m')
})

test('quantities compare across suffixes', () => {
  expect(nanosOf('1Gi')).toBe(nanosOf('1073741824'))
  expect(nanosOf(undefined)).toBe(0n)
})
