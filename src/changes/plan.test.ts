/** Forged handler records: as many as fit on an object. */
import { Operator } from 'kopf'
import { test } from 'vitest'
import { expectLinearGrowth, widen } from '../../test/support/growth.ts'
import type { Cause, Essence } from '../causation/cause.ts'
import { diffEssences } from '../causation/diff.ts'
import { createHandler } from '../handler-definitions.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { StatusDiffBaseStorage } from '../persistence/diffbase-storage.ts'
import { StatusProgressStorage } from '../persistence/progress-storage.ts'
import { noCalls } from './cycle-calls.ts'
import { type PlanInput, plan, readState, reopen } from './plan.ts'
import { SeenStates } from './seen-states.ts'
import { purgeState, readProgress, storeState } from './stored-state.ts'

const kopf = new Operator({
  settings: {
    persistence: { progressStorage: new StatusProgressStorage(), diffbaseStorage: new StatusDiffBaseStorage() },
  },
})
const handlers = [
  createHandler('update', 'widgets', { id: 'fn' }, () => {}),
  createHandler('delete', 'widgets', { id: 'bye' }, () => {}),
]

const resource = { group: '', version: 'v1', plural: 'widgets', kind: 'Widget' } as Resource

interface PlannedObject {
  readonly body: KubeObject
  readonly input: PlanInput
}

/** An object with the given records and a spec of n fields, and the facts for its plan. */
function objectOf(n: number, progress: JsonObject, seen: JsonObject = {}): PlannedObject {
  const essence: Essence = { spec: widen(n) } as Essence
  const kept = { progress, 'seen-configurations': JSON.stringify(seen) }
  const body = {
    ...{ apiVersion: 'v1', kind: 'Widget', metadata: { name: 'w' } },
    ...essence,
    status: { kopf: kept },
  } as unknown as KubeObject
  const old: Essence = { spec: widen(n, { value: 'y' }) } as Essence
  const cause: Cause = { reason: 'update', initial: false, old, new: essence, diff: diffEssences(old, essence) }
  const { progressStorage: storage, diffbaseStorage } = kopf.settings.persistence
  const input: PlanInput = {
    cause,
    owned: handlers,
    matchContextOf: (rest) => ({ ...rest, resource, body, args: () => ({}) }),
    seenStates: new SeenStates(cause, body, diffbaseStorage),
    read: (id) => readProgress({ storage, body, remembered: undefined, nowMs: 0 }, id),
    isStep: () => false,
    isRemembered: false,
    now: () => 0,
  }
  return { body, input }
}

function handle({ body, input }: PlannedObject): void {
  const { state: planned } = plan(readState(input), input, 'update')
  const { state } = reopen(planned, input, { reason: 'update', calls: noCalls })
  const target = { storage: kopf.settings.persistence.progressStorage, body, patch: {} }
  storeState(state, target)
  purgeState(
    state,
    handlers.map(({ id }) => id),
    target,
  )
}

const idsOf = (n: number) => Array.from({ length: n }, (_, index) => `bye/${index}`)

test('the work of planning grows linearly with the number of sub-handlers that a record names', async () => {
  await expectLinearGrowth({
    n: 1000,
    prepare: (n) => objectOf(n, { bye: { purpose: 'create', subrefs: idsOf(n) }, fn: { subrefs: idsOf(n) } }),
    run: handle,
  })
})

test('a record may name more sub-handlers than a function takes arguments', () => {
  handle(objectOf(1, { bye: { purpose: 'create', subrefs: idsOf(150_000) } }))
})

test('the work of planning grows linearly with the number of records of sub-handlers', async () => {
  await expectLinearGrowth({
    n: 500,
    prepare: (n) => {
      const records = idsOf(n).map((id) => [id, { purpose: 'create', success: true }])
      return objectOf(n, { bye: { subrefs: idsOf(n) }, ...Object.fromEntries(records) })
    },
    run: handle,
  })
})

test.each(['unknown', 'known'])(
  'the work of planning grows linearly with the number of %s states that handlers have seen',
  async (what) => {
    await expectLinearGrowth({
      n: 200,
      prepare: (n) => {
        const records = idsOf(n).map((id, index) => [
          id,
          { success: true, seen: `d${index}`, stopped: `20${10 + (index % 80)}-01-01T00:00:00Z` },
        ])
        const seen = what === 'known' ? Object.fromEntries(idsOf(n).map((_, index) => [`d${index}`, { spec: {} }])) : {}
        return objectOf(n, { bye: { subrefs: idsOf(n) }, ...Object.fromEntries(records) }, seen)
      },
      run: handle,
    })
  },
)
