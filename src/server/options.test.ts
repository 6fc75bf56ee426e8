import { describe, expect, test } from 'vitest'
import { parseDeleteOptions, parseListOptions, parseVersion } from './options.ts'

describe('numbers', () => {
  test.each<[string, number]>([
    ['', 0],
    ['0', 0],
    ['5', 5],
    ['+5', 5],
    ['-5', -5],
    ['0005', 5],
    ['9223372036854775807', Number('9223372036854775807')],
  ])('limit=%s is %i', (text, expected) => {
    expect(parseListOptions(new URLSearchParams({ limit: text }), false).limit).toBe(expected)
  })

  test.each([
    ['abc', 'invalid syntax'],
    ['1e3', 'invalid syntax'],
    ['5.0', 'invalid syntax'],
    [' 5', 'invalid syntax'],
    ['0x10', 'invalid syntax'],
    ['9223372036854775808', 'value out of range'],
    ['-9223372036854775809', 'value out of range'],
    ['9'.repeat(100_000), 'value out of range'],
  ])('limit=%s is refused', (text, why) => {
    const parse = () => parseListOptions(new URLSearchParams({ limit: text }), false)
    expect(parse).toThrow(`strconv.ParseInt: parsing "${text}": ${why}`)
  })
})

test.each<[string, number | undefined]>([
  ['', 0],
  ['0', 0],
  ['12', 12],
  ['-1', undefined],
  ['+1', undefined],
  ['1.5', undefined],
  ['abc', undefined],
  ['９', undefined],
])('the version %j is %s', (text, expected) => {
  expect(parseVersion(text)).toBe(expected)
})

describe('the options of a deletion', () => {
  test('come from the query, or from the body, never from both', () => {
    const query = new URLSearchParams('propagationPolicy=Orphan&gracePeriodSeconds=5')
    expect(parseDeleteOptions(query, undefined)).toMatchObject({ propagationPolicy: 'Orphan', gracePeriodSeconds: 5 })
    expect(parseDeleteOptions(query, {})).toMatchObject({ propagationPolicy: undefined, gracePeriodSeconds: undefined })
  })

  test.each<[string, unknown, string]>([
    ['a list', [], 'decoded object cannot be converted to DeleteOptions'],
    ['a text for a number', { gracePeriodSeconds: '5' }, 'json: cannot unmarshal string into Go struct field'],
    ['a number for a text', { propagationPolicy: 5 }, 'json: cannot unmarshal number into Go struct field'],
    ['a policy that is none', { propagationPolicy: 'Sometimes' }, 'Unsupported value: "Sometimes"'],
    ['both ways to say it', { propagationPolicy: 'Orphan', orphanDependents: true }, 'cannot be both set'],
    ['a dry run of something', { dryRun: ['Some'] }, 'dryRun: Unsupported value'],
  ])('are refused for %s', (_, body, message) => {
    expect(() => parseDeleteOptions(new URLSearchParams(), body)).toThrow(message)
  })
})
