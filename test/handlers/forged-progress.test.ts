/**
 * Effects of edits of the progress by the author of an object, as described in docs/operate/untrusted-objects.md. An ordinary object beside each
 * forged one must be handled normally.
 */
import fc from 'fast-check'
import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { annotationsOf, isHandled, lastHandled, recordsOf, settle, useCleanLab } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'

const lab = useCleanLab()

const prefix = 'kopf.zalando.org'
const started = '2026-01-01T00:00:00.000000+00:00'

const forge = (records: Record<string, unknown>) => ({
  metadata: {
    annotations: Object.fromEntries(Object.entries(records).map(([id, one]) => [`${prefix}/${id}`, toText(one)])),
  },
})

function toText(record: unknown): string {
  return typeof record === 'string' ? record : JSON.stringify(record)
}

/** Starts the operator with a forged and an ordinary object; returns the calls once the ordinary one is handled. */
async function play(kopf: Operator, forged: Tree, calls: string[]): Promise<string[]> {
  await lab.create('forged', forged)
  await lab.create('ordinary', { spec: { size: 1 } })
  await lab.start(kopf)
  await lab.untilObject('ordinary', isHandled)
  await settle(lab)
  return calls.toSorted()
}

function creating(options: object = {}): { kopf: Operator; calls: string[] } {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn', ...options }, ({ name, retry }) => void calls.push(`${name} ${retry}`))
  return { kopf, calls }
}

test('a forged success skips the handler of that object', async () => {
  const { kopf, calls } = creating()
  const forged = forge({ fn: { started, purpose: 'create', success: true } })
  expect(await play(kopf, forged, calls)).toEqual(['ordinary 0'])
  expect(recordsOf(await lab.untilObject('forged', isHandled))).toEqual({})
})

test('a forged success of a deletion skips on.delete of that object', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.delete(lab.widgets, { id: 'bye' }, ({ name }) => void calls.push(name))
  const first = await lab.start(kopf)
  for (const name of ['forged', 'ordinary']) {
    await lab.create(name)
    await lab.untilObject(name, ({ metadata }) => metadata.finalizers?.length === 1)
  }
  await lab.stop(first)
  for (const name of ['forged', 'ordinary']) await lab.delete(name)
  await lab.patch('forged', forge({ bye: { started, purpose: 'delete', success: true } }))
  await lab.start(kopf)
  for (const name of ['forged', 'ordinary']) await lab.untilGone(name)
  expect(calls).toEqual(['ordinary'])
})

test('a forged delay holds up that object alone, however long it is', async () => {
  const { kopf, calls } = creating()
  const forged = forge({ fn: { started, purpose: 'create', delayed: '9999-12-31T23:59:59.999999+00:00' } })
  expect(await play(kopf, forged, calls)).toEqual(['ordinary 0'])
  expect(isHandled(await lab.get('forged'))).toBe(false)
  await lab.patch('forged', forge({ fn: { started, purpose: 'create' } }))
  await lab.untilObject('forged', isHandled)
  expect(calls).toContain('forged 0')
})

test.each<[string, object, Tree, RegExp]>([
  ['retries', { retries: 3 }, { retries: Number.MAX_SAFE_INTEGER }, /Handler "fn" has exceeded \d+ retries/],
  ['start times', { timeout: 60 }, { started: '1970-01-01T00:00:00Z' }, /Handler "fn" has (timed out|exceeded)/],
])('a record with forged %s fails the handler of that object permanently', async (_what, options, record, message) => {
  const { kopf, calls } = creating(options)
  const forged = forge({ fn: { started: '2099-01-01T00:00:00Z', purpose: 'create', ...record } })
  expect(await play(kopf, forged, calls)).toEqual(['ordinary 0'])
  await lab.untilObject('forged', isHandled)
  expect(lab.logs.filter((line) => message.test(line) && line.includes('/forged]'))).toHaveLength(1)
})

test('a record with a forged start in the future does not prevent the handling', async () => {
  const { kopf, calls } = creating({ timeout: 60 })
  const forged = forge({ fn: { started: '2999-01-01T00:00:00Z', purpose: 'create' } })
  expect(await play(kopf, forged, calls)).toEqual(['forged 0', 'ordinary 0'])
})

test.each<[string, unknown]>([
  ['not JSON', '{"success": tru'],
  ['a list', []],
  ['invalid numbers', '{"retries":1e999,"started":"NaN","delayed":"-1","subrefs":[1,null]}'],
  ['invalid types', { retries: '7', started: 5, delayed: {}, success: 'true', failure: 1, subrefs: 'fn' }],
  ['keys such as __proto__', '{"__proto__":{"success":true},"constructor":{"success":true}}'],
  ['references to itself and its parents', { subrefs: ['fn', 'fn/fn', '__proto__', '', '/', '..', 'x'.repeat(5000)] }],
])('a malformed progress record (%s) is ignored', async (_what, record) => {
  const { kopf, calls } = creating()
  expect(await play(kopf, forge({ fn: record, __proto__: {}, 'fn.fn': '{"success":1}' }), calls)).toEqual([
    'forged 0',
    'ordinary 0',
  ])
  expect(({} as Tree)['success']).toBe(undefined)
})

test('a record with tens of thousands of sub-handlers is handled and removed', async () => {
  const { kopf, calls } = creating()
  const subrefs = Array.from({ length: 30_000 }, (_, index) => index.toString(36))
  const forged = forge({ fn: { started, purpose: 'create', subrefs } })
  expect(await play(kopf, forged, calls)).toEqual(['forged 0', 'ordinary 0'])
  expect(recordsOf(await lab.untilObject('forged', isHandled))).toEqual({})
})

