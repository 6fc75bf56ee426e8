import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { IndexTable } from './index-table.ts'

type Pair = readonly [unknown, unknown]

const owners: Readonly<Record<string, object>> = { a: { name: 'a' }, b: { name: 'b' }, c: { name: 'c' } }
const { a = {}, b = {} } = owners

function tableOf(...puts: (readonly [owner: object, ...pairs: Pair[]])[]): IndexTable {
  const table = new IndexTable()
  for (const [owner, ...pairs] of puts) table.put(owner, pairs)
  return table
}

/** Steps in words: `a:k=1,l=2` puts two pairs for the owner `a`, `a:` none, and `-a` discards it. */
function afterSteps(steps: string): IndexTable {
  const table = new IndexTable()
  for (const step of steps.split(' ').filter((one) => one !== '')) {
    const [owner = '', pairs = ''] = step.split(':')
    if (owner.startsWith('-')) table.discard(owners[owner.slice(1)]!)
    else
      table.put(owners[owner]!, pairs === '' ? [] : pairs.split(',').map((pair) => pair.split('=') as [string, string]))
  }
  return table
}

describe('index content', () => {
  test.each<[string, string, Readonly<Record<string, readonly string[]>>]>([
    ['nothing at first', '', {}],
    ['values of several objects under one key, in the order they came', 'a:k=1 b:k=2 c:k=3', { k: ['1', '2', '3'] }],
    ['several keys of one object', 'a:k=1,l=2', { k: ['1'], l: ['2'] }],
    ['only the last value of an object under one key', 'a:k=1,k=2', { k: ['2'] }],
    ['the new value in the place of the old one', 'a:k=1 b:k=2 a:k=3', { k: ['3', '2'] }],
    ['no value under a key that the object no longer has', 'a:k=1 b:k=2 a:l=3', { k: ['2'], l: ['3'] }],
    ['no key without a value', 'a:k=1 a:l=1', { l: ['1'] }],
    ['some keys, while others of the object go', 'a:k=1,l=1,m=1 a:l=1', { l: ['1'] }],
    ['nothing of an object that has no keys any more', 'a:k=1,l=1 b:k=2 a:', { k: ['2'] }],
    ['nothing of discarded objects', 'a:k=1,l=1 b:k=2 -a', { k: ['2'] }],
    ['nothing after all objects were discarded', 'a:k=1 b:k=2 -a -b', {}],
    ['unchanged content after an unknown object was discarded', 'a:k=1 -b', { k: ['1'] }],
    ['the values of an object that returns after it was discarded', 'a:k=1 b:k=1 -a -b a:k=3', { k: ['3'] }],
  ])('an index has %s', (_, steps, expected) => {
    const table = afterSteps(steps)
    const entries = Object.entries(expected)
    expect([...table]).toEqual(entries)
    expect([...table.entries()]).toEqual(entries)
    expect([...table.keys()]).toEqual(Object.keys(expected))
    expect([...table.values()]).toEqual(Object.values(expected))
    expect(table.size).toBe(entries.length)
    for (const [key, values] of entries) expect([table.has(key), table.get(key)]).toEqual([true, values])
    const told: unknown[] = []
    table.forEach((values, key) => void told.push([key, values]))
    expect(told).toEqual(entries)
  })

  test('an index compares keys of any type by value', () => {
    const table = tableOf([a, [['ns', 'x'], 1], [null, 2], [undefined, 3], [{ on: 'x' }, 4]], [b, [['ns', 'x'], 5]])
    expect(table.get(['ns', 'x'])).toEqual([1, 5])
    expect(table.get({ on: 'x' })).toEqual([4])
    expect([table.get(null), table.get(undefined), table.get('null')]).toEqual([[2], [3], []])
    expect([...table.keys()]).toEqual([['ns', 'x'], null, undefined, { on: 'x' }])
    table.put(a, [[['ns', 'x'], 6]])
    expect([...table]).toEqual([
      [
        ['ns', 'x'],
        [6, 5],
      ],
    ])
  })

  test('an index accepts values of any type, including null and undefined', () => {
    const table = tableOf([a, ['k', undefined]], [b, ['k', null]])
    expect(table.get('k')).toEqual([undefined, null])
    table.put(b, [['k', undefined]])
    expect(table.get('k')).toEqual([undefined, undefined])
  })

  test('an index gives an empty array for an unknown key', () => {
    const table = tableOf([a, ['k', 1]])
    expect(table.get('other')).toEqual([])
    expect(table.has('other')).toBe(false)
  })
})

describe('arrays of an index', () => {
  test('an index returns the same immutable array as long as nothing changes', () => {
    const table = tableOf([a, ['k', 1]], [b, ['k', 2]])
    const values = table.get('k')
    table.put(a, [['k', 1]])
    expect(table.get('k')).toBe(values)
    expect(() => (values as unknown[]).push(3)).toThrow()
    expect(() => (table.get('none') as unknown[]).push(3)).toThrow()
  })

  test('an array of an index does not change when the index changes', () => {
    const table = tableOf([a, ['k', 1]])
    const values = table.get('k')
    table.put(a, [['k', 2]])
    expect(values).toEqual([1])
    expect(table.get('k')).toEqual([2])
  })
})

test('a refused key leaves the index unchanged', () => {
  const table = tableOf([a, ['k', 1]])
  const pairs: Pair[] = [
    ['l', 2],
    [new Map(), 3],
  ]
  expect(() => table.put(a, pairs)).toThrow(/Cannot use this as the key/)
  expect([...table]).toEqual([['k', [1]]])
})

test('an index keeps no reference to a discarded object', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const table = new IndexTable()
  table.put(a, [['shared', 1]])
  const gone = (() => {
    const owner = { name: 'gone' }
    table.put(owner, [
      ['shared', owner],
      ['own', owner],
    ])
    expect(table.get('shared')).toHaveLength(2)
    table.discard(owner)
    return new WeakRef(owner)
  })()
  // A WeakRef keeps its target alive until the end of the turn in which it was created.
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  expect(gone.deref()).toBeUndefined()
  expect([...table]).toEqual([['shared', [1]]])
})
