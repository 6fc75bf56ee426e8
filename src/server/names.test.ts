import { describe, expect, test } from 'vitest'
import {
  generateName,
  label1035NameProblems,
  labelNameProblems,
  labelValueProblems,
  pathSegmentNameProblems,
  qualifiedNameProblems,
  subdomainNameProblems,
} from './names.ts'

const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const labelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const label1035Rule =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
const qualifiedRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const labelValueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

type Check = (name: string, isPrefix: boolean) => string[]

describe('names of objects', () => {
  test.each<[string, Check, string, boolean, string[]]>([
    ['a subdomain', subdomainNameProblems, 'a.b-c.0', false, []],
    ['no subdomain', subdomainNameProblems, 'Q_', false, [subdomainRule]],
    ['an empty subdomain', subdomainNameProblems, '', false, [subdomainRule]],
    ['a subdomain of 253 characters', subdomainNameProblems, 'a'.repeat(253), false, []],
    ['a long subdomain', subdomainNameProblems, 'a'.repeat(254), false, ['must be no more than 253 characters']],
    ['a newline at the end', subdomainNameProblems, 'a\n', false, [subdomainRule]],
    ['a dash at the end', subdomainNameProblems, 'a-', false, [subdomainRule]],
    ['a dash at the end of a prefix', subdomainNameProblems, 'ab-', true, []],
    ['the character before the dash of a prefix, dropped', subdomainNameProblems, 'a_-', true, []],
    ['a prefix of one dash', subdomainNameProblems, '-', true, [subdomainRule]],
    ['a label', labelNameProblems, '0-a', false, []],
    ['a label with dots', labelNameProblems, 'a.b', false, ['must not contain dots']],
    ['no label', labelNameProblems, 'A', false, [labelRule]],
    ['a long label', labelNameProblems, 'a'.repeat(64), false, ['must be no more than 63 characters']],
    ['a label that begins with a digit', label1035NameProblems, '1a', false, [label1035Rule]],
    ['a label that begins with a letter', label1035NameProblems, 'a1', false, []],
    ['a segment of a path', pathSegmentNameProblems, 'System:Admin', false, []],
    ['a segment with a slash', pathSegmentNameProblems, 'a/%', false, ["may not contain '/'", "may not contain '%'"]],
    ['the parent folder', pathSegmentNameProblems, '..', false, ["may not be '..'"]],
    ['dots that more follows', pathSegmentNameProblems, '..', true, []],
  ])('%s', (_, check, name, isPrefix, expected) => {
    expect(check(name, isPrefix)).toEqual(expected)
  })
})

describe('keys of labels', () => {
  test.each<[string, string[]]>([
    ['app', []],
    ['example.com/My_Name.0', []],
    ['', ['name part must be non-empty', `name part ${qualifiedRule}`]],
    ['a/', ['name part must be non-empty', `name part ${qualifiedRule}`]],
    ['/a', ['prefix part must be non-empty']],
    ['A/a', [`prefix part ${subdomainRule}`]],
    [`${'a'.repeat(254)}/a`, ['prefix part must be no more than 253 bytes']],
    ['x'.repeat(64), ['name part must be no more than 63 bytes']],
    ['-a', [`name part ${qualifiedRule}`]],
    [
      'a/b/c',
      [`a valid label key ${qualifiedRule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`],
    ],
  ])('%j', (key, expected) => {
    expect(qualifiedNameProblems(key)).toEqual(expected)
  })
})

describe('values of labels', () => {
  test.each<[string, string[]]>([
    ['', []],
    ['a_B.1', []],
    ['x'.repeat(63), []],
    ['x'.repeat(64), ['must be no more than 63 bytes']],
    ['ä', [labelValueRule]],
    ['a b', [labelValueRule]],
  ])('%j', (value, expected) => {
    expect(labelValueProblems(value)).toEqual(expected)
  })
})

describe('generated names', () => {
  test('add five characters that make no words', () => {
    const names = Array.from({ length: 200 }, () => generateName('web-'))
    for (const name of names) expect(name).toMatch(/^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
    expect(new Set(names).size).toBeGreaterThan(190)
  })

  test('are never longer than 63 characters', () => {
    expect(generateName('a'.repeat(58))).toHaveLength(63)
    expect(generateName('a'.repeat(100))).toHaveLength(63)
  })
})
