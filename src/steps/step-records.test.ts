/** Step results read from an object that another client has edited. */
import { expect, test } from 'vitest'
import { expectLinearGrowth } from '../../test/support/growth.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { StatusProgressStorage } from '../persistence/progress-storage.ts'
import { StepRecords, type StepSeal } from './step-records.ts'
import { StepKeyring } from './step-signatures.ts'

const run = { startedMs: 1000, purpose: 'create' } as const
const keyring = new StepKeyring([new Uint8Array(32).fill(1)])

function sealFor(spec: string): StepSeal {
  const toClaim = (key: string, { startedMs, result = '' }: { startedMs: number; result?: string | undefined }) => ({
    ...{ type: 'change' as const, group: '', plural: 'p', namespace: 'n', name: 'o', uid: 'u', isDeletion: false },
    ...{ key, startedMs, spec, result },
  })
  return {
    open: async () => {},
    sign: (id, progress) => keyring.sign(toClaim(id, progress)),
    verify: async (id, progress) => keyring.verify(toClaim(id, progress), progress.signature) === 'valid',
  }
}

const seal = sealFor('one')
const storage = new StatusProgressStorage()

function objectWith(progress: JsonObject): KubeObject {
  return { apiVersion: 'v1', kind: 'P', metadata: { name: 'o' }, status: { kopf: { progress } } } as KubeObject
}

/** Returns the object after the patch. */
function stored(records: StepRecords): KubeObject {
  const patch: JsonObject = {}
  records.store(objectWith({}), patch)
  return { ...objectWith({}), ...patch } as KubeObject
}

function read(body: KubeObject, ids: readonly string[]): StepRecords {
  const records = new StepRecords(storage, 5000)
  records.read(ids, body, undefined)
  return records
}

test('a stored step result is valid for the run and the spec that it was made in', async () => {
  const records = new StepRecords(storage, 2000)
  records.note('fn/a', run, { result: '1', nowMs: 2000, seal })
  const body = stored(records)
  expect(await read(body, ['fn/a']).recall('fn/a', run, seal)).toBe('1')
  expect(await read(body, ['fn/a']).recall('fn/a', { ...run, startedMs: 1001 }, seal)).toBe(undefined)
  expect(await read(body, ['fn/a']).recall('fn/a', { ...run, purpose: 'delete' }, seal)).toBe(undefined)
  expect(await read(body, ['fn/a']).recall('fn/a', run, sealFor('two'))).toBe(undefined)
})

test('a step result of this process stays valid when the spec changes, and is signed for the new spec', async () => {
  const records = new StepRecords(storage, 2000)
  records.note('fn/a', run, { result: '1', nowMs: 2000, seal })
  const next = new StepRecords(storage, 3000)
  next.read(['fn/a'], stored(records), new Map(records.entries()))
  expect(await next.recall('fn/a', run, sealFor('two'))).toBe('1')
  expect(await read(stored(next), ['fn/a']).recall('fn/a', run, sealFor('two'))).toBe('1')
})

test('a step result in memory is not changed by edits of the object', async () => {
  const records = new StepRecords(storage, 2000)
  records.note('fn/a', run, { result: '1', nowMs: 2000, seal })
  const forged = objectWith({ 'fn/a': { started: '1970-01-01T00:00:01Z', success: true, result: '"forged"' } })
  const next = new StepRecords(storage, 3000)
  next.read(['fn/a'], forged, new Map(records.entries()))
  expect(await next.recall('fn/a', run, seal)).toBe('1')
})

test('an invalid step result is neither remembered nor left on the object', async () => {
  const started = '1970-01-01T00:00:01Z'
  const body = objectWith({ 'fn/a': { started, purpose: 'create', success: true, result: '"forged"' } })
  const records = read(body, ['fn/a'])
  expect(await records.recall('fn/a', run, seal)).toBe(undefined)
  expect([...records.entries()]).toEqual([])
  records.forget(['fn/a'])
  const patch: JsonObject = {}
  records.store(body, patch)
  expect(patch).toEqual({ status: { kopf: { progress: { 'fn/a': null } } } })
})

test.each(['__proto__', 'constructor', 'toString', 'fn/__proto__', ''])(
  'the step id %j is handled like any other id',
  async (id) => {
    const records = read(objectWith({}), [id])
    expect(await records.recall(id, run, seal)).toBe(undefined)
    records.note(id, run, { result: '1', nowMs: 1, seal })
    expect(await records.recall(id, run, seal)).toBe('1')
    expect(({} as Record<string, unknown>)['result']).toBe(undefined)
  },
)

test('the work of reading forged step results grows linearly with their number', async () => {
  await expectLinearGrowth({
    n: 1000,
    prepare: (n) => {
      const ids = Array.from({ length: n }, (_, index) => `fn/${index}`)
      const record = {
        started: '1970-01-01T00:00:01Z',
        success: true,
        result: '1',
        signature: `v1.${'0'.repeat(16)}.${'A'.repeat(43)}`,
      }
      return { ids, body: objectWith(Object.fromEntries(ids.map((id) => [id, record]))) }
    },
    run: async ({ ids, body }) => {
      const records = read(body, ids)
      for (const id of ids) await records.recall(id, run, seal)
      records.forget(ids)
      records.store(body, {})
    },
  })
})
