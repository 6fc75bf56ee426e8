/** Steps of reconcilers: each runs once until the reconciler returns without an error, and their records trigger no handlers. */
import { type Args, Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { annotationsOf, finalizer, recordsOf, settle } from '../support/handled.ts'
import { refusal } from '../support/recording.ts'
import { configMap, useReconcilingLab } from './reconciling-support.ts'

const { lab, reconciling } = useReconcilingLab()

test('reconciler steps run once until the reconciler returns without an error, and again in its next call', async () => {
  const kopf = new Operator()
  const effects: string[] = []
  const results: unknown[] = []
  kopf.reconcile(lab.widgets, { id: 'fn', cleanup: true }, async ({ step, retry, spec, deleting }) => {
    if (deleting) return
    const bucket = await step('bucket', () => `bucket-${effects.push('bucket')}`)
    await step('schedule', () => void effects.push('schedule'))
    results.push(bucket)
    if (retry < 2 && spec['n'] === 1) throw new TemporaryError('not yet', { delay: 0.1 })
  })
  await lab.start(kopf)
  await lab.create('once', { spec: { n: 1 } })
  await lab.until(() => results.length === 3)
  await lab.untilObject('once', (body) => Object.keys(recordsOf(body)).length === 0)
  await settle(lab)
  expect(effects).toEqual(['bucket', 'schedule'])
  expect(results).toEqual(['bucket-1', 'bucket-1', 'bucket-1'])
  await lab.patch('once', { spec: { n: 2 } })
  await lab.until(() => results.length === 4)
  await settle(lab)
  expect(effects).toEqual(['bucket', 'schedule', 'bucket', 'schedule'])
  expect(recordsOf(await lab.get('once'))).toEqual({})
})

test('reconciler steps have the records of sub-handlers, under the id of the reconciler', async () => {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { id: 'fn', cleanup: true }, async ({ step }) => {
    await step('a', () => ({ n: 1 }))
    throw new PermanentError('no')
  })
  await lab.start(kopf)
  await lab.create('records', { spec: {} })
  const body = await lab.untilObject('records', (found) => 'fn' in recordsOf(found))
  const { fn, 'fn.a': a } = recordsOf(body)
  expect(fn).toEqual({
    started: fn!['started'],
    purpose: 'update',
    retries: 0,
    success: false,
    failure: false,
    subrefs: ['fn/a'],
  })
  expect(a).toMatchObject({ started: fn!['started'], purpose: 'update', success: true, result: '{"n":1}' })
})

