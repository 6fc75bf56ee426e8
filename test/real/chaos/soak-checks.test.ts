/** The checks of the soak find the problems that they are for. */
import { expect, test } from 'vitest'
import type { Body } from '../../support/answers.ts'
import { checkObject, lastHandled } from './check-object.ts'
import { checkJournal, type Entry } from './handler-journal.ts'

const entry: Entry = {
  life: 1,
  handler: 'born',
  uid: 'a',
  name: 'w',
  retry: 0,
  value: 1,
  version: '5',
  phase: 'begun',
}
const done: Entry = { ...entry, phase: 'done' }
const cleaning: Entry = { ...entry, handler: 'cleanup', version: '7' }
const cleaned: Entry = { ...cleaning, phase: 'done' }
const other: Entry = { ...entry, uid: 'b', version: '9' }

const cases: ReadonlyArray<readonly [string, readonly Entry[], readonly string[], number]> = [
  ['a complete run', [entry, done, cleaning, cleaned], [], 0],
  ['two handlers at once', [entry, cleaning, done, cleaned], [], 2],
  ['a call with an older state', [entry, done, { ...cleaning, version: '4' }, cleaned], [], 1],
  ['a deletion without a clean-up', [entry, done], [], 1],
  ['a creation done twice', [entry, done, entry, done], ['a'], 1],
  ['a creation done again after a kill', [entry, done, { ...entry, life: 2 }, { ...done, life: 2 }], ['a'], 0],
  ['a clean-up after the successor was handled', [entry, done, other, cleaning, cleaned], ['b'], 2],
]

test.each(cases)('the journal check finds the right number of problems in %s', (_, entries, alive, problems) => {
  expect(checkJournal(entries, new Set(alive))).toHaveLength(problems)
})

const status = { born: { uid: 'a', value: 1 }, updated: { value: 2 }, sized: 2, resumed: 3 }
const annotations = { [lastHandled]: '{"spec":{"value":2}}' }
const metadata = { name: 'w', uid: 'a', annotations }
const good = { metadata, spec: { value: 2 }, status }

const objects: ReadonlyArray<readonly [string, object, string | undefined]> = [
  ['without problems', {}, undefined],
  [
    'that was never updated',
    { spec: { value: 1 }, status: { ...status, updated: undefined } },
    'has the size 2, not 1',
  ],
  ['with an old size', { status: { ...status, sized: 1 } }, 'has the size 1, not 2'],
  ['with an old update', { status: { ...status, updated: { value: 1 } } }, 'was updated to 1, not 2'],
  ['with the status of its predecessor', { status: { ...status, born: { uid: 'b' } } }, 'was never born'],
  ['that was not resumed', { status: { ...status, resumed: 2 } }, 'was resumed by 2, not by 3'],
  ['without a status', { status: undefined }, 'was never born'],
  ['that is not handled', { metadata: { ...metadata, annotations: {} } }, 'does not count as handled'],
  [
    'with progress left',
    { metadata: { ...metadata, annotations: { ...annotations, 'kopf.zalando.org/born': '{}' } } },
    'kopf.zalando.org/born left',
  ],
  ['that is not deleted', { metadata: { ...metadata, deletionTimestamp: 'now' } }, 'is still there'],
]

test.each(objects)('the object check judges an object %s', (_, changes, problem) => {
  const body = { ...good, ...changes } as unknown as Body
  const problems = checkObject(body, { life: 3, isInherited: true })
  expect(problems).toEqual(problem === undefined ? [] : [expect.stringContaining(problem)])
})
