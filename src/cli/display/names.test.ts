import { expect, test } from 'vitest'
import { summarizeNames } from './names.ts'

function names(resource: string, count: number): string[] {
  return Array.from({ length: count }, (_, number) => `${resource}/${number}`)
}

test('what fits on a screen is told by name', () => {
  const few = [...names('pods', 15), ...names('nodes', 5)]
  expect(summarizeNames(few)).toEqual(few)
})

test('of more than that, few of a resource keep their names, and many become their number', () => {
  const definition = 'customresourcedefinitions.apiextensions.k8s.io/widgets.example.com'
  expect(summarizeNames([definition, ...names('pods', 3000), 'nodes/a', ...names('pods', 1)])).toEqual([
    definition,
    '3,001 pods',
    'nodes/a',
  ])
})
