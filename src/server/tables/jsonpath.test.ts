import { describe, expect, test } from 'vitest'
import { compileJsonPath } from './jsonpath.ts'
import { JsonPathError } from './jsonpath-parser.ts'

const object = {
  metadata: { name: 'a', labels: { 'a.b/c': 'label' } },
  spec: {
    list: ['x', 7, true],
    conditions: [
      { type: 'Ready', status: 'True', n: 1 },
      { type: 'Other', status: 'False', n: 2.5 },
      { type: 'a)b', n: 3 },
    ],
    deep: { er: { name: 5 } },
    none: null,
  },
}

describe('selects', () => {
  const cases: ReadonlyArray<readonly [path: string, values: unknown[]]> = [
    ['.metadata.name', ['a']],
    ['.metadata.missing', []],
    ['.metadata.name.missing', []],
    ['metadata.name', []],
    ['.spec.none', [null]],
    ['.spec.none.more', []],
    ["['metadata'].name", ['a']],
    [".metadata.labels['a\\.b/c']", ['label']],
    ['.metadata.labels.a\\.b/c', ['label']],
    [".metadata.labels['a.b/c']", []],
    ['.spec.list[0]', ['x']],
    ['.spec.list[-1]', [true]],
    ['.spec.list[3]', []],
    ['.spec.list[-4]', []],
    ['.spec.list[*]', ['x', 7, true]],
    ['.spec.list[]', ['x']],
    ['.spec.list[1:]', [7, true]],
    ['.spec.list[:-1]', ['x', 7]],
    ['.spec.list[::2]', ['x', true]],
    ['.spec.list[::0]', []],
    ['.spec.list[2:1]', []],
    ['.spec.list[2,0]', [true, 'x']],
    [".metadata['name','missing']", ['a']],
    ['.spec.deep.*', [{ name: 5 }]],
    ['.metadata.name.*', [97]],
    ['..name', ['a', 5]],
    ['.spec..name', [5]],
    ['.spec.conditions[?(@.type=="Ready")].status', ['True']],
    [".spec.conditions[?(@.type=='Ready')].status", ['True']],
    ['.spec.conditions[?(@.type=="a)b")].n', [3]],
    ['.spec.conditions[?(@.type!="Ready")].type', ['Other', 'a)b']],
    ['.spec.conditions[?(@.status)].type', ['Ready', 'Other']],
    ['.spec.conditions[?(@.list[5])].type', []],
    ['.spec.conditions[?(@.type=="Ready")].missing', []],
    ['.spec.conditions[?(@.type==1)].type', []],
    ['.spec.list[?(@=="x")]', []],
    ['.metadata[?(@.a)]', []],
    ['.spec "quoted"', ['quoted']],
    ["$.spec 'it\\'s'", ["it's"]],
    ['.spec.list[0]} {.metadata.name', ['x']],
    ['.spec.list[0]} {range', []],
    ['.', []],
  ]
  test.each(cases)('%s', (path, values) => {
    expect(compileJsonPath(path)(object)).toEqual(values)
  })

  test('compares numbers within their kind only, as the real server does', () => {
    const whole = { list: [{ n: 1 }, { n: 2 }, { n: 3 }] }
    expect(compileJsonPath('.list[?(@.n>=2)].n')(whole)).toEqual([2, 3])
    expect(compileJsonPath('.list[?(@.n<2)].n')(whole)).toEqual([1])
    // A fraction among whole numbers makes the whole path select nothing.
    expect(compileJsonPath('.spec.conditions[?(@.n>1)].n')(object)).toEqual([])
  })
})

test.each([
  '.spec[',
  '.spec[abc]',
  '.spec[1:2:3:4]',
  '.spec[?(@.a]',
  '.spec[?(@.a)',
  '.a....b',
  '.spec "open',
  '.spec "\\q"',
  '.spec #',
  '.spec[--1]',
  '.spec +.',
])('refuses %s', (path) => {
  expect(() => compileJsonPath(path)).toThrow(JsonPathError)
})

describe('with hostile objects', () => {
  test('follows own keys only', () => {
    for (const key of ['constructor', '__proto__', 'toString', 'length']) {
      expect(compileJsonPath(`.spec.${key}`)({ spec: {} })).toEqual([])
      expect(compileJsonPath(`.spec.${key}`)({ spec: ['a'] })).toEqual([])
    }
    expect(compileJsonPath('.__proto__')(JSON.parse('{"__proto__": 1}'))).toEqual([1])
  })

  test('descends into any depth', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(10_000)}{"end":1}${'}'.repeat(10_000)}`)
    expect(compileJsonPath('..end')(deep)).toEqual([1])
  })

  test('gives up a path that would take the square of the size of the object', () => {
    const wide = { list: Array.from({ length: 3000 }, () => ({ a: { b: { c: {} } } })) }
    const chain = JSON.parse(`${'{"a":'.repeat(3000)}{"end":1}${'}'.repeat(3000)}`)
    expect(compileJsonPath('..a..b')(wide)).toHaveLength(3000)
    expect(compileJsonPath('..a..end')(chain)).toEqual([])
  })
})
