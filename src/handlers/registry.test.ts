import { describe, expect, test } from 'vitest'
import { createHandler } from '../handler-definitions.ts'
import type { Resource, ResourceLike } from '../kube/resources/resources.ts'
import type { HandlerType } from './handler-types.ts'
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

type Declared = readonly [kind: HandlerType, resource: ResourceLike, options?: object, fn?: unknown]

function registryOf(...declared: Declared[]): Registry {
  const registry = new Registry()
  for (const [kind, resource, options, handler = fn] of declared) {
    registry.add(createHandler(kind, resource, options, handler))
  }
  return registry
}

const idsOf = (handlers: readonly { readonly id: string }[]) => handlers.map(({ id }) => id)

describe('handlers of a resource', () => {
  test('handlers of a resource are grouped by category in the order of registration', () => {
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

  test('handlers of a resource are looked up once, until a handler is added', () => {
    const registry = registryOf(['create', 'kopfexamples', { id: 'a' }])
    const before = registry.handlersFor(examples)
    expect(registry.handlersFor(examples)).toBe(before)
    registry.add(createHandler('create', 'kopfexamples', { id: 'b' }, fn))
    expect(idsOf(registry.handlersFor(examples).change)).toEqual(['a', 'b'])
    expect(idsOf(before.change)).toEqual(['a'])
  })

  test('handlers of a resource list each of their fields once', () => {
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

describe('unique ids', () => {
  const another = () => 1

  test('a handler id belongs to one function per resource', () => {
    expect(() =>
      registryOf(['create', 'kopfexamples', { id: 'a' }], ['update', 'kopfexamples', { id: 'a' }, another]),
    ).toThrow(
      'Cannot register a second "update" handler with the id "a" for kopfexamples: progress is stored under the id; ' +
        'give one of them an id of its own, such as { id: "a-2" }',
    )
  })

  test('a handler id is the same for every notation of the resource', () => {
    expect(() =>
      registryOf(
        ['create', 'kopfexamples.kopf.dev', { id: 'a' }],
        ['create', ['kopf.dev', 'kopfexamples'], { id: 'a' }, another],
      ),
    ).toThrow(/second "create" handler/)
  })

  test('a refused handler id leaves the registry unchanged', () => {
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
    ['two selector functions', ['create', () => true, { id: 'a' }], ['create', () => false, { id: 'a' }, another]],
  ])('a handler id can be repeated for %s', (_name, one, other) => {
    expect(registryOf(one, other).handlers).toHaveLength(2)
  })

  test('a handler id that two selectors share is reported once the resource is known', () => {
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

  test('indices have ids apart from other handlers', () => {
    const registry = registryOf(
      ['create', 'kopfexamples', { id: 'a' }],
      ['index', 'kopfexamples', { id: 'a' }, another],
    )
    expect(Object.keys(registry.indices)).toEqual(['a'])
    expect(registry.handlersFor(examples).conflicts).toEqual([])
  })

  test('an index is filled by one function per resource', () => {
    expect(() =>
      registryOf(['index', 'kopfexamples', { id: 'a' }], ['index', 'kopfexamples', { id: 'a' }, another]),
    ).toThrow(
      'Cannot register a second "index" handler with the id "a" for kopfexamples: one would overwrite what the other ' +
        'has indexed; give one of them an id of its own, such as { id: "a-2" }',
    )
  })

  test('an index is named by its id without its field', () => {
    const registry = registryOf(['index', 'kopfexamples', { id: 'a', field: 'spec.x' }])
    expect(Object.keys(registry.indices)).toEqual(['a'])
  })

  test('index handlers of several resources with one id fill one index', () => {
    const registry = registryOf(['index', 'kopfexamples', { id: 'a' }], ['index', 'others', { id: 'a' }, another])
    expect(new Set(registry.ofCategory('index').map(({ index }) => index))).toEqual(new Set([registry.indices['a']]))
    expect(registry.indexTables.get('a')).toHaveLength(1)
  })

  test('indices of functions without a name are numbered', () => {
    const registry = registryOf(['index', 'kopfexamples', {}, nameless], ['index', 'others', {}, [() => 2][0]])
    expect(Object.keys(registry.indices)).toEqual(['index', 'index/2'])
  })

  test('indices keep their identity when registries are merged, and indices with one id are filled together', () => {
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

  test('an index can have any id, including __proto__', () => {
    const { indices } = registryOf(['index', 'kopfexamples', { id: '__proto__' }])
    expect(Object.keys(indices)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(indices)).toBe(null)
  })
})

describe('activities', () => {
  test('activities are found by their type', () => {
    const registry = registryOf(
      ['startup', 'x', { id: 'a' }],
      ['cleanup', 'x', { id: 'b' }],
      ['create', 'x', { id: 'c' }],
    )
    expect(idsOf(registry.activities('startup'))).toEqual(['a'])
    expect(idsOf(registry.activities('cleanup'))).toEqual(['b'])
  })

  test('activities without a name are numbered', () => {
    const registry = registryOf(
      ['startup', 'x', {}, () => 1],
      ['startup', 'x', {}, () => 2],
      ['startup', 'x', {}, () => 3],
    )
    expect(idsOf(registry.activities('startup'))).toEqual(['startup', 'startup/2', 'startup/3'])
  })

  test('an activity is registered once, even if its registry is merged repeatedly', () => {
    const first = registryOf(['startup', 'x', {}, () => 1])
    const second = registryOf(['startup', 'x', {}, () => 2])
    const all = new Registry()
    for (const registry of [first, second, first, second]) all.merge(registry)
    expect(idsOf(all.activities('startup'))).toEqual(['startup', 'startup/2'])
  })
})

describe('merged registries', () => {
  test('a merge adds the missing handlers', () => {
    const one = registryOf(['create', 'kopfexamples', { id: 'a' }])
    const other = registryOf(['create', 'kopfexamples', { id: 'b' }])
    one.merge(other)
    one.merge(other)
    one.merge(one)
    expect(idsOf(one.handlers)).toEqual(['a', 'b'])
    expect(idsOf(other.handlers)).toEqual(['b'])
  })

  test('a merge refuses two functions with one id', () => {
    const one = registryOf(['create', 'kopfexamples', {}, [() => 1][0]])
    const other = registryOf(['create', 'kopfexamples', {}, [() => 2][0]])
    expect(() => one.merge(other)).toThrow(/with the id "create"/)
  })
})

test('a registry lists each of its selectors once', () => {
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
