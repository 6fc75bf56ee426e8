import { expect, test } from 'vitest'
import { suggestName } from './did-you-mean.ts'

const known = ['workerLimit', 'idleTimeout', 'exitTimeout', 'errorDelays', 'id']

test.each([
  ['workerLimt', 'workerLimit'],
  ['worker_limit', 'workerLimit'],
  ['WORKERLIMIT', 'workerLimit'],
  ['errorDelay', 'errorDelays'],
  ['Id', 'id'],
  ['di', 'id'],
  ['wrokerLimit', 'workerLimit'],
  ['somethingElse', undefined],
  ['', undefined],
  ['x'.repeat(100_000), undefined],
])('the suggestion for the name %j is %j', (given, meant) => {
  expect(suggestName(given, known)).toBe(meant)
})
