import { expect, test } from 'vitest'
import { isDeeperThan } from './json-size.ts'

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

test.each<[string, string, boolean]>([
  ['objects up to the limit are not too deep', nested(10), false],
  ['objects beyond the limit are too deep', nested(11), true],
  ['lists beyond the limit are too deep', `${'['.repeat(11)}${']'.repeat(11)}`, true],
  ['brackets in strings do not count', JSON.stringify({ a: '{['.repeat(20), b: '\\"{[{[{[{[{[{[{[' }), false],
  ['many objects side by side are not too deep', JSON.stringify(Array.from({ length: 50 }, () => ({ a: {} }))), false],
])('the depth of a JSON text is checked: %s', (_, text, isTooDeep) => {
  expect(isDeeperThan(text, 10)).toBe(isTooDeep)
})
