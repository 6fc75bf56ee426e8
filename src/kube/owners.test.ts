/** Children and their owners, with the examples of Kopf's manual. The functions never change their arguments. */
import { describe, expect, test } from 'vitest'
import { KopfError } from '../errors.ts'
import {
  adjustNamespace,
  adopt,
  appendOwnerReference,
  buildObjectReference,
  buildOwnerReference,
  harmonizeNaming,
  label,
  type ReferableObject,
  removeOwnerReference,
} from './owners.ts'

const owner = deepFreeze({
  apiVersion: 'kopf.dev/v1',
  kind: 'KopfExample',
  metadata: { name: 'parent', namespace: 'ns', uid: 'uid-1', labels: { some: 'value' } },
})
const reference = {
  controller: true,
  blockOwnerDeletion: true,
  apiVersion: 'kopf.dev/v1',
  kind: 'KopfExample',
  name: 'parent',
  uid: 'uid-1',
}

function deepFreeze<T extends object>(value: T): T {
  for (const one of Object.values(value)) if (typeof one === 'object' && one !== null) deepFreeze(one)
  return Object.freeze(value)
}

describe('references', () => {
  test('an owner reference has the apiVersion, kind, name and uid of the owner', () => {
    expect(buildOwnerReference(owner)).toEqual(reference)
    expect(buildOwnerReference(owner, { controller: false, blockOwnerDeletion: null })).toEqual({
      controller: false,
      apiVersion: 'kopf.dev/v1',
      kind: 'KopfExample',
      name: 'parent',
      uid: 'uid-1',
    })
  })

  test('an object reference omits missing fields', () => {
    expect(buildObjectReference({ kind: 'Node', metadata: { name: 'n', uid: '' } })).toEqual({
      kind: 'Node',
      name: 'n',
    })
  })

  test.each<[unknown, string]>([
    [{ kind: 'Pod', apiVersion: 'v1' }, '"Pod": it has no metadata.name, no metadata.uid'],
    [{ ...owner, metadata: { name: 'parent' } }, '"KopfExample parent": it has no metadata.uid'],
    [{ metadata: owner.metadata }, '"parent": it has no apiVersion, no kind'],
    [undefined, 'it has no apiVersion'],
  ])('an owner reference to %j is refused', (wrong, words) => {
    for (const make of [
      () => buildOwnerReference(wrong as ReferableObject),
      () => adopt({}, wrong as ReferableObject),
      () => appendOwnerReference({}, wrong as ReferableObject),
    ]) {
      expect(make).toThrow(KopfError)
      expect(make).toThrow(words)
    }
  })

  test('owner references are appended once per uid', () => {
    const other = { ...reference, uid: 'uid-2' }
    const child = deepFreeze({ kind: 'Job', metadata: { ownerReferences: [other] } })
    const owned = appendOwnerReference(child, owner)
    expect(owned.metadata.ownerReferences).toEqual([other, reference])
    expect(appendOwnerReference(owned, owner, { controller: false })).toEqual(owned)
  })

  test('owner references are removed by uid', () => {
    const other = { ...reference, uid: 'uid-2' }
    const child = deepFreeze({ metadata: { ownerReferences: [reference, other] } })
    expect(removeOwnerReference(child, owner).metadata.ownerReferences).toEqual([other])
    expect(removeOwnerReference({ metadata: { name: 'x' } }, owner)).toEqual({ metadata: { name: 'x' } })
    expect(removeOwnerReference({}, owner)).toEqual({})
  })
})

