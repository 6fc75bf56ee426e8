/** Forged handler records: as many as fit on an object. */
import { Operator } from 'kopf'
import { test } from 'vitest'
import { expectLinearGrowth, widen } from '../../test/support/growth.ts'
import type { Cause, Essence } from '../causation/cause.ts'
import { diffEssences } from '../causation/diff.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { StatusDiffBaseStorage } from '../persistence/diffbase-storage.ts'
import { StatusProgressStorage } from '../persistence/progress-storage.ts'
import { systemClock } from '../util/async/clock.ts'
import { createLogger } from '../util/log/log.ts'
import { HandlingPlan, type HandlingPlanOptions } from './plan.ts'

const kopf = new Operator({
  settings: {
    persistence: { progressStorage: new StatusProgressStorage(), diffbaseStorage: new StatusDiffBaseStorage() },
  },
})
kopf.on.update('widgets', { id: 'fn' }, () => {})
kopf.on.delete('widgets', { id: 'bye' }, () => {})

const resource = { group: '', version: 'v1', plural: 'widgets', kind: 'Widget' } as Resource
const silent = createLogger({ write: () => {}, minimumLevel: 'error' } as never, 'test')

/** The options of a handling cycle for an object with the given records and a spec of n fields. */
function optionsOf(n: number, progress: JsonObject, seen: JsonObject = {}): HandlingPlanOptions {
  const essence: Essence = { spec: widen(n) } as Essence
  const kept = { progress, 'seen-configurations': JSON.stringify(seen) }
  const body = { apiVersion: 'v1', kind: 'Widget', metadata: { name: 'w' }, ...essence, status: { kopf: kept } }
  const old: Essence = { spec: widen(n, { value: 'y' }) } as Essence
  const cause: Cause = { reason: 'update', initial: false, old, new: essence, diff: diffEssences(old, essence) }
  return {
    cause,
    body: body as unknown as KubeObject,
    owned: kopf.registry.handlers,
    matchContextOf: (rest) => ({ ...rest, resource, body: body as unknown as KubeObject, args: () => ({}) }),
    settings: kopf.settings,
    clock: systemClock,
    logger: silent,
    remembered: undefined,
  }
}

function handle(options: HandlingPlanOptions): void {
  const plan = new HandlingPlan(options)
  plan.prepare('update')
  plan.reopen('update')
  plan.store(options.body, {})
  plan.purge(options.body, {})
}

const idsOf = (n: number) => Array.from({ length: n }, (_, index) => `bye/${index}`)

test('the work of planning grows linearly with the number of sub-handlers that a record names', async () => {
  await expectLinearGrowth({
    n: 1000,
    prepare: (n) => optionsOf(n, { bye: { purpose: 'create', subrefs: idsOf(n) }, fn: { subrefs: idsOf(n) } }),
    run: handle,
  })
})

test('a record may name more sub-handlers than a function takes arguments', () => {
  handle(optionsOf(1, { bye: { purpose: 'create', subrefs: idsOf(150_000) } }))
})

test('the work of planning grows linearly with the number of records of sub-handlers', async () => {
  await expectLinearGrowth({
    n: 500,
    prepare: (n) => {
      const records = idsOf(n).map((id) => [id, { purpose: 'create', success: true }])
      return optionsOf(n, { bye: { subrefs: idsOf(n) }, ...Object.fromEntries(records) })
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
        return optionsOf(n, { bye: { subrefs: idsOf(n) }, ...Object.fromEntries(records) }, seen)
      },
      run: handle,
    })
  },
)
