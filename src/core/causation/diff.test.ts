import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cloneJson, isDeepEqual } from '../../util/equality.ts'
import { isPlainObject } from '../../util/json.ts'
import { ensurePath, resolvePath } from '../../util/paths.ts'
import type { Diff, Essence } from './causes.ts'
import { diffEssences, diffValues, reduceDiff } from './diff.ts'
import { digestEssence, toDigestEssence } from './essence-digest.ts'

describe('diffValues', () => {
  test.each<[string, unknown, unknown, Diff]>([
    ['equal values have none', { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
    ['null is as good as absent', { a: null, c: 1 }, { b: null, c: 1 }, []],
    ['so it is deep down', { a: { b: null } }, { a: {} }, []],
    ['but not in lists', { a: [{ b: null }] }, { a: [{}] }, [['change', ['a'], [{ b: null }], [{}]]]],
    ['null to a value adds', { a: null }, { a: 1 }, [['add', ['a'], undefined, 1]]],
    ['a value to null removes', { a: 1 }, { a: null }, [['remove', ['a'], 1, undefined]]],
    ['a whole object is added', undefined, { a: 1 }, [['add', [], undefined, { a: 1 }]]],
    ['lists are compared as a whole', { a: [1] }, { a: [1, 2] }, [['change', ['a'], [1], [1, 2]]]],
    ['types may change', { a: { b: 1 } }, { a: 'b' }, [['change', ['a'], { b: 1 }, 'b']]],
    [
      'integers beyond 2^53 differ by one',
      { a: 2n ** 60n },
      { a: 2n ** 60n + 1n },
      [['change', ['a'], 2n ** 60n, 2n ** 60n + 1n]],
    ],
    [
      'what is falsy is a value',
      { a: 0, b: false },
      { a: '' },
      [
        ['remove', ['b'], false, undefined],
        ['change', ['a'], 0, ''],
      ],
    ],
    [
      'added keys come first, then removed, then common, depth first',
      { x: { p: 1, q: 1 }, gone: 1, y: 1 },
      { y: 2, fresh: 1, x: { p: 2, r: 1 } },
      [
        ['add', ['fresh'], undefined, 1],
        ['remove', ['gone'], 1, undefined],
        ['add', ['x', 'r'], undefined, 1],
        ['remove', ['x', 'q'], 1, undefined],
        ['change', ['x', 'p'], 1, 2],
        ['change', ['y'], 1, 2],
      ],
    ],
  ])('%s', (_, old, current, expected) => {
    expect(diffValues(old, current)).toEqual(expected)
  })

  test('looks at own keys only', () => {
    const hostile = JSON.parse('{"__proto__":{"a":1},"constructor":1}') as object
    expect(diffValues({}, hostile)).toEqual([
      ['add', ['__proto__'], undefined, { a: 1 }],
      ['add', ['constructor'], undefined, 1],
    ])
  })

  test('goes to any depth', () => {
    const nest = (value: number): unknown => JSON.parse(`${'{"a":'.repeat(50_000)}${value}${'}'.repeat(50_000)}`)
    const [item, ...others] = diffValues(nest(1), nest(2))
    expect(others).toEqual([])
    expect(item?.[1]).toHaveLength(50_000)
  })
})

describe('reduceDiff', () => {
  const added: Diff = [['add', [], undefined, { spec: { a: { b: 2 } } }]]

  test.each<[string, Diff, string[], Diff]>([
    ['strips the path', [['change', ['spec', 'a', 'b'], 1, 2]], ['spec', 'a'], [['change', ['b'], 1, 2]]],
    ['keeps the field itself', [['change', ['spec', 'a'], 1, 2]], ['spec', 'a'], [['change', [], 1, 2]]],
    [
      'leaves out other fields',
      [
        ['change', ['spec', 'ab'], 1, 2],
        ['add', ['status'], undefined, 1],
      ],
      ['spec', 'a'],
      [],
    ],
    ['looks into a parent that was added', added, ['spec', 'a'], [['add', [], undefined, { b: 2 }]]],
    ['also where it does not have the field', added, ['spec', 'c'], []],
    [
      'looks into a parent that was removed',
      [['remove', ['spec'], { a: 1 }, undefined]],
      ['spec', 'a'],
      [['remove', [], 1, undefined]],
    ],
    [
      'compares anew in a parent that was replaced',
      [['change', ['spec'], { a: { x: 1, y: 1 } }, 'text']],
      ['spec', 'a'],
      [['remove', [], { x: 1, y: 1 }, undefined]],
    ],
    ['is everything for the root', added, [], added],
  ])('%s', (_, diff, path, expected) => {
    expect(reduceDiff(diff, path)).toEqual(expected)
  })
})

describe('diffEssences', () => {
  const essence = { spec: { a: 1, b: null } }

  test('says of a digest only whether it is the same', () => {
    expect(diffEssences(toDigestEssence(essence), { spec: { a: 1 } })).toEqual([])
    expect(diffEssences(toDigestEssence(essence), { spec: { a: 2 } })).toEqual([
      ['change', [], undefined, { spec: { a: 2 } }],
    ])
  })

  test('is the whole object where nothing was handled yet', () => {
    expect(diffEssences(undefined, essence)).toEqual([['add', [], undefined, essence]])
  })
})

const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor')
const { fields } = fc.letrec<{ value: unknown; fields: Essence }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, 1, 'x', 2n ** 60n, []),
    fc.array(tie('value'), { maxLength: 2 }),
    tie('fields'),
  ),
  fields: fc
    .array(fc.tuple(key, tie('value')), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries) as Essence),
}))

/** Nulls are nothing to the diff, so they are nothing to the comparison. */
function withoutNulls(value: unknown): unknown {
  if (!isPlainObject(value)) return value
  const entries = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutNulls(inner)]))
}

function apply(diff: Diff, old: unknown): unknown {
  const root: Record<string, unknown> = { root: cloneJson(old) }
  for (const [operation, path, , current] of diff) {
    ensurePath(root, ['root', ...path], operation === 'remove' ? null : current)
  }
  return root['root']
}

describe('of any two states', () => {
  test('the diff applied to the old gives the new', () => {
    fc.assert(
      fc.property(fields, fields, (old, current) => {
        const applied = apply(diffValues(old, current), old)
        expect(isDeepEqual(withoutNulls(applied), withoutNulls(current))).toBe(true)
      }),
    )
  })

  test('there is no diff exactly if the digests are equal', () => {
    fc.assert(
      fc.property(fields, fields, (old, current) => {
        expect(diffValues(old, current).length === 0).toBe(digestEssence(old) === digestEssence(current))
      }),
    )
  })

  test('the diff of a field is the diff reduced to it', () => {
    fc.assert(
      fc.property(fields, fields, fc.array(key, { maxLength: 3 }), (old, current, path) => {
        const direct = diffValues(resolvePath(old, path), resolvePath(current, path))
        expect(isDeepEqual(reduceDiff(diffValues(old, current), path), direct)).toBe(true)
      }),
    )
  })
})
