/** Results of steps as they are read from an object that another client has edited. */
import { expect, test } from 'vitest'
import { expectLinearGrowth } from '../../../test/support/growth.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { StatusProgressStorage } from '../persistence/progress-storage.ts'
import { StepLedger, type StepSeal } from './step-ledger.ts'
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

/** The object after the patch. */
function stored(ledger: StepLedger): KubeObject {
  const patch: JsonObject = {}
  ledger.store(objectWith({}), patch)
  return { ...objectWith({}), ...patch } as KubeObject
}

function read(body: KubeObject, ids: readonly string[]): StepLedger {
  const ledger = new StepLedger(storage, 5000)
  ledger.read(ids, body, undefined)
  return ledger
}

test('a result that was stored counts for the run and the spec it was made in', async () => {
  const ledger = new StepLedger(storage, 2000)
  ledger.note('fn/a', run, { result: '1', nowMs: 2000, seal })
  const body = stored(ledger)
  expect(await read(body, ['fn/a']).recall('fn/a', run, seal)).toBe('1')
  expect(await read(body, ['fn/a']).recall('fn/a', { ...run, startedMs: 1001 }, seal)).toBe(undefined)
  expect(await read(body, ['fn/a']).recall('fn/a', { ...run, purpose: 'delete' }, seal)).toBe(undefined)
  expect(await read(body, ['fn/a']).recall('fn/a', run, sealFor('two'))).toBe(undefined)
})

test('this process goes on with its own result when the spec changes, and signs it for the new spec', async () => {
  const ledger = new StepLedger(storage, 2000)
  ledger.note('fn/a', run, { result: '1', nowMs: 2000, seal })
  const next = new StepLedger(storage, 3000)
  next.read(['fn/a'], stored(ledger), new Map(ledger.entries()))
  expect(await next.recall('fn/a', run, sealFor('two'))).toBe('1')
  expect(await read(stored(next), ['fn/a']).recall('fn/a', run, sealFor('two'))).toBe('1')
})

test('what this process remembers is not changed by edits of the object', async () => {
  const ledger = new StepLedger(storage, 2000)
  ledger.note('fn/a', run, { result: '1', nowMs: 2000, seal })
  const forged = objectWith({ 'fn/a': { started: '1970-01-01T00:00:01Z', success: true, result: '"forged"' } })
  const next = new StepLedger(storage, 3000)
  next.read(['fn/a'], forged, new Map(ledger.entries()))
  expect(await next.recall('fn/a', run, seal)).toBe('1')
})

test('a result that does not count is neither remembered nor left on the object', async () => {
  const started = '1970-01-01T00:00:01Z'
  const body = objectWith({ 'fn/a': { started, purpose: 'create', success: true, result: '"forged"' } })
  const ledger = read(body, ['fn/a'])
  expect(await ledger.recall('fn/a', run, seal)).toBe(undefined)
  expect([...ledger.entries()]).toEqual([])
  ledger.forget(['fn/a'])
  const patch: JsonObject = {}
  ledger.store(body, patch)
  expect(patch).toEqual({ status: { kopf: { progress: { 'fn/a': null } } } })
})

test.each(['__proto__', 'constructor', 'toString', 'fn/__proto__', ''])(
  'the id %j is one like any other',
  async (id) => {
    const ledger = read(objectWith({}), [id])
    expect(await ledger.recall(id, run, seal)).toBe(undefined)
    ledger.note(id, run, { result: '1', nowMs: 1, seal })
    expect(await ledger.recall(id, run, seal)).toBe('1')
    expect(({} as Record<string, unknown>)['result']).toBe(undefined)
  },
)

test('the work grows in proportion to the number of forged results', async () => {
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
      const ledger = read(body, ids)
      for (const id of ids) await ledger.recall(id, run, seal)
      ledger.forget(ids)
      ledger.store(body, {})
    },
  })
})
