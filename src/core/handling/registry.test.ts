import { describe, expect, test } from 'vitest'
import type { Resource, ResourceLike } from '../../kube/resources.ts'
import type { HandlerKind } from './kinds.ts'
import { createHandler } from './register.ts'
import { Registry } from './registry.ts'

function resourceOf(plural: string, kind: string): Resource {
  return {
    group: 'kopf.dev',
    version: 'v1',
    plural,
    kind,
    singular: kind.toLowerCase(),
    shortcuts: [],
    categories: [],
    subresources: [],
    namespaced: true,
    preferred: true,
    verbs: [],
  }
}

const examples = resourceOf('kopfexamples', 'KopfExample')
const others = resourceOf('others', 'Other')
const fn = () => undefined

type Declared = readonly [kind: HandlerKind, resource: ResourceLike, options?: object, fn?: unknown]

function registryOf(...declared: Declared[]): Registry {
  const registry = new Registry()
  for (const [kind, resource, options, handler = fn] of declared) {
    registry.add(createHandler(kind, resource, options, handler))
  }
  return registry
}

const idsOf = (handlers: readonly { readonly id: string }[]) => handlers.map(({ id }) => id)

describe('handlers of a resource', () => {
  test('are sorted by where they are called, in the order of registration', () => {
    const registry = registryOf(
      ['update', 'kopfexamples', { id: 'b' }],
      ['event', 'kopfexamples', { id: 'e' }],
      ['create', 'kopfexamples', { id: 'a' }],
      ['create', 'others', { id: 'o' }],
      ['startup', 'kopfexamples', { id: 's' }],
    )
    const { event, change } = registry.handlersFor(examples)
    expect(idsOf(event)).toEqual(['e'])
    expect(idsOf(change)).toEqual(['b', 'a'])
    expect(idsOf(registry.handlersFor(others).change)).toEqual(['o'])
  })

  test('are looked up once, until others are added', () => {
    const registry = registryOf(['create', 'kopfexamples', { id: 'a' }])
    const before = registry.handlersFor(examples)
    expect(registry.handlersFor(examples)).toBe(before)
    registry.add(createHandler('create', 'kopfexamples', { id: 'b' }, fn))
    expect(idsOf(registry.handlersFor(examples).change)).toEqual(['a', 'b'])
    expect(idsOf(before.change)).toEqual(['a'])
  })

  test('have the fields they look at, each once', () => {
    const registry = registryOf(
      ['event', 'kopfexamples', { id: 'e', field: 'status.x' }],
      ['create', 'kopfexamples', { id: 'a', field: ['status', 'x'] }],
      ['create', 'kopfexamples', { id: 'b', field: ['status.x'] }],
      ['create', 'others', { id: 'c', field: 'status.y' }],
      ['index', 'kopfexamples', { id: 'i', field: 'status.z' }],
    )
    expect(registry.handlersFor(examples).extraFields).toEqual([['status', 'x'], ['status.x']])
    expect(registryOf(['create', 'others']).handlersFor(others).extraFields).toEqual([])
  })
})

describe('one id', () => {
  const another = () => 1

  test('is for one function on one resource', () => {
    expect(() =>
      registryOf(['create', 'kopfexamples', { id: 'a' }], ['update', 'kopfexamples', { id: 'a' }, another]),
    ).toThrow(
      'Cannot register a second "update" handler with the id "a" for kopfexamples: progress is stored under the id; ' +
        'give one of them an id of its own, such as { id: "a-2" }',
    )
  })

  test('is the same however the resource is written', () => {
    expect(() =>
      registryOf(
        ['create', 'kopfexamples.kopf.dev', { id: 'a' }],
        ['create', ['kopf.dev', 'kopfexamples'], { id: 'a' }, another],
      ),
    ).toThrow(/second "create" handler/)
  })

  test('leaves the registry as it was when it is refused', () => {
    const registry = registryOf(['create', 'kopfexamples', { id: 'a' }])
    expect(() => registry.add(createHandler('create', 'kopfexamples', { id: 'a' }, another))).toThrow()
    expect(registry.handlers).toHaveLength(1)
  })

  test.each<[string, Declared, Declared]>([
    [
      'the same function for two causes',
      ['create', 'kopfexamples', { id: 'a' }],
      ['resume', 'kopfexamples', { id: 'a' }],
    ],
    ['two resources', ['create', 'kopfexamples', { id: 'a' }], ['create', 'others', { id: 'a' }, another]],
    [
      'two fields',
      ['create', 'others', { id: 'a', field: 'x' }],
      ['create', 'others', { id: 'a', field: 'y' }, another],
    ],
    ['two functions that select', ['create', () => true, { id: 'a' }], ['create', () => false, { id: 'a' }, another]],
  ])('is fine for %s', (_name, one, other) => {
    expect(registryOf(one, other).handlers).toHaveLength(2)
  })

  test('reached by two selectors is told once the resource is known', () => {
    const registry = registryOf(
      ['create', 'kopfexamples', { id: 'a' }],
      ['create', 'kopfexamples.kopf.dev', { id: 'a' }, another],
    )
    expect(registry.handlersFor(examples).conflicts).toEqual([
      expect.stringMatching(/^Two handlers of kopfexamples.v1.kopf.dev/),
    ])
    expect(registry.handlersFor(others).conflicts).toEqual([])
  })
})

