import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { expectLinearGrowth, nest as nestIn, widen } from '../../test/support/growth.ts'
import { cloneJson, isDeepEqual } from '../util/json/deep-equal.ts'
import { isPlainObject } from '../util/json/json.ts'
import { ensurePath, resolvePath } from '../util/json/paths.ts'
import type { Diff, DiffTuple, Essence } from './cause.ts'
import { diffEssences, diffValues, reduceDiff } from './diff.ts'
import { createDiffItem } from './diff-item.ts'
import { digestEssence, toDigestEssence } from './essence.ts'

describe('diffValues', () => {
  test.each<[string, unknown, unknown, readonly DiffTuple[]]>([
    ['equal values have no diff', { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
    ['a field with null equals an absent field', { a: null, c: 1 }, { b: null, c: 1 }, []],
    ['a nested field with null equals an absent field', { a: { b: null } }, { a: {} }, []],
    [
      'a null inside a list differs from an absent field',
      { a: [{ b: null }] },
      { a: [{}] },
      [['change', ['a'], [{ b: null }], [{}]]],
    ],
    ['a change from null to a value is an addition', { a: null }, { a: 1 }, [['add', ['a'], undefined, 1]]],
    ['a change from a value to null is a removal', { a: 1 }, { a: null }, [['remove', ['a'], 1, undefined]]],
    ['an object that appears is added as a whole', undefined, { a: 1 }, [['add', [], undefined, { a: 1 }]]],
    ['lists are compared as a whole', { a: [1] }, { a: [1, 2] }, [['change', ['a'], [1], [1, 2]]]],
    ['a value can change its type', { a: { b: 1 } }, { a: 'b' }, [['change', ['a'], { b: 1 }, 'b']]],
    [
      'integers beyond 2^53 differ by one',
      { a: 2n ** 60n },
      { a: 2n ** 60n + 1n },
      [['change', ['a'], 2n ** 60n, 2n ** 60n + 1n]],
    ],
    [
      'falsy values are values',
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
  ])('a diff follows the rule: %s', (_, old, current, expected) => {
    expect(diffValues(old, current)).toEqual(expected)
  })

  test('a diff considers own keys only, including __proto__', () => {
    const hostile = JSON.parse('{"__proto__":{"a":1},"constructor":1}') as object
    expect(diffValues({}, hostile)).toEqual([
      ['add', ['__proto__'], undefined, { a: 1 }],
      ['add', ['constructor'], undefined, 1],
    ])
  })

  test('a diff reaches any depth', () => {
    const nest = (value: number): unknown => JSON.parse(`${'{"a":'.repeat(50_000)}${value}${'}'.repeat(50_000)}`)
    const [item, ...others] = diffValues(nest(1), nest(2))
    expect(others).toEqual([])
    expect(item?.[1]).toHaveLength(50_000)
  })
})

describe('items of a diff', () => {
  const [item] = diffValues({ spec: { size: 1 } }, { spec: { size: 2 } })

  test('an item can be read by name', () => {
    const { op, path, old, new: current } = item!
    expect({ op, path, old, current }).toEqual({ op: 'change', path: ['spec', 'size'], old: 1, current: 2 })
  })

  test('an item is a plain array for destructuring, comparisons and JSON', () => {
    const [op, path, old, current] = item!
    expect([op, path, old, current]).toStrictEqual(item)
    expect(isDeepStrictEqual(item, ['change', ['spec', 'size'], 1, 2])).toBe(true)
    expect(JSON.stringify(item)).toBe('["change",["spec","size"],1,2]')
  })
})

describe('reduceDiff', () => {
  const added: DiffTuple[] = [['add', [], undefined, { spec: { a: { b: 2 } } }]]

  test.each<[string, DiffTuple[], string[], DiffTuple[]]>([
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
    ['is empty for a field that an added parent does not have', added, ['spec', 'c'], []],
    [
      'looks into a parent that was removed',
      [['remove', ['spec'], { a: 1 }, undefined]],
      ['spec', 'a'],
      [['remove', [], 1, undefined]],
    ],
    [
      'compares the values inside a parent that was replaced',
      [['change', ['spec'], { a: { x: 1, y: 1 } }, 'text']],
      ['spec', 'a'],
      [['remove', [], { x: 1, y: 1 }, undefined]],
    ],
    ['is the whole diff for the root', added, [], added],
  ])('a reduced diff %s', (_, diff, path, expected) => {
    expect(
      reduceDiff(
        diff.map((item) => createDiffItem(...item)),
        path,
      ),
    ).toEqual(expected)
  })
})

describe('diffEssences', () => {
  const essence = { spec: { a: 1, b: null } }

  test('the diff of a digest says only whether the essence is the same', () => {
    expect(diffEssences(toDigestEssence(essence), { spec: { a: 1 } })).toEqual([])
    expect(diffEssences(toDigestEssence(essence), { spec: { a: 2 } })).toEqual([
      ['change', [], undefined, { spec: { a: 2 } }],
    ])
  })

  test('the diff of an object that was never handled is the whole object', () => {
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

/** A diff treats null as absent, so the comparison ignores nulls. */
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

describe('diffs of arbitrary states', () => {
  test('a diff applied to the old state gives the new state', () => {
    fc.assert(
      fc.property(fields, fields, (old, current) => {
        const applied = apply(diffValues(old, current), old)
        expect(isDeepEqual(withoutNulls(applied), withoutNulls(current))).toBe(true)
      }),
    )
  })

  test('a diff is empty exactly if the digests of both states are equal', () => {
    fc.assert(
      fc.property(fields, fields, (old, current) => {
        expect(diffValues(old, current).length === 0).toBe(digestEssence(old) === digestEssence(current))
      }),
    )
  })

  test('the diff of a field equals the whole diff reduced to this field', () => {
    fc.assert(
      fc.property(fields, fields, fc.array(key, { maxLength: 3 }), (old, current, path) => {
        const direct = diffValues(resolvePath(old, path), resolvePath(current, path))
        expect(isDeepEqual(reduceDiff(diffValues(old, current), path), direct)).toBe(true)
      }),
    )
  })
})

/** Nested objects of the given depth, each with a field `x`. */
function ladder(levels: number, value: unknown): Record<string, unknown> {
  let inner: Record<string, unknown> = { x: value }
  for (let level = 1; level < levels; level += 1) inner = { x: value, a: inner }
  return inner
}

function countPathKeys(diff: Diff): number {
  return diff.reduce((sum, [, path]) => sum + path.length, 0)
}

describe('diffs of deep objects', () => {
  const [old, current] = [ladder(9000, 1), ladder(9000, 2)]
  const diff = diffValues(old, current)

  test('the diff of a deep object has one item per upper level, and a single item with the whole values below', () => {
    expect(diff.slice(0, 2)).toEqual([
      ['change', ['x'], 1, 2],
      ['change', ['a', 'x'], 1, 2],
    ])
    const [operation, path, before, after] = diff.at(-1)!
    expect(operation).toBe('change')
    expect(path.every((key) => key === 'a')).toBe(true)
    expect(path.length).toBeGreaterThan(256)
    expect(before).toBe(resolvePath(old, path))
    expect(after).toBe(resolvePath(current, path))
  })

  test('the diff of a deep object applied to the old object gives the new object', () => {
    expect(isDeepEqual(apply(diff, old), current)).toBe(true)
  })

  test.each([100, 5000, 8999])('the diff of a deep object contains the change of a field at level %i', (level) => {
    const path = [...Array.from({ length: level }, () => 'a'), 'x']
    expect(reduceDiff(diff, path)).toEqual([['change', [], 1, 2]])
  })

  test('the diff of an unchanged field far down in a deep object is empty', () => {
    const path = [...Array.from({ length: 5000 }, () => 'a'), 'y']
    expect(reduceDiff(diff, path)).toEqual([])
  })

  test('a field with null equals an absent field far down in a deep object', () => {
    const make = (value: unknown, x: unknown) => nestIn(150, { x, y: widen(20_000, { value }) })
    expect(diffValues(make({ z: null }, 1), make({}, 1))).toHaveLength(0)
    expect(diffValues(make({ z: null }, 1), make({}, 2))).toHaveLength(1)
    expect(diffValues(make({ z: null }, 1), make({ z: 1 }, 1))).toHaveLength(1)
  })
})

describe('growth of diffs', () => {
  const changed = (make: (n: number, value: unknown) => unknown) => ({
    prepare: (n: number) => [make(n, 1), make(n, 2)] as const,
    run: ([old, current]: readonly [unknown, unknown]) => countPathKeys(diffValues(old, current)),
  })

  test('the keys in all paths of a diff grow linearly with the depth if every level differs', async () => {
    await expectLinearGrowth({ n: 2000, ...changed(ladder) })
  })

  test('the keys in all paths of a diff grow linearly with the width of an object far down', async () => {
    await expectLinearGrowth({ n: 4000, ...changed((n, value) => nestIn(n / 4, widen(n, { value }))) })
  })

  test('the keys in all paths of a diff grow linearly with the number of fields added far down', async () => {
    const prepare = (n: number) => [nestIn(n / 4, {}), nestIn(n / 4, widen(n))] as const
    await expectLinearGrowth({ n: 4000, prepare, run: ([old, now]) => countPathKeys(diffValues(old, now)) })
  })
})

test('a diff has one item per field up to sixteen levels, for any number of fields', () => {
  const make = (value: number) => nestIn(15, widen(50_000, { value }))
  const diff = diffValues(make(1), make(2))
  expect(diff).toHaveLength(50_000)
  expect(new Set(diff.map(([, path]) => path.length))).toEqual(new Set([16]))
})
