import { describe, expect, test } from 'vitest'
import type { ApiResource } from './resource.ts'
import { labelSelectorFromObject, parseFieldSelector, parseLabelSelector, parseListSelectors } from './selectors.ts'

const keyRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const valueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

const labels = { app: 'web', tier: '', count: '10', 'example.com/in': 'notin' }

describe('label selectors', () => {
  test.each<[string, boolean]>([
    ['', true],
    ['app=web', true],
    ['app==web', true],
    ['app = web , tier =', true],
    ['app=db', false],
    ['app!=db', true],
    ['missing!=db', true],
    ['missing=', false],
    ['app', true],
    ['missing', false],
    ['!app', false],
    ['! missing', true],
    ['app in (db,web)', true],
    ['app in (db)', false],
    ['missing in (a,)', false],
    ['tier in ()', true],
    ['tier in (,x)', true],
    ['app notin (web)', false],
    ['app notin (,,)', true],
    ['missing notin (a)', true],
    ['example.com/in in (in, notin)', true],
    ['count>9', true],
    ['count>10', false],
    ['count<11', true],
    ['missing>1', false],
    ['app>1', false],
    ['count>9007199254740993', false],
    ['constructor', false],
    ['!constructor', true],
  ])('%j is met: %s', (text, expected) => {
    expect(parseLabelSelector(text).matches(labels)).toBe(expected)
  })

  test.each([
    ['', ''],
    ['b,a', 'a,b'],
    ['x in (c,a,b,a),!y,z>1,a==b', 'a==b,x in (a,b,c),!y,z>1'],
    ['x notin ()', 'x notin ()'],
  ])('%j is written %j', (text, expected) => {
    const selector = parseLabelSelector(text)
    expect(selector.text).toBe(expected)
    expect(selector.isEmpty).toBe(text === '')
  })

  test.each([
    [',', "found ',', expected: !, identifier, or 'end of string'"],
    ['(a', "found '(', expected: !, identifier, or 'end of string'"],
    ['a,', "found '', expected: identifier after ','"],
    ['a,=b', "found '=', expected: identifier after ','"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a===b', "unable to parse requirement: found '=', expected: identifier"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (,', "unable to parse requirement: found '', expected: ',', or identifier"],
    ['/x', 'unable to parse requirement: <nil>: Invalid value: "/x": prefix part must be non-empty'],
    ['a>-5', `unable to parse requirement: values[0][a]: Invalid value: "-5": ${valueRule}`],
    ['!__proto__', `unable to parse requirement: <nil>: Invalid value: "__proto__": name part ${keyRule}`],
    ['a=b@', `unable to parse requirement: values[0][a]: Invalid value: "b@": ${valueRule}`],
    [
      'a>5x',
      `unable to parse requirement: values[0]: Invalid value: "5x": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
  ])('%j cannot be parsed', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(expect.objectContaining({ message }))
  })
})

describe('label selectors in objects', () => {
  test('select nothing where there is none, and all where it is empty', () => {
    expect(labelSelectorFromObject(undefined)).toMatchObject({ text: '', isEmpty: false })
    expect(labelSelectorFromObject(null).matches({})).toBe(false)
    expect(labelSelectorFromObject({})).toMatchObject({ text: '', isEmpty: true })
    expect(labelSelectorFromObject({}).matches({})).toBe(true)
  })

  test('combine labels and expressions', () => {
    const selector = labelSelectorFromObject({
      matchLabels: { app: 'web' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['b', ''] },
        { key: 'gone', operator: 'DoesNotExist' },
        { key: 'count', operator: 'NotIn', values: ['1'] },
        { key: 'app', operator: 'Exists' },
      ],
    })
    expect(selector.text).toBe('app=web,app,count notin (1),!gone,tier in (,b)')
    expect(selector.matches(labels)).toBe(true)
    expect(selector.matches({ ...labels, gone: '' })).toBe(false)
  })

  test.each([
    [{ key: 'a', operator: 'constructor' }, '"constructor" is not a valid label selector operator'],
    [
      { key: 'a', operator: 'In' },
      `values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty`,
    ],
    [
      { key: 'a', operator: 'Exists', values: ['b'] },
      'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
    ],
    [{ key: '-', operator: 'Exists' }, `key: Invalid value: "-": name part ${keyRule}`],
  ])('refuse %j', (expression, message) => {
    const read = () => labelSelectorFromObject({ matchExpressions: [expression] })
    expect(read).toThrow(expect.objectContaining({ message }))
  })
})

describe('field selectors', () => {
  test.each<[string, Array<[string, string, boolean]>]>([
    ['', []],
    [',,', []],
    ['metadata.name=a', [['metadata.name', 'a', true]]],
    [
      'b==1,a!=2',
      [
        ['a', '2', false],
        ['b', '1', true],
      ],
    ],
    ['a=', [['a', '', true]]],
    ['a=\\,\\=\\\\', [['a', ',=\\', true]]],
  ])('%j', (text, expected) => {
    expect(parseFieldSelector(text).map(({ field, value, isEqual }) => [field, value, isEqual])).toEqual(expected)
  })

  test.each([
    ['foo', "invalid selector: 'foo'; can't understand 'foo'"],
    ['a=b,foo', "invalid selector: 'a=b,foo'; can't understand 'foo'"],
    ['a=\\x', 'invalid field selector: invalid escape sequence: \\x'],
    ['a=\\', 'invalid field selector: invalid escape sequence: \\'],
    ['a=1=2', 'invalid field selector: unescaped character in value: 61'],
    ['a!==b', 'invalid field selector: unescaped character in value: 61'],
  ])('%j cannot be parsed', (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(expect.objectContaining({ message }))
  })
})

describe('selectors of lists', () => {
  function resource(part: { kind?: string; group?: string; namespaced?: boolean; names?: string[] }): ApiResource {
    const { kind = 'Widget', group = '', namespaced = true, names } = part
    const strategy = names === undefined ? {} : { selectableFieldNames: names }
    return { kind, group, namespaced, strategy } as unknown as ApiResource
  }

  const parse = (query: string, part = {}) => parseListSelectors(new URLSearchParams(query), resource(part))

  test('are empty where the query has none', () => {
    const { labels: selector, fields } = parse('')
    expect(selector.isEmpty).toBe(true)
    expect(fields).toEqual([])
  })

  test('take the fields that the kind names', () => {
    const { fields } = parse('fieldSelector=spec.size%3D1,metadata.namespace%3Dx', { names: ['spec.size'] })
    expect(fields).toEqual([
      { field: 'metadata.namespace', value: 'x', isEqual: true },
      { field: 'spec.size', value: '1', isEqual: true },
    ])
  })

  test('take the namespace of kinds without one, unless those say what can be selected by', () => {
    expect(parse('fieldSelector=metadata.namespace%3Dx', { namespaced: false }).fields).toHaveLength(1)
  })

  test.each<[string, object, string]>([
    ['labelSelector=%3D&fieldSelector=a', {}, "found '=', expected: !, identifier, or 'end of string'"],
    ['fieldSelector=foo', {}, "invalid selector: 'foo'; can't understand 'foo'"],
    ['fieldSelector=x%3D1', {}, '"x" is not a known field selector: only "metadata.name", "metadata.namespace"'],
    ['fieldSelector=x%3D1', { names: ['y'] }, 'field label not supported: x'],
    ['fieldSelector=x%3D1', { names: [], kind: 'Job', group: 'batch' }, 'field label "x" not supported for Job'],
    [
      'fieldSelector=metadata.namespace%3Dx',
      { names: [], namespaced: false },
      'field label not supported: metadata.namespace',
    ],
  ])('%s is a bad request for %j', (query, part, message) => {
    const expected = expect.objectContaining({ code: 400, reason: 'BadRequest', message })
    expect(() => parse(query, part)).toThrow(expected)
  })
})