describe('indices', () => {
  const another = () => 1
  const nameless = [() => 1][0]

  test('have ids apart from other handlers', () => {
    const registry = registryOf(
      ['create', 'kopfexamples', { id: 'a' }],
      ['index', 'kopfexamples', { id: 'a' }, another],
    )
    expect(Object.keys(registry.indices)).toEqual(['a'])
    expect(registry.handlersFor(examples).conflicts).toEqual([])
  })

  test('of one id are filled by one function on one resource', () => {
    expect(() =>
      registryOf(['index', 'kopfexamples', { id: 'a' }], ['index', 'kopfexamples', { id: 'a' }, another]),
    ).toThrow(
      'Cannot register a second "index" handler with the id "a" for kopfexamples: one would overwrite what the other ' +
        'has indexed; give one of them an id of its own, such as { id: "a-2" }',
    )
  })

  test('are known by their id alone, whatever field they are for', () => {
    const registry = registryOf(['index', 'kopfexamples', { id: 'a', field: 'spec.x' }])
    expect(Object.keys(registry.indices)).toEqual(['a'])
  })

  test('of one id on several resources are one', () => {
    const registry = registryOf(['index', 'kopfexamples', { id: 'a' }], ['index', 'others', { id: 'a' }, another])
    expect(new Set(registry.handlers.map(({ index }) => index))).toEqual(new Set([registry.indices['a']]))
    expect(registry.indexTables.get('a')).toHaveLength(1)
  })

  test('of functions without a name are numbered', () => {
    const registry = registryOf(['index', 'kopfexamples', {}, nameless], ['index', 'others', {}, [() => 2][0]])
    expect(Object.keys(registry.indices)).toEqual(['index', 'index/2'])
  })

  test('stay what they are when registries are merged, and those of one id are filled together', () => {
    const one = registryOf(['index', 'kopfexamples', { id: 'a' }], ['index', 'kopfexamples', {}, nameless])
    const other = registryOf(['index', 'others', { id: 'a' }], ['index', 'others', {}, nameless])
    const [all, middle] = [new Registry(), new Registry()]
    middle.merge(other)
    for (const registry of [one, other, middle, one]) all.merge(registry)
    expect(idsOf(all.handlers)).toEqual(['a', 'index', 'a', 'index/2'])
    expect(all.indexTables.get('a')).toEqual([one.indices['a'], other.indices['a']])
    expect(all.indices).toEqual({ a: one.indices['a'], index: one.indices['index'], 'index/2': other.indices['index'] })
    expect(all.indices['index/2']).toBe(other.indices['index'])
  })

  test('may have any id', () => {
    const { indices } = registryOf(['index', 'kopfexamples', { id: '__proto__' }])
    expect(Object.keys(indices)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(indices)).toBe(null)
  })
})

describe('activities', () => {
  test('are found by their kind', () => {
    const registry = registryOf(
      ['startup', 'x', { id: 'a' }],
      ['cleanup', 'x', { id: 'b' }],
      ['create', 'x', { id: 'c' }],
    )
    expect(idsOf(registry.activities('startup'))).toEqual(['a'])
    expect(idsOf(registry.activities('cleanup'))).toEqual(['b'])
  })

  test('of one name are numbered, since every file has its own', () => {
    const registry = registryOf(
      ['startup', 'x', {}, () => 1],
      ['startup', 'x', {}, () => 2],
      ['startup', 'x', {}, () => 3],
    )
    expect(idsOf(registry.activities('startup'))).toEqual(['startup', 'startup/2', 'startup/3'])
  })

  test('are there once, however often they are added', () => {
    const first = registryOf(['startup', 'x', {}, () => 1])
    const second = registryOf(['startup', 'x', {}, () => 2])
    const all = new Registry()
    for (const registry of [first, second, first, second]) all.merge(registry)
    expect(idsOf(all.activities('startup'))).toEqual(['startup', 'startup/2'])
  })
})

describe('merging', () => {
  test('adds what is not there yet', () => {
    const one = registryOf(['create', 'kopfexamples', { id: 'a' }])
    const other = registryOf(['create', 'kopfexamples', { id: 'b' }])
    one.merge(other)
    one.merge(other)
    one.merge(one)
    expect(idsOf(one.handlers)).toEqual(['a', 'b'])
    expect(idsOf(other.handlers)).toEqual(['b'])
  })

  test('refuses what would share an id', () => {
    const one = registryOf(['create', 'kopfexamples', {}, [() => 1][0]])
    const other = registryOf(['create', 'kopfexamples', {}, [() => 2][0]])
    expect(() => one.merge(other)).toThrow(/with the id "create"/)
  })
})

test('selectors are told once each', () => {
  const registry = registryOf(
    ['create', 'kopfexamples', { id: 'a' }],
    ['update', 'kopfexamples', { id: 'b' }],
    ['create', 'others', { id: 'a' }],
    ['startup', 'x', { id: 's' }],
    ['event', () => true, { id: 'f' }],
    ['event', () => false, { id: 'f' }],
  )
  expect(registry.selectors().map(String)).toEqual([
    'kopfexamples',
    'others',
    'those of a function',
    'those of a function',
  ])
})
