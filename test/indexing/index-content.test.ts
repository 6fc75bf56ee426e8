/** The content of an index from the first state of an object to its deletion. */
import { ABSENT, Operator, PRESENT } from 'kopf'
import { describe, expect, test } from 'vitest'
import { createLogSink } from '../../src/util/log/log.ts'
import { annotationsOf, settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { contentOf, cutWatches } from './index-support.ts'

const lab = useCleanLab()

test('an index follows an object from its creation to its deletion, and event handlers see the current index', async () => {
  const seen: [unknown, object][] = []
  const kopf = new Operator()
  const byField = kopf.index(lab.widgets, ({ spec, name }) => ({ [spec['field']]: name }))
  kopf.on.event(lab.widgets, ({ event }) => void seen.push([event.type, contentOf(byField)]))
  await lab.start(kopf)
  await lab.create('n', { spec: { field: 'v' }, metadata: { finalizers: ['example.com/wait'] } })
  await lab.until(() => seen.length === 1)
  await lab.patch('n', { spec: { field: 'k2' } })
  await lab.until(() => seen.length === 2)
  await lab.delete('n')
  await lab.until(() => seen.length === 3)
  await lab.patch('n', { metadata: { finalizers: null } })
  await lab.until(() => seen.length >= 4)
  await settle(lab)
  expect(seen).toEqual([
    ['ADDED', [['v', ['n']]]],
    ['MODIFIED', [['k2', ['n']]]],
    ['MODIFIED', [['k2', ['n']]]],
    ['DELETED', []],
  ])
})

test('objects in an index can share keys and can have several keys', async () => {
  const kopf = new Operator()
  const byLabel = kopf.index(lab.widgets, ({ labels, name }) => Object.entries(labels).map((label) => [label, name]))
  await lab.start(kopf)
  await lab.create('a', { metadata: { labels: { app: 'web', tier: 'front' } } })
  await lab.create('b', { metadata: { labels: { app: 'web', tier: 'back' } } })
  await lab.until(() => byLabel.size === 3)
  expect(byLabel.get(['app', 'web'])).toEqual(['a', 'b'])
  expect(byLabel.get(['tier', 'back'])).toEqual(['b'])
  expect(byLabel.has(['tier', 'none'])).toBe(false)
  await lab.patch('a', { metadata: { labels: { app: 'db', tier: null } } })
  await lab.until(() => byLabel.has(['app', 'db']))
  expect(contentOf(byLabel)).toEqual([
    [['app', 'web'], ['b']],
    [['tier', 'back'], ['b']],
    [['app', 'db'], ['a']],
  ])
})

describe('results of index functions', () => {
  class Point {
    readonly x = 1
  }
  const point = new Point()
  function* generate(name: string) {
    yield [name, 'yielded'] as const
  }

  test.each<[string, (name: string, body: object) => unknown, (body: object) => unknown]>([
    ['a map', (name) => new Map([[name, 1]]), () => [['one', [1]]]],
    ['pairs', (name) => [[[name, 2], { x: [null] }]], () => [[['one', 2], [{ x: [null] }]]]],
    ['a generator of pairs', generate, () => [['one', ['yielded']]]],
    ['a plain object', (name) => ({ [name]: { inner: 1 } }), () => [['one', [{ inner: 1 }]]]],
    ['a plain object of nulls', () => ({ key: null }), () => [['key', [null]]]],
    ['the object itself', (_, body) => body, (body) => [[null, [body]]]],
    ['a text', (name) => name, () => [[null, ['one']]]],
    ['an array that contains more than pairs', (name) => ['ns', name], () => [[null, [['ns', 'one']]]]],
    ['an instance of a class', () => point, () => [[null, [point]]]],
    ['a promise of any of these', async (name) => ({ [name]: 1 }), () => [['one', [1]]]],
  ])('an index function can return %s', async (_, index, expected) => {
    let seen: object = {}
    const kopf = new Operator()
    const found = kopf.index(lab.widgets, ({ name, body }) => {
      seen = body
      return index(name, body) as Iterable<[unknown, unknown]>
    })
    await lab.start(kopf)
    await lab.create('one', { spec: { x: 1 } })
    await lab.until(() => found.size > 0)
    expect([...found]).toEqual(expected(seen))
  })

  test.each<[string, unknown, number]>([
    ['undefined keeps the values of the object', undefined, 1],
    ['null keeps the values of the object', null, 1],
    ['an empty array removes the values of the object', [], 0],
    ['an empty map removes the values of the object', new Map(), 0],
    ['an empty object removes the values of the object', {}, 0],
  ])('an index function that returns %s', async (_, then, size) => {
    let calls = 0
    const kopf = new Operator()
    const found = kopf.index(lab.widgets, ({ spec }) => {
      calls += 1
      return spec['n'] === 1 ? { there: 1 } : (then as object)
    })
    await lab.start(kopf)
    await lab.create('one', { spec: { n: 1 } })
    await lab.until(() => found.size === 1)
    await lab.patch('one', { spec: { n: 2 } })
    await lab.until(() => calls === 2)
    await settle(lab)
    expect(found.size).toBe(size)
  })
})

describe('filters of indices', () => {
  const isBig = ({ spec }: { spec: Record<string, unknown> }) => Number(spec['n']) > 1

  test.each<[string, object, object, object]>([
    [
      'a label',
      { labels: { app: 'web' } },
      { metadata: { labels: { app: 'web' } } },
      { metadata: { labels: { app: 'db' } } },
    ],
    [
      'the absence of a label',
      { labels: { app: ABSENT } },
      { metadata: { labels: { app: null } } },
      { metadata: { labels: { app: 'x' } } },
    ],
    [
      'an annotation',
      { annotations: { on: PRESENT } },
      { metadata: { annotations: { on: '' } } },
      { metadata: { annotations: { on: null } } },
    ],
    ['a function', { when: isBig }, { spec: { n: 2 } }, { spec: { n: 1 } }],
    ['a field', { field: 'spec.f' }, { spec: { f: 1 } }, { spec: { f: null } }],
    ['the value of a field', { field: 'spec.f', value: 'a' }, { spec: { f: 'a' } }, { spec: { f: 'b' } }],
  ])('an object is in the index as long as it matches a filter by %s', async (_, filter, matching, other) => {
    const kopf = new Operator()
    const names = kopf.index(lab.widgets, { id: 'names', ...filter }, ({ name }) => name)
    const all = kopf.index(lab.widgets, { id: 'all' }, ({ name }) => name)
    await lab.start(kopf)
    await lab.create('one')
    await lab.until(() => all.size === 1)
    for (let round = 0; round < 2; round += 1) {
      await lab.patch('one', matching as Record<string, unknown>)
      await lab.until(() => names.size === 1)
      await lab.patch('one', other as Record<string, unknown>)
      await lab.until(() => names.size === 0)
    }
    expect(all.get(null)).toEqual(['one'])
  })

  test('an index function that is registered twice is called once if any of its filters matches', async () => {
    const calls: string[] = []
    const names = ({ name }: { name: string }) => {
      calls.push(name)
      return name
    }
    const kopf = new Operator()
    const found = kopf.index(lab.widgets, { labels: { a: PRESENT } }, names)
    kopf.index(lab.widgets, { labels: { b: PRESENT } }, names)
    await lab.start(kopf)
    await lab.create('one', { metadata: { labels: { b: '' } } })
    await lab.until(() => found.size === 1)
    await lab.patch('one', { metadata: { labels: { a: '' } } })
    await lab.until(() => calls.length === 2)
    await lab.patch('one', { metadata: { labels: { b: null } } })
    await lab.until(() => calls.length === 3)
    expect(found.get(null)).toEqual(['one'])
    await lab.patch('one', { metadata: { labels: { a: null } } })
    await lab.until(() => found.size === 0)
    expect(calls).toHaveLength(3)
  })
})

describe('deleted objects in indices', () => {
  test('a deleted object leaves the index, and its successor with the same name is another object', async () => {
    const kopf = new Operator()
    const uids = kopf.index(lab.widgets, ({ name, uid }) => ({ [name]: uid }))
    await lab.start(kopf)
    const first = await lab.create('one')
    await lab.until(() => uids.get('one')[0] === first.metadata.uid)
    await lab.delete('one')
    const second = await lab.create('one')
    await lab.until(() => uids.get('one')[0] === second.metadata.uid)
    expect(contentOf(uids)).toEqual([['one', [second.metadata.uid]]])
    await lab.delete('one')
    await lab.until(() => uids.size === 0)
  })

  test.each([
    ['without other handlers', false],
    ['with other handlers', true],
  ])('an object that was deleted while the watch was down leaves the index %s', async (_, isWatched) => {
    const ends: string[] = []
    const kopf = new Operator()
    const names = kopf.index(lab.widgets, ({ name, spec }) => [[name, spec['n']]])
    if (isWatched) {
      kopf.on.event(lab.widgets, ({ event, name }) => {
        if (event.type === 'DELETED') ends.push(`${name}: ${names.has(name)}`)
      })
    }
    const transport = lab.record()
    const outage = cutWatches(transport)
    await lab.create('old', { spec: { n: 1 } })
    await lab.create('kept', { spec: { n: 1 } })
    await lab.start(kopf, { transport })
    await lab.create('new', { spec: { n: 1 } })
    await lab.until(() => names.size === 3)
    outage.begin()
    await lab.elapse(0.2)
    await lab.delete('old')
    await lab.delete('new')
    await lab.create('new', { spec: { n: 2 } })
    await lab.patch('kept', { spec: { n: 2 } })
    outage.end()
    await lab.until(() => names.get('kept')[0] === 2 && names.size === 2)
    expect(contentOf(names)).toEqual(
      expect.arrayContaining([
        ['kept', [2]],
        ['new', [2]],
      ]),
    )
    await settle(lab)
    expect(ends.sort()).toEqual(isWatched ? ['new: true', 'old: false'] : [])
  })

  test('an object that leaves the label selector of the watch leaves the index, and returns with its labels', async () => {
    const kopf = new Operator()
    const names = kopf.index(lab.widgets, { labels: { mine: 'yes' } }, ({ name, spec }) => [[name, spec['n']]])
    kopf.on.update(lab.widgets, { labels: { mine: 'yes' } }, () => {})
    const transport = lab.record()
    await lab.start(kopf, { transport })
    await lab.create('one', { metadata: { labels: { mine: 'yes' } }, spec: { n: 1 } })
    await lab.until(() => names.size === 1)
    await lab.patch('one', { metadata: { labels: { mine: 'no' } } })
    await lab.until(() => names.size === 0)
    await lab.patch('one', { metadata: { labels: { mine: 'yes' } }, spec: { n: 2 } })
    await lab.until(() => names.get('one')[0] === 2)
    expect(transport.watches(lab.path())[0]!.query.get('labelSelector')).toBe('mine=yes')
    await lab.delete('one')
    await lab.until(() => names.size === 0)
  })
})

test('an object that is filtered out by one index is visible to other indices and handlers', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  const webs = kopf.index(lab.widgets, { id: 'webs', labels: { app: 'web' } }, ({ name }) => name)
  const dbs = kopf.index(lab.widgets, { id: 'dbs', labels: { app: 'db' } }, ({ name }) => name)
  kopf.on.create(lab.widgets, { labels: { handled: PRESENT } }, ({ name }) => void seen.push(name))
  await lab.create('a-web', { metadata: { labels: { app: 'web' } } })
  await lab.create('a-db', { metadata: { labels: { app: 'db' } } })
  await lab.create('other', { metadata: { labels: { handled: '' } } })
  await lab.start(kopf)
  await untilHandled(lab, 'other')
  expect([webs.get(null), dbs.get(null), seen]).toEqual([['a-web'], ['a-db'], ['other']])
})