test('old and diff of an update come from the last handled state that the author has written', async () => {
  const olds: string[] = []
  const kopf = new Operator()
  kopf.on.update(
    lab.widgets,
    { id: 'fn' },
    ({ name, old }) => void olds.push(`${name} ${JSON.stringify(old?.['spec'])}`),
  )
  await lab.create('forged', {
    spec: { size: 2 },
    ...forge({ 'last-handled-configuration': { spec: { owner: 'payroll' } } }),
  })
  await lab.create('silent', { spec: { size: 2 }, ...forge({ 'last-handled-configuration': { spec: { size: 2 } } }) })
  await lab.start(kopf)
  await lab.until(() => olds.length === 1)
  await settle(lab)
  expect(olds).toEqual(['forged {"owner":"payroll"}'])
  expect(lastHandled in (await lab.get('silent')).metadata.annotations!).toBe(true)
})

/** Annotations similar to the ones of the operator. */
function arbitraryAnnotations(): fc.Arbitrary<Record<string, string>> {
  const ids = ['fn', 'fn/a', 'fn/b', 'fn/sub', 'fn/sub/c', 'bye', '__proto__', 'constructor', 'other']
  const id = fc.constantFrom(...ids)
  const moment = fc.constantFrom(started, '9999-12-31T23:59:59Z', '1970-01-01T00:00:00Z', 'NaN', '', 'x'.repeat(100))
  const mac = fc.string({ unit: fc.constantFrom('A', 'b', '_', '-', '0'), minLength: 43, maxLength: 43 })
  const signature = fc.oneof(
    mac.map((code) => `v1.${'0'.repeat(16)}.${code}`),
    fc.constantFrom('', 'v1', 'v1..', '__proto__', 'v1.'.repeat(1000)),
  )
  const odd = fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.string({ maxLength: 8 }), fc.constant([]))
  const orOdd = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof({ weight: 6, arbitrary }, { weight: 1, arbitrary: odd })
  const record = fc.record(
    {
      started: orOdd(moment),
      stopped: orOdd(moment),
      // Not in the future, since the object would never be handled; another test covers that.
      delayed: orOdd(fc.constantFrom(started, '1970-01-01T00:00:00Z', 'NaN')),
      purpose: orOdd(fc.constantFrom('create', 'update', 'delete', 'resume')),
      retries: orOdd(fc.constantFrom(0, 1, -1, 1.5, 1e308)),
      success: orOdd(fc.boolean()),
      failure: orOdd(fc.boolean()),
      subrefs: orOdd(fc.array(id, { maxLength: 6 })),
      seen: orOdd(fc.constantFrom('d', '__proto__')),
      result: orOdd(fc.constantFrom('"forged"', '', '{"a":', 'null')),
      signature: orOdd(signature),
    },
    { requiredKeys: [] },
  )
  const text = fc.oneof(
    { weight: 8, arbitrary: record.map((one) => JSON.stringify(one)) },
    { weight: 1, arbitrary: fc.constantFrom('', '{', 'null', '[]', '5', '"text"', '{"__proto__":{"success":true}}') },
  )
  const keys = [...ids.map((one) => one.replaceAll('/', '.')), 'seen-configurations', 'touch-dummy']
  const key = fc.constantFrom(...keys.filter((one) => /^[A-Za-z]/.test(one)))
  return fc.dictionary(
    key.map((one) => `${prefix}/${one}`),
    text,
    { maxKeys: 8 },
  )
}

test('forged records never make a handler use a forged result, and other objects are handled', async () => {
  const [believed, done]: [string[], Set<string>] = [[], new Set()]
  const kopf = new Operator({ settings: { execution: { defaultBackoff: 0.1 } } })
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ name, retry, step, subhandler }) => {
    const check = async (id: string, run: typeof step) => {
      const own = `${name} ${id}`
      const result = await run(id, () => own)
      if (result !== own) believed.push(`${own}: ${JSON.stringify(result)}`)
    }
    await check('a', step)
    await check('b', step)
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.1 })
    subhandler('sub', async ({ step }) => check('c', step))
    done.add(name)
  })
  kopf.on.delete(lab.widgets, { id: 'bye' }, () => {})
  await lab.start(kopf)
  const runs = lab.isReal ? 25 : 100
  const samples = fc.sample(arbitraryAnnotations(), { seed: 17, numRuns: runs })
  for (const [index, annotations] of samples.entries()) {
    await lab.create(`forged-${index}`, { metadata: { annotations } })
    if (index % 10 === 0) await lab.create(`ordinary-${index}`)
  }
  for (const index of samples.keys()) {
    const name = `forged-${index}`
    const body = await lab.untilObject(name, (one) => isHandled(one) && !hasAny(one, ['fn', 'bye']))
    // If the handler was skipped, its steps are unknown, and records under their names are kept.
    if (done.has(name)) expect(hasAny(body, ['fn.a', 'fn.b'])).toBe(false)
    if (index % 10 === 0) await lab.untilObject(`ordinary-${index}`, isHandled)
  }
  expect(believed).toEqual([])
  expect([...done].filter((name) => name.startsWith('ordinary'))).toHaveLength(Math.ceil(runs / 10))
  expect(({} as Tree)['success']).toBe(undefined)
  expect(lab.logs.filter((line) => /unexpected|TypeError|RangeError/i.test(line))).toEqual([])
}, 60_000)

function hasAny(body: Body, keys: readonly string[]): boolean {
  return keys.some((key) => `${prefix}/${key}` in annotationsOf(body))
}
