import { describe, expect, test } from 'vitest'
import type { Json } from '../../kube/objects.ts'
import type { JsonSchema } from '../schema/structural.ts'
import { CelFailure, CostExceeded, Meter } from './failures.ts'
import { compileRules } from './rules.ts'
import { toCelValue } from './schema-values.ts'

const integers = (length: number): number[] => Array.from({ length }, (_, index) => index)
const list = (items: JsonSchema): JsonSchema => ({ type: 'array', items })
const text: JsonSchema = { type: 'string' }
const number: JsonSchema = { type: 'integer' }

const schema: JsonSchema = {
  type: 'object',
  properties: {
    s: text,
    pattern: text,
    blanks: text,
    n: number,
    l: list(number),
    ll: list(list(number)),
    texts: list(text),
    map: { type: 'object', additionalProperties: text },
  },
}
const value = {
  s: 'a'.repeat(500_000),
  blanks: `a${' '.repeat(500_000)}b`,
  pattern: `${'(a|a|b)*'.repeat(100)}$`,
  n: 1_000_000_000,
  l: integers(50_000),
  ll: integers(500).map(() => integers(200)),
  texts: integers(20_000).map((index) => `${'x'.repeat(20)}${index}`),
  map: Object.fromEntries(integers(20_000).map((index) => [`k${index}`, `v${index}`])),
} as unknown as Json

/** In seconds of CPU time, which does not depend on the load of the machine. Far more than any case takes. */
const limit = 15

function run(rule: string): string {
  const compiled = compileRules({ ...schema, 'x-kubernetes-validations': [{ rule }] }, false)!.rules[0]!
  if (!compiled.program) return compiled.problem!
  try {
    return String(compiled.program.evaluate([toCelValue(value, schema)], new Meter(1_000_000)))
  } catch (error) {
    if (error instanceof CelFailure || error instanceof CostExceeded) return error.message
    throw error
  }
}

const exceeded = 'operation cancelled: actual cost limit exceeded'

describe('a rule that would never end does', () => {
  test.each([
    ['in loops', 'self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))'],
    ['making lists that nobody looks at', 'self.l.map(x, self.l + self.l).map(y, self.l.map(z, y + y)).size() < 0'],
    ['comparing what is deep inside', 'self.l.all(x, self.ll == self.ll)'],
    ['comparing maps', 'self.l.all(x, self.map == self.map)'],
    ['comparing everything', 'self.l.all(x, dyn(self) == dyn(self))'],
    ['putting a text into each gap of another', "self.s.replace('', self.s).size() < 0"],
    ['formatting', "self.l.all(x, '%s'.format([self.texts]).size() > 0)"],
    ['trimming', "self.l.all(x, self.blanks.trim() != '')"],
    ['failing', 'self.l.all(w, self.l.exists(x, 1 / 0 > x) || true)'],
    ['failing with a long message', 'self.l.exists(x, ip(self.s).isLoopback())'],
    ['making a range out of nothing', 'lists.range(self.n).size() < 0'],
    ['making ranges in a loop', 'self.l.map(x, lists.range(900000)).size() < 0'],
    ['sorting', 'self.texts.sort().size() < 0'],
    ['looking for what is distinct', 'self.l.distinct().size() < 0'],
    ['comparing sets', 'sets.contains(self.texts, self.texts)'],
    ['matching a pattern from the object', 'self.l.all(x, self.s.matches(self.pattern))'],
    ['matching in a loop', "self.l.all(x, self.s.matches('^(a+)+$'))"],
    ['splitting', "self.l.all(x, self.s.split('').size() > 0)"],
    ['flattening', 'self.l.all(x, self.ll.flatten().size() > 0)'],
    ['making maps', 'self.l.transformMap(i, v, self.l.transformMap(a, b, 1)).size() < 0'],
  ])('%s', (_, rule) => {
    const before = process.cpuUsage()
    expect(run(rule)).toBe(exceeded)
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1_000_000).toBeLessThan(limit)
  })
})

describe('an expression that would be too large is none', () => {
  test.each([
    ['by its length', `${'true || '.repeat(15_000)}true`, /expression code point size exceeds limit/],
    ['by its brackets', `${'('.repeat(300)}true${')'.repeat(300)}`, /expression recursion limit exceeded: 250/],
    ['by its sums', `${'1 + '.repeat(300)}1 > 0`, /max recursion depth exceeded/],
    ['by its macros', `self.?s${'.optMap(a, a)'.repeat(40)}.hasValue()`, /expression too large after macros/],
    ['by its pattern', "self.s.matches('((a{1,1000}){1,1000}){1,1000}')", /invalid matches argument/],
  ])('%s', (_, rule, problem) => {
    expect(run(rule)).toMatch(problem)
  })
})
