import { expect, test } from 'vitest'
import { summarizeNames } from './embedded.ts'

function names(resource: string, count: number): string[] {
  return Array.from({ length: count }, (_, number) => `${resource}/${number}`)
}

test('the summary of a few names lists every name', () => {
  const few = [...names('pods', 15), ...names('nodes', 5)]
  expect(summarizeNames(few)).toEqual(few)
})

test('the summary of many names counts the objects of a resource with many names and lists the names of the others', () => {
  const definition = 'customresourcedefinitions.apiextensions.k8s.io/widgets.example.com'
  expect(summarizeNames([definition, ...names('pods', 3000), 'nodes/a', ...names('pods', 1)])).toEqual([
    definition,
    '3,001 pods',
    'nodes/a',
  ])
})
