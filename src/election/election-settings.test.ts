import { expect, test } from 'vitest'
import { createSettings, type PartialSettings } from '../settings/settings.ts'
import { toElectionOptions } from './election-settings.ts'

const pod = { name: 'databases', namespace: 'operators' }

function electionOf(given: NonNullable<PartialSettings['election']>, whereabouts: Partial<typeof pod> = pod) {
  const { name, namespace } = whereabouts
  return toElectionOptions(createSettings({ election: given }).election, { name, namespace })
}

test('the Lease has the name and the namespace of the operator by default', () => {
  expect(electionOf({})).toEqual({
    key: { name: 'databases', namespace: 'operators' },
    leaseDurationMs: 15_000,
    renewDeadlineMs: 10_000,
    retryPeriodMs: 2000,
  })
})

test('the Lease has the name and the namespace of the settings', () => {
  expect(electionOf({ name: 'other', namespace: 'elsewhere' }, {}).key).toEqual({
    name: 'other',
    namespace: 'elsewhere',
  })
})

const refused: ReadonlyArray<readonly [string, Parameters<typeof electionOf>, string]> = [
  ['no name', [{}, { namespace: 'x' }], 'settings.election.name'],
  ['an invalid Lease name', [{}, { name: 'My Operator', namespace: 'x' }], 'is not a valid name of a Lease'],
  ['no namespace', [{}, { name: 'x' }], 'settings.election.namespace'],
  ['a renew deadline as long as the lease duration', [{ renewDeadline: '15s' }], 'shorter than "leaseDuration" (15s)'],
  ['a retry period that allows a single attempt', [{ retryPeriod: '9s' }], 'well below "renewDeadline" (10s)'],
  ['a zero retry period', [{ retryPeriod: 0 }], 'more than 0'],
]

test.each(refused)('an election with %s is refused with an explanation', (_, args, words) => {
  expect(() => electionOf(...args)).toThrow(
    expect.objectContaining({ code: 'KOPF_ELECTION', message: expect.stringContaining(words) }),
  )
})
