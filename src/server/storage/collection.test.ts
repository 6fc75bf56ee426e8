import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import type { Collection } from './collection.ts'
import { ServerStore } from './store.ts'
import { keyOf, parseStored, type Stored } from './stored.ts'

const rules = {}
const roomy = { changes: 10_000, characters: 10_000_000 }

function object(namespace: string, name: string, value = 0): KubeObject {
  const metadata = namespace === '' ? { name, uid: name } : { name, namespace, uid: `${namespace}-${name}` }
  return { apiVersion: 'v1', kind: 'Thing', metadata, value }
}

function fill(...keys: ReadonlyArray<[string, string]>): { store: ServerStore; collection: Collection } {
  const store = new ServerStore(roomy)
  for (const [namespace, name] of keys) store.create('things', object(namespace, name), rules)
  return { store, collection: store.collection('things') }
}

const keysOf = (list: readonly Stored[] | undefined) => list?.map(({ key }) => key)

describe('a list', () => {
  const keys: Array<[string, string]> = [
    ['b', 'one'],
    ['a-b', 'x'],
    ['a', 'z'],
    ['a.b', 'x'],
    ['a', 'b'],
    ['a0', 'x'],
    ['aa', 'x'],
  ]

  test('is in the order of the keys', () => {
    const expected = keys.map(([namespace, name]) => keyOf(namespace, name)).sort()
    expect(keysOf(fill(...keys).collection.list(''))).toEqual(expected)
  })

  test.each([
    ['a', ['a/b', 'a/z']],
    ['a-b', ['a-b/x']],
    ['a0', ['a0/x']],
    ['aa', ['aa/x']],
    ['c', []],
  ])('of the namespace %s has that one alone', (namespace, expected) => {
    expect(keysOf(fill(...keys).collection.list(namespace))).toEqual(expected)
  })

  test('keeps its order while objects come and go', () => {
    const { store, collection } = fill(['', 'b'], ['', 'd'])
    expect(keysOf(collection.list(''))).toEqual(['b', 'd'])
    store.create('things', object('', 'c'), rules)
    store.remove(collection.get('b')!)
    store.create('things', object('', 'a'), rules)
    expect(keysOf(collection.list(''))).toEqual(['a', 'c', 'd'])
    expect(collection.size).toBe(3)
  })

  test('handed out before is not changed by what comes later', () => {
    const { store, collection } = fill(['', 'b'])
    const before = collection.list('')
    store.create('things', object('', 'a'), rules)
    expect(keysOf(before)).toEqual(['b'])
  })
})

describe('the past', () => {
  test('shows an object before it was changed, deleted or there', () => {
    const store = new ServerStore(roomy)
    const collection = store.collection('things')
    const created = store.create('things', object('', 'a', 1), rules)!
    const changed = store.replace(created, object('', 'a', 2), rules)!
    store.remove(changed)
    store.create('things', object('', 'a', 3), rules)
    const values = [1, 2, 3, 4, 5].map((version) => {
      const stored = collection.getAt('a', version)
      return stored === undefined ? undefined : parseStored(stored as Stored)['value']
    })
    expect(values).toEqual([undefined, 1, 2, undefined, 3])
  })

  test('that was compacted is forgotten', () => {
    const { store, collection } = fill(['', 'a'])
    store.compact()
    expect(collection.getAt('a', store.version - 1)).toBe('forgotten')
    expect(collection.listAt('', store.version - 1)).toBeUndefined()
    expect(keysOf(collection.listAt('', store.version))).toEqual(['a'])
  })

  test('that was compacted is forgotten in collections that nobody had touched then', () => {
    const { store } = fill(['', 'a'])
    const past = store.version - 1
    store.compact()
    expect(store.collection('others').history.since(past)).toBeUndefined()
    expect(store.collection('others').history.since(store.version)).toEqual([])
  })

  type Write = {
    readonly namespace: string
    readonly name: string
    readonly deed: 'put' | 'remove'
    readonly value: number
  }
  const write: fc.Arbitrary<Write> = fc.record({
    namespace: fc.constantFrom('a', 'a-b', 'b'),
    name: fc.constantFrom('x', 'y', 'z'),
    deed: fc.constantFrom('put', 'put', 'remove'),
    value: fc.nat(),
  })

  function apply(store: ServerStore, { namespace, name, deed, value }: Write): void {
    const current = store.collection('things').get(keyOf(namespace, name))
    if (deed === 'remove') {
      if (current !== undefined) store.remove(current)
    } else if (current === undefined) {
      store.create('things', object(namespace, name, value), rules)
    } else {
      store.replace(current, object(namespace, name, value), rules)
    }
  }

  test('after any writes, under any limits, is what it was, or known to be forgotten', () => {
    const limits = fc.record({
      changes: fc.integer({ min: 1, max: 60 }),
      characters: fc.integer({ min: 1, max: 20_000 }),
    })
    fc.assert(
      fc.property(
        fc.array(write, { maxLength: 60 }),
        limits,
        fc.constantFrom('', 'a', 'a-b'),
        (writes, limit, namespace) => {
          const store = new ServerStore(limit)
          const collection = store.collection('things')
          const snapshots = new Map<number, readonly Stored[]>([[store.version, []]])
          for (const one of writes) {
            apply(store, one)
            snapshots.set(store.version, collection.list(namespace))
          }
          const { floor } = collection.history
          for (const [version, expected] of snapshots) {
            const then = collection.listAt(namespace, version)
            expect(then).toEqual(version < floor ? undefined : expected)
            if (then === undefined) continue
            for (const { key } of expected)
              expect(collection.getAt(key, version)).toBe(then.find((one) => one.key === key))
          }
          expect(collection.listAt(namespace, store.version)).toEqual(collection.list(namespace))
        },
      ),
    )
  })
})

describe('the pages of a list under writes', () => {
  function changed() {
    const made = fill(['a', 'x'], ['a', 'x-y'], ['a-b', 'x'], ['b', 'gone'], ['b', 'kept'])
    const { version } = made.store
    const { store, collection } = made
    store.replace(collection.get('a/x-y')!, object('a', 'x-y', 1), rules)
    store.replace(collection.get('a/x-y')!, object('a', 'x-y', 2), rules)
    store.remove(collection.get('b/gone')!)
    store.create('things', object('a', 'new'), rules)
    return { ...made, version }
  }

  test('are in the order of the present list, with each object as it was', () => {
    const { collection, version } = changed()
    expect(keysOf(collection.listAt('', version))).toEqual(['a-b/x', 'a/x', 'a/x-y', 'b/gone', 'b/kept'])
    expect(collection.listAt('', version)!.map((stored) => parseStored(stored)['value'])).toEqual([0, 0, 0, 0, 0])
  })

  test('are cut from one list, which is made once however much is written meanwhile', () => {
    const { store, collection, version } = changed()
    const first = collection.listAt('', version)
    store.create('things', object('c', 'later'), rules)
    expect(collection.listAt('', version)).toBe(first)
  })

  test('end with the history that they need', () => {
    const { store, collection, version } = changed()
    collection.listAt('', version)
    store.compact()
    expect(collection.listAt('', version)).toBeUndefined()
  })
})
