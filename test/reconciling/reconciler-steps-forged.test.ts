/** Forged results of reconciler steps on an object are ignored, and the steps run. */
import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { annotationsOf, recordsOf } from '../support/handled.ts'
import { useReconcilingLab } from './reconciling-support.ts'

const { lab } = useReconcilingLab()

const prefix = 'kopf.zalando.org'
const started = '2026-01-01T00:00:00.000000+00:00'
const open = { started, purpose: 'update', retries: 0, success: false, failure: false, subrefs: ['fn/bucket'] }
const done = { started, stopped: started, purpose: 'update', retries: 1, success: true, failure: false }

/** A reconciler that fails after its step until `isReady`, so that the result stays on the object. */
function create(granted: string[], { isReady }: { readonly isReady: boolean }): Operator {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { id: 'fn', cleanup: true }, async ({ name, spec, step, deleting }) => {
    if (deleting) return
    granted.push(await step('bucket', () => `bucket-of-${name} for ${String(spec['target'])}`))
    if (!isReady) throw new TemporaryError('not yet', { delay: 600 })
  })
  return kopf
}

test('a forged result of a reconciler step is ignored and removed', async () => {
  const granted: string[] = []
  const annotations = {
    [`${prefix}/fn`]: JSON.stringify(open),
    [`${prefix}/fn.bucket`]: JSON.stringify({ ...done, result: '"bucket-of-payroll"' }),
  }
  await lab.create('forged', { spec: { target: 'mine' }, metadata: { annotations } })
  await lab.start(create(granted, { isReady: true }))
  await lab.untilObject('forged', (body) => granted.length > 0 && Object.keys(recordsOf(body)).length === 0)
  expect(granted).toEqual(['bucket-of-forged for mine'])
  expect(
    lab.logs.filter((line) => line.includes('stored result of step "bucket" of handler "fn" is not used')),
  ).toHaveLength(1)
})

test('a signed result of a reconciler step is valid for the next process, but not for another object or another spec', async () => {
  const first = await lab.start(create([], { isReady: false }))
  await lab.create('donor', { spec: { target: 'mine' } })
  const donor = await lab.untilObject('donor', (body) => 'fn.bucket' in recordsOf(body))
  await lab.stop(first)
  const annotations = annotationsOf(donor)
  await lab.create('thief', { spec: { target: 'mine' }, metadata: { annotations } })
  const granted: string[] = []
  const second = await lab.start(create(granted, { isReady: false }))
  await lab.until(() => granted.length === 2)
  expect(granted.toSorted()).toEqual(['bucket-of-donor for mine', 'bucket-of-thief for mine'])
  expect(lab.logs.filter((line) => line.includes('is not used'))).toHaveLength(1)
  await lab.stop(second)
  await lab.patch('donor', { spec: { target: 'payroll' } })
  const third = await lab.start(create(granted, { isReady: true }))
  await lab.until(() => granted.length === 4)
  expect(granted.slice(2).toSorted()).toEqual(['bucket-of-donor for payroll', 'bucket-of-thief for mine'])
  await lab.stop(third)
})

test('a step result of a change handler is not valid for a reconciler with the same id', async () => {
  const changes = new Operator()
  changes.on.create(lab.widgets, { id: 'fn' }, async ({ step }) => {
    await step('bucket', () => 'bucket-of-a-handler')
    throw new TemporaryError('not yet', { delay: 600 })
  })
  const first = await lab.start(changes)
  await lab.create('exchanged', { spec: { target: 'mine' } })
  await lab.untilObject('exchanged', (body) => 'fn.bucket' in recordsOf(body))
  await lab.stop(first)
  const granted: string[] = []
  await lab.start(create(granted, { isReady: true }))
  await lab.until(() => granted.length === 1)
  expect(granted).toEqual(['bucket-of-exchanged for mine'])
})
