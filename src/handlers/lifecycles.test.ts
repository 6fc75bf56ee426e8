import { expect, test } from 'vitest'
import { createHandler } from '../handler-definitions.ts'
import { type DueHandler, defaultLifecycle, type Lifecycle, lifecycles } from './lifecycles.ts'

const handlers = ['a', 'b', 'c'].map((id) => createHandler('create', 'kopfexamples', { id }, () => undefined))
const retries: Record<string, number> = { a: 2, b: 1, c: 1 }

function run(lifecycle: Lifecycle, random = 0, given: readonly DueHandler[] = handlers): string {
  const context = { retriesOf: ({ id }: DueHandler) => retries[id] ?? 0, random: () => random }
  return lifecycle(given, context)
    .map(({ id }) => id)
    .join('')
}

test.each<[keyof typeof lifecycles, number, string]>([
  ['allAtOnce', 0, 'abc'],
  ['oneByOne', 0, 'a'],
  ['randomized', 0, 'a'],
  ['randomized', 0.5, 'b'],
  ['randomized', 0.999, 'c'],
  ['shuffled', 0.999, 'abc'],
  ['shuffled', 0, 'bca'],
  ['asap', 0, 'b'],
])('the lifecycle %s with the random number %d picks %s', (name, random, picked) => {
  expect(run(lifecycles[name], random)).toBe(picked)
})

test.each(Object.entries(lifecycles))(
  'the lifecycle %s picks nothing from an empty list and never changes the list',
  (_name, lifecycle) => {
    expect(run(lifecycle, 0.5, [])).toBe('')
    run(lifecycle, 0.1)
    expect(handlers.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  },
)

test('the default lifecycle is allAtOnce', () => {
  expect(defaultLifecycle).toBe(lifecycles.allAtOnce)
})