test('reconciler steps cost one write each except the last, and trigger no handlers', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.update(lab.widgets, { id: 'update' }, () => void calls.push('update'))
  kopf.on.create(lab.widgets, { id: 'create' }, () => void calls.push('create'))
  kopf.reconcile(lab.widgets, { id: 'fn', cleanup: true }, async ({ step, patch }) => {
    calls.push('reconcile')
    for (const id of ['a', 'b', 'c']) await step(id, () => id)
    patch.metadata.labels['done'] = 'yes'
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('counted', { spec: {} })
  await lab.untilObject('counted', (body) => body.metadata.labels?.['done'] === 'yes')
  await settle(lab)
  // Step writes: a, b, and the end with the label. The finalizer and the handled state are other writes.
  const ofSteps = transport.writes('/counted').filter(({ body }) => JSON.stringify(body).includes('/fn'))
  expect(ofSteps).toHaveLength(3)
  expect(calls.filter((call) => call !== 'update')).toEqual(['create', 'reconcile'])
  // The label of the reconciler is a change.
  expect(calls.filter((call) => call === 'update')).toHaveLength(1)
  expect(recordsOf(await lab.get('counted'))).toEqual({})
})

test('a single reconciler step costs no write', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.reconcile(lab.widgets, { cleanup: true }, async ({ step }) => {
    await step('a', () => 1)
    calls += 1
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('cheap', { spec: {} })
  await lab.until(() => calls === 1)
  await settle(lab)
  expect(transport.writes('/cheap')).toHaveLength(1)
  expect(calls).toBe(1)
})

test('reconciler steps of a deletion run once until the object is released, and ignore the steps from before', async () => {
  const kopf = new Operator()
  const effects: string[] = []
  let isHeld = true
  kopf.reconcile(lab.widgets, { id: 'fn', owns: ['configmaps'], cleanup: true }, async ({ step, deleting, retry }) => {
    await step('a', () => void effects.push(deleting ? 'undo a' : 'a'))
    await step('b', () => void effects.push(deleting ? 'undo b' : 'b'))
    if (!deleting) throw new TemporaryError('never', { delay: 600 })
    if (retry === 0 && isHeld) throw new TemporaryError('not yet', { delay: 0.1 })
    return undefined
  })
  await reconciling.create(configMap('end-child'))
  await lab.start(kopf)
  await lab.create('end', { spec: {} })
  await lab.untilObject('end', (body) => 'fn.b' in recordsOf(body))
  expect(recordsOf(await lab.get('end'))).toMatchObject({ fn: { subrefs: ['fn/a', 'fn/b'] } })
  await lab.patch('end', { metadata: { finalizers: [finalizer, 'example.com/other'] } })
  await lab.delete('end')
  isHeld = false
  const body = await lab.untilObject('end', ({ metadata }) => metadata.finalizers?.length === 1)
  expect(recordsOf(body)).toEqual({})
  expect(effects).toEqual(['a', 'b', 'undo a', 'undo b'])
  await lab.patch('end', { metadata: { finalizers: null } })
  await lab.untilGone('end')
  await reconciling.delete('end-child')
})

test('reconciler steps of a deletion are not repeated while children are being deleted', async () => {
  const kopf = new Operator()
  const effects: string[] = []
  let calls = 0
  kopf.reconcile(lab.widgets, { id: 'fn', owns: ['configmaps'], cleanup: true }, async ({ step, deleting }) => {
    if (!deleting) return { children: [configMap('slow', {}, { finalizers: ['example.com/slow'] })] }
    calls += 1
    await step('drop', () => void effects.push('drop'))
    return undefined
  })
  await lab.start(kopf)
  await lab.create('patient', { spec: {} })
  await reconciling.untilThere('slow')
  await lab.delete('patient')
  await reconciling.until('slow', ({ metadata }) => metadata.deletionTimestamp !== undefined)
  await settle(lab)
  await reconciling.patch('slow', { metadata: { finalizers: null } })
  await lab.untilGone('patient')
  expect(calls).toBeGreaterThan(1)
  expect(effects).toEqual(['drop'])
})

test('reconciler steps continue in the next process', async () => {
  const effects: string[] = []
  const create = (isWell: boolean) => {
    const kopf = new Operator()
    kopf.reconcile(lab.widgets, { id: 'fn', cleanup: true }, async ({ step }) => {
      const a = await step('a', () => `a${effects.push('a')}`)
      if (!isWell) throw new TemporaryError('not here', { delay: 600 })
      await step('b', () => void effects.push(`b after ${a}`))
    })
    return kopf
  }
  const first = await lab.start(create(false))
  await lab.create('moving', { spec: {} })
  await lab.untilObject('moving', (body) => 'fn.a' in recordsOf(body))
  await lab.stop(first)
  await lab.start(create(true))
  await lab.untilObject('moving', (body) => Object.keys(recordsOf(body)).length === 0)
  expect(effects).toEqual(['a', 'b after a1'])
})

test('a reconciler step does not start before the steps before it are stored', async () => {
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [] } } })
  const effects: string[] = []
  kopf.reconcile(lab.widgets, { id: 'fn', cleanup: true }, async ({ step }) => {
    await step('a', () => void effects.push('a'))
    await step('b', () => void effects.push('b'))
  })
  const transport = lab.record()
  let refusals = 3
  transport.meddle = async (request, send) => {
    if (request.method !== 'PATCH' || !JSON.stringify(request.body).includes('fn.a')) return send()
    if (refusals > 0) expect(effects).not.toContain('b')
    refusals -= 1
    return refusals >= 0 ? refusal(500) : send()
  }
  await lab.start(kopf, { transport })
  await lab.create('refused', { spec: {} })
  await lab.until(() => effects.includes('b'))
  await lab.untilObject('refused', (body) => Object.keys(recordsOf(body)).length === 0)
  expect(effects).toEqual(['a', 'b'])
})

test('the records of reconciler steps are removed with the finalizer when the object is filtered out', async () => {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { id: 'fn', cleanup: true, when: ({ spec }) => spec['on'] }, async ({ step }) => {
    await step('a', () => 1)
    throw new TemporaryError('never', { delay: 600 })
  })
  await lab.start(kopf)
  await lab.create('leaving', { spec: { on: true } })
  await lab.untilObject('leaving', (body) => 'fn.a' in recordsOf(body))
  await lab.patch('leaving', { spec: { on: false } })
  const body = await lab.untilObject('leaving', ({ metadata }) => !metadata.finalizers)
  expect(annotationsOf(body)).toEqual({})
})

test('a step of a reconciler without cleanup is refused and not retried', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.reconcile(lab.widgets, { id: 'fn' }, async ({ step }) => {
    calls += 1
    await step('a', () => 1)
  })
  await lab.start(kopf)
  await lab.create('keepless', { spec: {} })
  await lab.untilLogged('Cannot run step "a" of reconciler "fn": only reconcilers with "cleanup: true" have steps')
  await settle(lab)
  expect(calls).toBe(1)
})

test('a step of a reconciler that is also a change handler with the same id is refused, since they would share records', async () => {
  const kopf = new Operator()
  const done: string[] = []
  const fn = async ({ step, ...rest }: { readonly step: Args<'create', string>['step'] }) => {
    await step('a', () => void done.push('reason' in rest ? 'create' : 'reconcile'))
  }
  kopf.on.create(lab.widgets, fn)
  kopf.reconcile(lab.widgets, { cleanup: true }, fn)
  await lab.start(kopf)
  await lab.create('double', { spec: {} })
  await lab.untilLogged('Cannot run step "a" of reconciler "fn": a change handler has the same id')
  await settle(lab)
  expect(done).toEqual(['create'])
})
