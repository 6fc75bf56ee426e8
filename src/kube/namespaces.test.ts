/** Namespace patterns, with the examples of Kopf's manual, and globs that are expensive to match. */
import { describe, expect, test } from 'vitest'
import { isExactNamespace, matchesGlob, matchesNamespace, type NamespacePattern } from './namespaces.ts'

describe('globs', () => {
  test.each<[glob: string, text: string, expected: boolean]>([
    ['', '', true],
    ['', 'a', false],
    ['*', '', true],
    ['a*c', 'abbc', true],
    ['a*c', 'abbcd', false],
    ['*a*b*', 'xaybz', true],
    ['*ab', 'aab', true],
    ['*aab', 'aaab', true],
    ['?', '', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['[ab]c', 'bc', true],
    ['[ab]c', 'cc', false],
    ['[!ab]c', 'cc', true],
    ['[!ab]c', 'ac', false],
    ['[a-c]', 'b', true],
    ['[a-c]', 'd', false],
    ['[c-a]', 'b', false],
    ['[a-]', '-', true],
    ['[]]', ']', true],
    ['[!]]', ']', false],
    ['[]a]*', 'ab', true],
    ['[ab', '[ab', true],
    ['[]', '[]', true],
    ['a.c', 'abc', false],
    ['A', 'a', false],
    ['^$', '^$', true],
  ])('the glob "%s" matches "%s": %s', (glob, text, expected) => {
    expect(matchesGlob(glob, text)).toBe(expected)
  })

  test('a glob is matched in linear time with the text', () => {
    const text = `${'a'.repeat(1_000_000)}c`
    const started = performance.now()
    expect(matchesGlob(`${'*a'.repeat(30)}*b`, text)).toBe(false)
    expect(matchesGlob('*?*?*?*?*b*', text)).toBe(false)
    expect(matchesGlob(`*${'a'.repeat(1000)}b*`, text)).toBe(false)
    expect(matchesGlob('*', text)).toBe(true)
    // Exponential or even quadratic matching would take minutes.
    expect(performance.now() - started).toBeLessThan(5000)
  })
})

describe('namespace patterns', () => {
  test.each<[pattern: NamespacePattern, name: string, expected: boolean]>([
    ['default', 'default', true],
    ['default', 'other', false],
    ['myapp-*', 'myapp-live', true],
    ['myapp-*, !*-pr-*, *pr-123', 'myapp-test', true],
    ['myapp-*, !*-pr-*, *pr-123', 'myapp-pr-123', true],
    ['myapp-*, !*-pr-*, *pr-123', 'myapp-pr-456', false],
    ['myapp-*, !*-pr-*, *pr-123', 'otherapp-pr-123', false],
    ['!*-pr-*, *pr-123', 'otherapp-pr-123', true],
    ['!*-pr-*, *pr-123', 'myapp-pr-456', false],
    ['!*-pr-*, *pr-123', 'anything', true],
    ['!!a', 'a', false],
    ['!kube-*', 'kube-system', false],
    ['a,b', 'a', true],
    ['a,b', 'b', false],
    ['*,!a,a', 'a', true],
    ['', '', true],
    ['', 'a', false],
    ['n[0-9]', 'n1', true],
    [/ns-\d+/, 'ns-12', true],
    [/ns-\d+/, 'my-ns-12', false],
    [/ns-\d+/, 'ns-12-x', false],
    [/a|ab/, 'ab', true],
    [/NS/i, 'ns', true],
    [/^a$/m, 'a\nb', false],
    [/(?<x>a)\k<x>/, 'aa', true],
  ])('the namespace pattern %s matches "%s": %s', (pattern, name, expected) => {
    expect(matchesNamespace(pattern, name)).toBe(expected)
  })

  test('a namespace pattern with the global flag ignores its last match', () => {
    const pattern = /ns/g
    pattern.lastIndex = 2
    expect([matchesNamespace(pattern, 'ns'), matchesNamespace(pattern, 'ns')]).toEqual([true, true])
    expect(pattern.lastIndex).toBe(2)
  })

  test.each<[NamespacePattern, boolean]>([
    ['default', true],
    ['kube-system', true],
    ['', false],
    ['a*', false],
    ['a?', false],
    ['[ab]', false],
    ['!a', false],
    ['a,b', false],
    [/a/, false],
  ])('the namespace pattern %s means one namespace: %s', (pattern, expected) => {
    expect(isExactNamespace(pattern)).toBe(expected)
  })
})
