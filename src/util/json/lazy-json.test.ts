import { expect, test } from 'vitest'
import { expectLinearGrowth } from '../../../test/support/growth.ts'
import { JsonScanner } from './json-scanner.ts'
import {
  copyWith,
  minLazyLength,
  parseEnvelope,
  parseList,
  parseObject,
  toLazy,
  toWhole,
  weightOf,
} from './lazy-json.ts'

const long = Array.from({ length: 2000 }, (_, index) => ({ index, text: `ü "${index}" \\` }))
const large = {
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name: 'a', managedFields: long, annotations: { a: 'x'.repeat(3000) }, labels: { b: 'c' } },
  spec: { list: long, big: 1 },
  status: { phase: 'Done' },
  note: 'y'.repeat(2000),
}

function accessors(object: object): string[] {
  const entries = Object.entries(Object.getOwnPropertyDescriptors(object))
  return entries.filter(([, { get }]) => get !== undefined).map(([key]) => key)
}

test('a large object equals the result of JSON.parse, and keeps its large members as text', () => {
  const object = parseObject(JSON.stringify(large)) as typeof large
  expect(object).toEqual(large)
  expect(Object.keys(object)).toEqual(Object.keys(large))
  expect(accessors(object)).toEqual(['spec'])
  expect(accessors(object.metadata)).toEqual(['managedFields', 'annotations'])
})

test('the members of a large object are frozen, and the same value at each access', () => {
  const { spec } = parseObject(JSON.stringify(large)) as typeof large
  expect(Object.isFrozen(spec.list[7])).toBe(true)
  const object = parseObject(JSON.stringify(large)) as typeof large
  const held = object.spec
  expect(object.spec).toBe(held)
})

test('omitted members of the metadata are left out without being parsed', () => {
  const { managedFields: _, ...metadata } = large.metadata
  const object = parseObject(JSON.stringify(large), { omit: ['managedFields'] })
  expect(object).toEqual({ ...large, metadata })
})

test('a small object is parsed whole and weighs nothing', () => {
  const object = parseObject('{"metadata":{"name":"a"},"spec":{}}') as object
  expect(weightOf(object)).toEqual({ bytes: 0, cost: 0, isCut: false })
  expect(accessors(object)).toEqual([])
  expect(toWhole(object)).toBe(object)
})

test('a whole object for users has no getters', () => {
  const whole = toWhole(parseObject(JSON.stringify(large)) as typeof large)
  expect([...accessors(whole), ...accessors(whole.metadata)]).toEqual([])
  expect(whole).toEqual(large)
})

test('a copy with other members is lazy where the object is', () => {
  const object = parseObject(JSON.stringify(large)) as typeof large
  const { status: _, ...rest } = large
  const copy = copyWith(object, { status: undefined, note: 'z' }, { first: 1, kind: 'Other' })
  expect(accessors(copy)).toEqual(['spec'])
  expect(weightOf(copy)).toEqual(weightOf(object))
  expect(copy).toEqual({ first: 1, ...rest, note: 'z' })
})

test('the object in a watch event and the items of a list are lazy if they are large', () => {
  const event = parseEnvelope(JSON.stringify({ type: 'ADDED', object: large })) as { object: object }
  expect(event).toEqual({ type: 'ADDED', object: large })
  expect(accessors(event.object)).toEqual(['spec'])
  const list = parseList(JSON.stringify({ kind: 'ThingList', items: [large, { kind: 'Thing' }] })) as {
    items: object[]
  }
  expect(list).toEqual({ kind: 'ThingList', items: [large, { kind: 'Thing' }] })
  expect(list.items.map(accessors)).toEqual([['spec'], []])
  expect(parseList('{"items":null}')).toEqual({ items: null })
})

test('an object with thousands of members keeps only a few of them and its metadata', () => {
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, {}]))
  const object = parseObject(JSON.stringify({ ...many, metadata: { name: 'a' }, kind: 'Thing' })) as typeof large
  expect(weightOf(object).isCut).toBe(true)
  expect(Object.keys(object)).toHaveLength(259)
  expect(object).toMatchObject({ kind: 'Thing', metadata: { name: 'a' } })
  expect(weightOf(parseObject(JSON.stringify(large)) as object).isCut).toBe(false)
})

