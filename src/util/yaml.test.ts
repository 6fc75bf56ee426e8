import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { formatYaml, formatYamlForPeople, parseYaml, YamlError } from './yaml.ts'

test.each([
  ['yes', true],
  ['off', false],
  ['"yes"', 'yes'],
  ['2024-01-02', '2024-01-02'],
  ['12:30:45', '12:30:45'],
  ['0o14', '0o14'],
  ['014', 12],
  ['1e3', 1000],
  ['~', undefined],
])('the YAML value %s is read as by kubectl', (text, value) => {
  expect(parseYaml(`a: ${text}`)).toEqual([{ a: value ?? null }])
})

test('all YAML documents are read, without the empty ones', () => {
  expect(parseYaml('---\na: 1\n---\n---\nb: 2\n')).toEqual([{ a: 1 }, { b: 2 }])
  expect(parseYaml('# nothing but a comment\n')).toEqual([])
})

test('invalid YAML is an error with its line', () => {
  expect(() => parseYaml('a: [1, 2\nb: 3')).toThrow(YamlError)
  expect(() => parseYaml('a: [1, 2\nb: 3')).toThrow(/line \d+/)
})

test('YAML aliases that multiply are refused', () => {
  const levels = Array.from(
    { length: 9 },
    (_, level) => `l${level + 1}: &l${level + 1} [${'*l'.concat(String(level)).concat(', ').repeat(9)}1]`,
  )
  expect(() => parseYaml(['l0: &l0 [1]', ...levels].join('\n'))).toThrow(YamlError)
})

test('YAML keys such as __proto__ are plain keys', () => {
  const [value] = parseYaml('__proto__: {polluted: true}') as [object]
  expect(Object.keys(value)).toEqual(['__proto__'])
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('strings are written to YAML so that they are read as strings', () => {
  const value = { a: 'yes', b: '012', c: 'null', d: 'x: y' }
  expect(parseYaml(formatYaml(value))).toEqual([value])
})

describe('depth of YAML', () => {
  const deep: ReadonlyArray<[string, (depth: number) => string]> = [
    ['lists in brackets', (depth) => '['.repeat(depth) + ']'.repeat(depth)],
    ['objects in braces', (depth) => `${'{a: '.repeat(depth)}1${'}'.repeat(depth)}`],
    ['lists with brackets in texts', (depth) => `${'["]]",'.repeat(depth)}1${']'.repeat(depth)}`],
    ['lists with brackets in comments', (depth) => `${'[ # ]]\n'.repeat(depth)}1${']'.repeat(depth)}`],
    ['lists without an end', (depth) => '['.repeat(depth)],
    ['lists in one line', (depth) => `${'- '.repeat(depth)}x`],
    ['lists in one line after a document marker', (depth) => `--- &a !!seq ${'- '.repeat(depth)}x`],
    ['keys in one line', (depth) => `${'? '.repeat(depth)}x`],
    [
      'lists by their indentation',
      (depth) => Array.from({ length: depth }, (_, index) => `${' '.repeat(index)}-`).join('\n'),
    ],
    [
      'objects by their indentation',
      (depth) => Array.from({ length: depth }, (_, index) => `${' '.repeat(index)}a:`).join('\n'),
    ],
  ]

  const problemOf = (text: string): string => {
    try {
      return String(parseYaml(text).length)
    } catch (error) {
      return (error as Error).message
    }
  }

  test.each(deep)('YAML with deeply nested %s is refused if it is too deep to read', (_, nested) => {
    for (const depth of [250, 1000, 2000]) expect(() => parseYaml(nested(depth))).toThrow('exceeded max depth of 200')
    expect(problemOf(nested(90))).not.toContain('exceeded max depth')
  })

  test('brackets and indentation in YAML texts and comments do not count as depth', () => {
    const text = `a: "${'['.repeat(1000)}"\nb: |\n  ${' '.repeat(500)}x\nc: [${'[],'.repeat(1000)}]\n# ${'['.repeat(1000)}\nd: '${'- '.repeat(500)}'\n`
    expect(parseYaml(text)).toHaveLength(1)
  })

  test('a value of any depth is written to YAML, with JSON below 200 levels', () => {
    const nested = (depth: number) => JSON.parse(deep[1]![1](depth).replaceAll('a', '"a"'))
    expect(formatYaml(nested(200))).toContain('a: 1')
    expect(formatYaml(nested(202)).endsWith('a: {"a":{"a":1}}\n')).toBe(true)
    const list = { items: [nested(250), { x: [nested(300), 'y'] }], kind: 'X' }
    expect(parse(formatYaml(list))).toEqual(list)
    const [short, long] = [10_000, 20_000].map((depth) => formatYaml(nested(depth)).length)
    expect(long! - short!).toBe(10_000 * '{"a":}'.length)
  })

  test('a value that is too deep for readable YAML is refused', () => {
    const nested = JSON.parse(deep[0]![1](202))
    expect(() => formatYamlForPeople(nested)).toThrow('exceeded max depth of 200 in YAML')
  })
})
