import { expect, test } from 'vitest'
import { isOlder, laterVersion } from './resource-version.ts'

test.each([
  ['1', '2', true],
  ['2', '1', false],
  ['2', '2', false],
  ['9', '10', true],
  ['10', '9', false],
  ['0', '1', true],
  ['9007199254740992', '9007199254740993', true],
  ['9007199254740993', '9007199254740992', false],
  ['99999999999999999999999999', '100000000000000000000000000', true],
  ['', '1', false],
  ['1', '', false],
  ['abc', 'abd', false],
  ['01', '2', false],
  [undefined, '1', false],
  ['1', undefined, false],
])('the resource version %s is older than %s: %s', (version, than, expected) => {
  expect(isOlder(version, than)).toBe(expected)
})

test.each([
  [undefined, '5', '5'],
  ['5', '7', '7'],
  ['7', '5', '7'],
  ['a', 'b', 'b'],
])('the later of the resource versions %s and %s is %s', (known, next, expected) => {
  expect(laterVersion(known, next)).toBe(expected)
})
