import { describe, expect, expectTypeOf, test } from 'vitest'
import { ABSENT, all, any, none, not, PRESENT } from './filters.ts'
import type { FilterOptions } from './options.ts'

const yes = () => true
const no = () => false

describe('combined filter callbacks', () => {
  test.each<[string, () => unknown, boolean]>([
    ['all()', all(), true],
    ['all(yes, yes)', all(yes, yes), true],
    ['all(yes, no)', all(yes, no), false],
    ['any()', any(), false],
    ['any(no, yes)', any(no, yes), true],
    ['any(no, no)', any(no, no), false],
    ['none()', none(), true],
    ['none(no, no)', none(no, no), true],
    ['none(no, yes)', none(no, yes), false],
    ['not(yes)', not(yes), false],
    ['not(all(yes, not(no)))', not(all(yes, not(no))), false],
    ['all of truthy values', all(() => 'x'), true],
  ])('the combined filter %s gives the expected result', (_name, callback, expected) => {
    expect(callback()).toBe(expected)
  })

  test('a combined filter passes on all its arguments', () => {
    const seen: unknown[] = []
    all((...args: unknown[]) => seen.push(args))('value', { name: 'n' })
    expect(seen).toEqual([['value', { name: 'n' }]])
  })

  test.each([
    ['all', all(async () => false)],
    ['any', any(async () => false)],
    ['none', none(async () => false)],
    ['not', not(() => Promise.reject(new Error('unheard')))],
  ])('the combined filter %s refuses promises, which are always truthy', (_name, callback) => {
    expect(() => callback()).toThrow(/must be synchronous/)
  })
})

test('PRESENT and ABSENT are the same symbols in every copy of the package', () => {
  expect(PRESENT).toBe(Symbol.for('kopf.PRESENT'))
  expect(ABSENT).toBe(Symbol.for('kopf.ABSENT'))
})

test('filter callbacks are typed by the option they are used for', () => {
  interface Args {
    readonly spec: { readonly size: number }
    readonly annotations: Readonly<Record<string, string>>
  }
  const options: FilterOptions<Args> = {
    labels: {
      tier: 'production',
      legacy: ABSENT,
      team: (team) => team?.startsWith('data-') ?? false,
      both: all((value, args) => {
        expectTypeOf(value).toEqualTypeOf<string | undefined>()
        expectTypeOf(args).toEqualTypeOf<Args>()
        return true
      }),
    },
    when: all(
      ({ spec }) => spec.size > 10,
      not(({ annotations }) => 'paused' in annotations),
    ),
  }
  expect(options.when?.({ spec: { size: 11 }, annotations: {} })).toBe(true)
  expect(options.when?.({ spec: { size: 11 }, annotations: { paused: '' } })).toBe(false)
})