test('integers beyond 2^53, the key __proto__ and repeated keys of a large object are read as in small ones', () => {
  const padding = JSON.stringify('x'.repeat(minLazyLength))
  const text = `{"a":[${padding}],"spec":[9007199254740993,${padding}],"__proto__":{"b":2},"a":3}`
  const object = parseObject(text) as Record<string, unknown>
  expect(object['spec']).toEqual([9007199254740993n, 'x'.repeat(minLazyLength)])
  expect(Object.getOwnPropertyDescriptor(object, '__proto__')?.value).toEqual({ b: 2 })
  expect(object['a']).toBe(3)
})

test('a large value becomes a lazy object, and a small value stays unchanged', () => {
  expect(toLazy(large)).toEqual(large)
  expect(accessors(toLazy(large))).toEqual(['spec'])
  const small = { a: 1 }
  expect(toLazy(small)).toBe(small)
})

test('the JSON scanner accepts exactly the texts that JSON.parse accepts', () => {
  const seeds = [
    '{"a":[1,-2.5e+3,true,false,null,"\\u00fc\\n\\"x"],"b":{"":{}},"c":[[],[{}]]} ',
    '[0.1,1E5,"\\ud800",{"k":"v"}]',
    ' "text" ',
    '\t{"x" : [ 1 , 2 ] }\n',
  ]
  const alphabet = '{}[],:"\\u0123e+-.tfn \n\u0001aé'
  let random = 7
  const next = (below: number) => {
    random = (random * 1103515245 + 12345) % 2147483648
    return Math.floor((random / 2147483648) * below)
  }
  for (let round = 0; round < 5000; round += 1) {
    const text = mutate(seeds[next(seeds.length)]!, alphabet[next(alphabet.length)]!, next)
    if (isScanned(text) !== isParsed(text)) expect.fail(`The scanner and JSON.parse differ on ${JSON.stringify(text)}`)
  }
})

function mutate(text: string, character: string, next: (below: number) => number): string {
  const at = next(text.length + 1)
  return text.slice(0, at) + (next(3) === 0 ? '' : character) + text.slice(at + next(3))
}

function isScanned(text: string): boolean {
  const scanner = new JsonScanner(text)
  return scanner.span() !== undefined && scanner.isAtEnd
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('an invalid JSON text is refused with an error that does not quote it', () => {
  const text = `{"spec":{"password":"hunter2","x":[${'1,'.repeat(minLazyLength)}]}}`
  for (const parse of [parseObject, parseEnvelope, parseList]) {
    expect(() => parse(text)).toThrow(/^A text of \d+ characters is not JSON$/)
  }
})

test('the estimated memory of a JSON text is at least what V8 takes for the densest texts', () => {
  const ofMany = (item: string) => `{"spec":[${Array(100_000).fill(item).join(',')}]}`
  expect(weightOf(parseObject(ofMany('{}')) as object).cost).toBeGreaterThan(20 * 300_000)
  expect(weightOf(parseObject(ofMany('[]')) as object).cost).toBeGreaterThan(13 * 300_000)
  const deep = `{"spec":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  expect(weightOf(parseObject(deep) as object).cost).toBeGreaterThan(28 * 200_000)
})

test.each([
  ['wide', (n: number) => `{"spec":[${Array(n).fill('{}').join(',')}]}`],
  ['deep', (n: number) => `{"spec":${'['.repeat(n)}${']'.repeat(n)}}`],
  ['long in its keys', (n: number) => `{"spec":{"${'k'.repeat(4 * n)}":1}}`],
  ['made of many members', (n: number) => `{${Array.from({ length: n }, (_, at) => `"k${at}":{}`).join(',')}}`],
])('the work of parsing an object that is %s grows linearly with its text', (_, make) =>
  expectLinearGrowth({ n: 20_000, prepare: make, run: (text) => void parseObject(text) }),
)

test('null in the metadata is omitted, as Go writes an empty list', () => {
  const text = JSON.stringify({
    metadata: { name: 'a', finalizers: null, labels: { a: 'b' } },
    spec: { a: 'x'.repeat(20_000) },
  })
  expect(parseObject(text)).toMatchObject({ metadata: { name: 'a', labels: { a: 'b' } } })
  expect(Object.keys((parseObject(text) as { metadata: object }).metadata)).toEqual(['name', 'labels'])
})