test('an index causes no write, no finalizer and no annotation, alone or beside an event handler', async () => {
  for (const isWatched of [false, true]) {
    const kopf = new Operator()
    const names = kopf.index(lab.widgets, ({ name }) => name)
    if (isWatched) kopf.on.event(lab.widgets, () => {})
    const wire = lab.record()
    const running = await lab.start(kopf, { transport: wire })
    await lab.create('one')
    await lab.until(() => names.size === 1)
    await lab.delete('one')
    await lab.until(() => names.size === 0)
    await settle(lab)
    expect(wire.writes()).toEqual([])
    await lab.stop(running)
  }
})

test('an index leaves a finalizer of a previous operator on the object', async () => {
  const kopf = new Operator()
  const names = kopf.index(lab.widgets, ({ name }) => name)
  const finalizers = ['kopf.zalando.org/KopfFinalizerMarker']
  await lab.create('one', { metadata: { finalizers } })
  await lab.start(kopf)
  await lab.until(() => names.size === 1)
  await settle(lab)
  const body = await lab.get('one')
  expect([body.metadata.finalizers, annotationsOf(body)]).toEqual([finalizers, {}])
})

test('a successful index function is logged only at the debug level', async () => {
  const lines: string[] = []
  const kopf = new Operator()
  const names = kopf.index(lab.widgets, { id: 'by-name' }, ({ name, spec }) => {
    if (spec['n'] === 2) throw new Error('oops')
    return name
  })
  await lab.start(kopf, { logging: createLogSink({ format: 'plain', write: (line) => lines.push(line) }) })
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => names.size === 1)
  await lab.patch('one', { spec: { n: 2 } })
  await lab.until(() => lines.some((line) => line.includes('oops')))
  expect(lines.filter((line) => line.includes('Indexer'))).toEqual([
    expect.stringContaining("Indexer 'by-name' failed with an exception and will ignore it: oops"),
  ])
})