describe('labels', () => {
  test('labels are added to one or several objects', () => {
    const labels = { a: '1' }
    expect(label({ kind: 'Job' }, labels)).toEqual({ kind: 'Job', metadata: { labels } })
    expect(label([{ kind: 'Job' }, [{ kind: 'Pod' }]], labels)).toEqual([
      { kind: 'Job', metadata: { labels } },
      [{ kind: 'Pod', metadata: { labels } }],
    ])
  })

  test('existing labels are kept unless they are forced', () => {
    const child = deepFreeze({ metadata: { labels: { a: 'mine' } } })
    expect(label(child, { a: '1', b: '2' }).metadata.labels).toEqual({ a: 'mine', b: '2' })
    expect(label(child, { a: '1' }, { forced: true }).metadata.labels).toEqual({ a: '1' })
  })

  test('labels are added to templates if the object has them', () => {
    const children = deepFreeze([{ kind: 'Job' }, { kind: 'Deployment', spec: { template: {} } }])
    expect(label(children, { a: '1' }, { nested: 'spec.template' })).toEqual([
      { kind: 'Job', metadata: { labels: { a: '1' } } },
      {
        kind: 'Deployment',
        metadata: { labels: { a: '1' } },
        spec: { template: { metadata: { labels: { a: '1' } } } },
      },
    ])
  })

  test('labels are added to templates in lists, and under keys with dots', () => {
    const child = { spec: { claims: [{ name: 'a' }, [{ name: 'b' }], null], 'x.y': { z: {} }, text: 'no template' } }
    const nested = ['spec.claims', ['spec', 'x.y', 'z'], 'spec.text', 'spec.constructor'] as const
    expect(label(child, { a: '1' }, { nested }).spec).toEqual({
      claims: [
        { name: 'a', metadata: { labels: { a: '1' } } },
        [{ name: 'b', metadata: { labels: { a: '1' } } }],
        null,
      ],
      'x.y': { z: { metadata: { labels: { a: '1' } } } },
      text: 'no template',
    })
  })

  test('labels can have any name, including __proto__', () => {
    const labels = JSON.parse('{"__proto__": "a", "constructor": "b"}')
    const labelled = label({ metadata: { labels: {} } }, labels).metadata.labels
    expect(Object.entries(labelled)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
    expect(Object.getPrototypeOf(labelled)).toBe(Object.prototype)
  })

  test('an empty set of labels changes nothing', () => {
    expect(label({ kind: 'Job' }, {})).toEqual({ kind: 'Job' })
  })
})

describe('names', () => {
  test.each<[string, object, object, object]>([
    ['an object without a name gets a prefix', {}, {}, { generateName: 'parent-' }],
    ['an object without a name gets the exact name in strict mode', {}, { strict: true }, { name: 'parent' }],
    ['an existing name is kept', { name: 'mine' }, { strict: true }, { name: 'mine' }],
    ['an existing prefix is kept', { generateName: 'mine-' }, { strict: true }, { generateName: 'mine-' }],
    ['a name is forced', { generateName: 'mine-' }, { strict: true, forced: true }, { name: 'parent' }],
    ['a prefix is forced', { name: 'mine' }, { forced: true }, { generateName: 'parent-' }],
  ])('a child name is harmonized: %s', (_, metadata, options, expected) => {
    expect(harmonizeNaming(deepFreeze({ metadata }), 'parent', options)).toEqual({ metadata: expected })
  })

  test('an empty child name is refused', () => {
    expect(() => harmonizeNaming({}, '')).toThrow('the name to give them is empty')
  })
})

describe('namespaces', () => {
  test.each<[string, object, string | undefined, boolean, object]>([
    ['an object without a namespace gets the namespace', {}, 'ns', false, { namespace: 'ns' }],
    ['an existing namespace is kept', { namespace: 'mine' }, 'ns', false, { namespace: 'mine' }],
    ['a namespace is forced', { namespace: 'mine' }, 'ns', true, { namespace: 'ns' }],
    ['a cluster-scoped owner changes nothing', { namespace: 'mine' }, undefined, false, { namespace: 'mine' }],
    ['a cluster-scoped owner removes the namespace by force', { namespace: 'mine' }, undefined, true, {}],
  ])('a child namespace is adjusted: %s', (_, metadata, namespace, forced, expected) => {
    expect(adjustNamespace(deepFreeze({ metadata }), namespace, { forced })).toEqual({ metadata: expected })
  })
})

describe('adoption', () => {
  test('adoption sets the owner reference, the name, the namespace and the labels at once', () => {
    const children = deepFreeze([{ kind: 'Job' }, { kind: 'Deployment', spec: { template: {} } }])
    const metadata = { ownerReferences: [reference], name: 'parent', namespace: 'ns', labels: { some: 'value' } }
    expect(adopt(children, owner, { strict: true, forced: true, nested: 'spec.template' })).toEqual([
      { kind: 'Job', metadata },
      { kind: 'Deployment', metadata, spec: { template: { metadata: { labels: { some: 'value' } } } } },
    ])
  })

  test('adoption keeps the values of the child', () => {
    const child = { metadata: { name: 'mine', namespace: 'other', labels: { some: 'thing' } } }
    expect(adopt(child, owner).metadata).toEqual({ ...child.metadata, ownerReferences: [reference] })
  })

  test('adoption by an owner without a namespace and labels sets none', () => {
    const scopeless = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', uid: 'u' } }
    expect(adopt({ kind: 'Pod' }, scopeless)).toEqual({
      kind: 'Pod',
      metadata: {
        ownerReferences: [{ ...reference, ...{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' } }],
        generateName: 'n-',
      },
    })
  })

  test('adoption returns a copy that shares nothing with the child', () => {
    const child = { spec: { ports: [{ port: 1 }] } }
    const adopted = adopt(child, owner)
    adopted.spec.ports[0]!.port = 2
    expect(child).toEqual({ spec: { ports: [{ port: 1 }] } })
  })

  test('adoption changes no template and no other object that shares metadata or labels with the child', () => {
    const labels = { app: 'web' }
    const metadata = { labels }
    const deployment = {
      kind: 'Deployment',
      metadata,
      spec: { template: { metadata }, selector: { matchLabels: labels } },
    }
    const adopted = adopt(deployment, owner, { strict: true, nested: 'spec.template' })
    expect(adopted.metadata).toEqual({
      name: 'parent',
      namespace: 'ns',
      labels: { app: 'web', some: 'value' },
      ownerReferences: [reference],
    })
    expect(adopted.spec.template.metadata).toEqual({ labels: { app: 'web', some: 'value' } })
    expect(adopted.spec.selector.matchLabels).toEqual({ app: 'web' })

    const [one, other] = adopt(
      [{ metadata: { ...metadata, name: 'one' } }, { metadata: { ...metadata, name: 'two' } }],
      owner,
    )
    one!.metadata.labels!['app'] = 'other'
    expect(other!.metadata.labels).toEqual({ app: 'web', some: 'value' })

    const owned = { metadata: { ownerReferences: [reference] } }
    const released = removeOwnerReference({ ...owned, spec: { template: owned } }, owner)
    expect(released.metadata.ownerReferences).toEqual([])
    expect(released.spec.template.metadata.ownerReferences).toEqual([reference])
  })

  test('adoption keeps classes of clients and dates', () => {
    class Pod {
      metadata?: { creationTimestamp?: Date }
    }
    const pod = new Pod()
    const creationTimestamp = new Date(0)
    pod.metadata = { creationTimestamp }
    const adopted = adopt(pod, owner)
    expect(adopted).toBeInstanceOf(Pod)
    expect(adopted.metadata).toMatchObject({ creationTimestamp, namespace: 'ns' })
    expect(pod.metadata).toEqual({ creationTimestamp })
  })

  test('adoption accepts objects and lists of any depth, including circular ones', () => {
    let deep: Record<string, unknown> = {}
    for (let level = 0; level < 10_000; level += 1) deep = { deep }
    let list: unknown[] = [deep]
    for (let level = 0; level < 10_000; level += 1) list = [list]
    const adopted = adopt(list, owner)
    let found: unknown = adopted
    while (Array.isArray(found)) found = found[0]
    expect(found).toMatchObject({ metadata: { namespace: 'ns' } })

    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    const copied = adopt(circle, owner)
    expect(copied['self']).toBe(copied)
  })

  test('adoption skips null and undefined, and refuses values that are not objects', () => {
    expect(adopt([null, undefined] as unknown as object[], owner)).toEqual([null, undefined])
    expect(() => adopt(['pod'] as unknown as object[], owner)).toThrow('Cannot edit a string')
  })
})
