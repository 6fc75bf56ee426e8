import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { ServerStore } from './store.ts'
import { parseStored, type StoreChange } from './stored.ts'

const rules = {}

function thing(name: string, rest: Record<string, unknown> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Thing', metadata: { name, uid: `uid-${name}` }, ...rest }
}

function create(store: ServerStore, name: string, collection = 'things') {
  return store.create(collection, thing(name), rules)!
}

const newStore = () => new ServerStore({ changes: 100, characters: 100_000 })

test('every write has a version of its own, across collections, and the object says which', () => {
  const store = newStore()
  const versions = [create(store, 'a'), create(store, 'b', 'others'), create(store, 'c')].map(
    (stored) => stored.version,
  )
  expect(versions).toEqual([2, 3, 4])
  expect(store.version).toBe(4)
  expect(parseStored(store.collection('others').get('b')!).metadata.resourceVersion).toBe('3')
})

test('the text begins with what lists leave out', () => {
  const stored = newStore().create(
    'things',
    { spec: 1, metadata: { name: 'a' }, kind: 'Thing', apiVersion: 'v1' },
    rules,
  )!
  expect(stored.json.startsWith('{"apiVersion":"v1","kind":"Thing","metadata":{')).toBe(true)
})

describe('a write from a state that is no longer the present one does not happen', () => {
  test('when creating what is there', () => {
    const store = newStore()
    create(store, 'a')
    expect(store.create('things', thing('a'), rules)).toBeUndefined()
    expect(store.version).toBe(2)
  })

  test('when replacing or removing what was replaced', () => {
    const store = newStore()
    const first = create(store, 'a')
    store.replace(first, thing('a', { spec: 2 }), rules)
    expect(store.replace(first, thing('a', { spec: 3 }), rules)).toBeUndefined()
    expect(store.remove(first)).toBeUndefined()
    expect(parseStored(store.collection('things').get('a')!)['spec']).toBe(2)
  })

  test('when it was removed, or made anew since', () => {
    const store = newStore()
    const first = create(store, 'a')
    store.remove(first)
    expect(store.remove(first)).toBeUndefined()
    create(store, 'a')
    expect(store.replace(first, thing('a'), rules)).toBeUndefined()
    expect(store.version).toBe(4)
  })
})

test('a removed object is shown as it was, under the version of its removal', () => {
  const store = newStore()
  const removed = store.remove(create(store, 'a'))!
  expect(removed.version).toBe(3)
  expect(parseStored(removed)).toEqual({ ...thing('a'), metadata: { name: 'a', uid: 'uid-a', resourceVersion: '3' } })
})

describe('listeners', () => {
  function listen(store: ServerStore, collection: string | undefined): StoreChange[] {
    const changes: StoreChange[] = []
    store.subscribe(collection, (change) => changes.push(change))
    return changes
  }
  const briefly = (changes: readonly StoreChange[]) =>
    changes.map(({ type, current, version }) => `${type} ${current.name} ${version}`)

  test('hear of their collection, in order, with the state before', () => {
    const store = newStore()
    const changes = listen(store, 'things')
    const first = create(store, 'a')
    create(store, 'b', 'others')
    store.remove(store.replace(first, thing('a'), rules)!)
    expect(briefly(changes)).toEqual(['ADDED a 2', 'MODIFIED a 4', 'DELETED a 5'])
    expect(changes[1]!.previous).toBe(first)
  })

  test('of everything hear of everything', () => {
    const store = newStore()
    const changes = listen(store, undefined)
    create(store, 'a')
    create(store, 'b', 'others')
    expect(briefly(changes)).toEqual(['ADDED a 2', 'ADDED b 3'])
  })

  test('hear no more once they have unsubscribed, even while being told', () => {
    const store = newStore()
    const heard: string[] = []
    const unsubscribe = store.subscribe('things', ({ current }) => {
      heard.push(current.name)
      unsubscribe()
    })
    create(store, 'a')
    create(store, 'b')
    expect(heard).toEqual(['a'])
  })

  test('find the change done when they hear of it', () => {
    const store = newStore()
    store.subscribe('things', ({ current }) => expect(store.collection('things').get(current.key)).toBe(current))
    create(store, 'a')
    expect.assertions(1)
  })
})
