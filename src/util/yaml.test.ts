import { describe, expect, test } from 'vitest'
import { formatYaml, parseYaml, YamlError } from './yaml.ts'

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
])('reads %s as kubectl does', async (text, value) => {
  expect((await parseYaml(`a: ${text}`)) as unknown[]).toEqual([{ a: value ?? null }])
})

test('reads every document and leaves out the empty ones', async () => {
  expect(await parseYaml('---\na: 1\n---\n---\nb: 2\n')).toEqual([{ a: 1 }, { b: 2 }])
  expect(await parseYaml('# nothing but a comment\n')).toEqual([])
})

test('says where the text is no YAML', async () => {
  await expect(parseYaml('a: [1, 2\nb: 3')).rejects.toThrow(YamlError)
  await expect(parseYaml('a: [1, 2\nb: 3')).rejects.toThrow(/line \d+/)
})

test('refuses aliases that multiply', async () => {
  const levels = Array.from(
    { length: 9 },
    (_, level) => `l${level + 1}: &l${level + 1} [${'*l'.concat(String(level)).concat(', ').repeat(9)}1]`,
  )
  await expect(parseYaml(['l0: &l0 [1]', ...levels].join('\n'))).rejects.toThrow(YamlError)
})

test('keeps hostile keys as data', async () => {
  const [value] = (await parseYaml('__proto__: {polluted: true}')) as [object]
  expect(Object.keys(value)).toEqual(['__proto__'])
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('writes strings so that they are read back as strings', async () => {
  const value = { a: 'yes', b: '012', c: 'null', d: 'x: y' }
  expect(await parseYaml(await formatYaml(value))).toEqual([value])
})

describe('depth', () => {
  const deep: ReadonlyArray<[string, (depth: number) => string]> = [
    ['lists', (depth) => '['.repeat(depth) + ']'.repeat(depth)],
    ['objects', (depth) => `${'{a: '.repeat(depth)}1${'}'.repeat(depth)}`],
    ['lists with brackets in texts', (depth) => `${'["]]",'.repeat(depth)}1${']'.repeat(depth)}`],
    ['lists with brackets in comments', (depth) => `${'[ # ]]\n'.repeat(depth)}1${']'.repeat(depth)}`],
    ['lists without an end', (depth) => '['.repeat(depth)],
    ['lists in a line', (depth) => `${'- '.repeat(depth)}x`],
    ['lists in a line behind a mark', (depth) => `--- &a !!seq ${'- '.repeat(depth)}x`],
    ['keys in a line', (depth) => `${'? '.repeat(depth)}x`],
    [
      'lists by their indentation',
      (depth) => Array.from({ length: depth }, (_, index) => `${' '.repeat(index)}-`).join('\n'),
    ],
    [
      'objects by their indentation',
      (depth) => Array.from({ length: depth }, (_, index) => `${' '.repeat(index)}a:`).join('\n'),
    ],
  ]

  test.each(deep)('of %s is refused where it could not be read', async (_, nested) => {
    for (const depth of [250, 1000, 2000])
      await expect(parseYaml(nested(depth))).rejects.toThrow('exceeded max depth of 200')
    await expect(parseYaml(nested(90)).catch((error: unknown) => error)).resolves.toBeDefined()
  })

  test('of what is no structure does not count', async () => {
    const text = `a: "${'['.repeat(1000)}"\nb: |\n  ${' '.repeat(500)}x\nc: [${'[],'.repeat(1000)}]\n# ${'['.repeat(1000)}\nd: '${'- '.repeat(500)}'\n`
    expect(await parseYaml(text)).toHaveLength(1)
  })

  test('of a value is refused where it could not be written', async () => {
    const nested = (depth: number) => JSON.parse(deep[1]![1](depth).replaceAll('a', '"a"'))
    expect(await formatYaml(nested(200))).toContain('a: 1')
    await expect(formatYaml(nested(201))).rejects.toThrow('exceeded max depth of 200 in YAML')
    await expect(formatYaml(nested(100_000))).rejects.toThrow('exceeded max depth of 200 in YAML')
  })
})
