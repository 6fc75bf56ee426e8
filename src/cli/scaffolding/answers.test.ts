import { expect, test } from 'vitest'
import { checkApiGroup, checkKind } from './answers.ts'

test.each([
  ['Database', undefined],
  ['ABTest2', undefined],
  ['database', { problem: expect.stringContaining('CamelCase'), suggestion: 'Database' }],
  ['my-database', { problem: expect.stringContaining('CamelCase'), suggestion: 'MyDatabase' }],
  ['data base', { problem: expect.stringContaining('CamelCase'), suggestion: 'DataBase' }],
  ['Façade', { problem: expect.stringContaining('CamelCase'), suggestion: 'Facade' }],
  ['123', { problem: expect.stringContaining('CamelCase'), suggestion: undefined }],
  ['', { problem: expect.stringContaining('CamelCase'), suggestion: undefined }],
  ['Operator', { problem: 'operator.ts uses the name "Operator" for something else' }],
])('the kind %j is checked, and corrected if possible', (kind, expected) => {
  expect(checkKind(kind)).toEqual(expected)
})

test.each([
  ['example.com', undefined],
  ['db.example-1.com', undefined],
  ['Example.COM', { problem: expect.stringContaining('domain'), suggestion: 'example.com' }],
  ['https://example.com/databases', { problem: expect.stringContaining('domain'), suggestion: 'example.com' }],
  ['example', { problem: expect.stringContaining('with a dot'), suggestion: undefined }],
  ['...', { problem: expect.stringContaining('domain'), suggestion: undefined }],
  ['databases.k8s.io', { problem: expect.stringContaining('reserved for Kubernetes') }],
])('the API group %j is checked, and corrected if possible', (group, expected) => {
  expect(checkApiGroup(group)).toEqual(expected)
})
