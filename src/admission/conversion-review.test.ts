import { expect, test } from 'vitest'
import { createHandler } from '../handler-definitions.ts'
import { findConversionPath } from './conversion-review.ts'

function handlersOf(...versions: readonly string[]) {
  return versions.map((one) => {
    const [from, to] = one.split('-')
    return createHandler('convert', 'widgets', { from, to, id: one }, () => {})
  })
}

const loop = ['v1-v2', 'v2-v3', 'v3-v1', 'v3-v4']

test.each<[string, string, readonly string[], readonly string[] | undefined]>([
  ['v1', 'v2', ['v1-v2'], ['v1-v2']],
  ['v1', 'v1', ['v1-v2'], []],
  ['v1', 'v1', [], []],
  ['v2', 'v1', ['v1-v2'], undefined],
  ['v1', 'v9', loop, undefined],
  ['v9', 'v1', loop, undefined],
  ['v1', 'v4', loop, ['v1-v2', 'v2-v3', 'v3-v4']],
  ['v2', 'v1', loop, ['v2-v3', 'v3-v1']],
  ['v1', 'v4', [...loop, 'v2-v4'], ['v1-v2', 'v2-v4']],
  ['v1', 'v4', ['v1-v2', 'v1-v3', 'v3-v4', 'v2-v4'], ['v1-v2', 'v2-v4']],
  ['v1', 'v4', ['v1-v3', 'v1-v2', 'v3-v4', 'v2-v4'], ['v1-v3', 'v3-v4']],
  ['v1', 'v3', ['v1-v2', 'v2-v3', 'v1-v3'], ['v1-v3']],
])('the conversion path from %s to %s with the handlers %j is %j', (from, to, known, expected) => {
  const route = findConversionPath(handlersOf(...known), from, to)
  expect(route?.map(({ conversion }) => `${conversion!.from}-${conversion!.to}`)).toEqual(expected)
})
