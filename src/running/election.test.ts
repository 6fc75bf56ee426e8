import { expect, test } from 'vitest'
import { createSettings, type PartialSettings } from '../core/settings.ts'
import { toElection } from './election.ts'

const pod = { name: 'databases', namespace: 'operators' }

function electionOf(given: NonNullable<PartialSettings['election']>, whereabouts: Partial<typeof pod> = pod) {
  const { name, namespace } = whereabouts
  return toElection(createSettings({ election: given }).election, { name, namespace })
}

test('the Lease is named after the operator, where the operator runs', () => {
  expect(electionOf({})).toEqual({
    key: { name: 'databases', namespace: 'operators' },
    leaseDurationMs: 15_000,
    renewDeadlineMs: 10_000,
    retryPeriodMs: 2000,
  })
})

test('or as the settings say', () => {
  expect(electionOf({ name: 'other', namespace: 'elsewhere' }, {}).key).toEqual({
    name: 'other',
    namespace: 'elsewhere',
  })
})

const refused: ReadonlyArray<readonly [string, Parameters<typeof electionOf>, string]> = [
  ['no name', [{}, { namespace: 'x' }], 'settings.election.name'],
  ['a name that no Lease can have', [{}, { name: 'My Operator', namespace: 'x' }], 'cannot be that of a Lease'],
  ['no namespace', [{}, { name: 'x' }], 'settings.election.namespace'],
  ['a deadline after the end', [{ renewDeadline: '15s' }], 'shorter than "leaseDuration" (15s)'],
  ['a single attempt', [{ retryPeriod: '9s' }], 'well below "renewDeadline" (10s)'],
  ['no pause at all', [{ retryPeriod: 0 }], 'more than 0'],
]

test.each(refused)('%s is refused, with what would be right', (_, args, words) => {
  expect(() => electionOf(...args)).toThrow(
    expect.objectContaining({ code: 'KOPF_ELECTION', message: expect.stringContaining(words) }),
  )
})
