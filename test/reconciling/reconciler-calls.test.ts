/** The calls of reconcilers: with the current object, once at a time per object, and not for their own writes. */
import { Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { finalizer, settle } from '../support/handled.ts'
import { gate } from '../support/recording.ts'
import { configMap, useReconcilingLab } from './reconciling-support.ts'

const { lab, reconciling } = useReconcilingLab()

test('a reconciler is called with the current object at the start and on changes, but not for its own writes', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.reconcile(lab.widgets, ({ spec, status, patch, retry, deleting, body }) => {
    seen.push([spec['size'], status['size'], retry, deleting])
    patch.status['size'] = spec['size']
    patch.metadata.annotations = { 'example.com/seen': body.metadata.resourceVersion! }
  })
  await lab.create('one', { spec: { size: 1 } })
  await lab.start(kopf)
  await lab.untilObject('one', (body) => body.status?.['size'] === 1)
  await settle(lab)
  expect(seen).toEqual([[1, undefined, 0, false]])
  await lab.patch('one', { spec: { size: 2 } })
  await lab.untilObject('one', (body) => body.status?.['size'] === 2)
  await settle(lab)
  expect(seen).toEqual([
    [1, undefined, 0, false],
    [2, 1, 0, false],
  ])
  await lab.patch('one', { status: { other: 'yes' } }, '/status')
  await lab.until(() => seen.length === 3)
})

test('a reconciler runs once at a time per object, once for all changes since, and in parallel for other objects', async () => {
  const kopf = new Operator()
  const seen: string[] = []
  const [entered, leave] = [gate(), gate()]
  let now = 0
  let most = 0
  kopf.reconcile(lab.widgets, async ({ name, spec }) => {
    seen.push(`${name} ${spec['n']}`)
    if (name !== 'busy') return
    now += 1
    most = Math.max(most, now)
    if (seen.length === 1) entered.open()
    await leave.opened
    now -= 1
  })
  await lab.start(kopf)
  await lab.create('busy', { spec: { n: 0 } })
  await entered.opened
  for (let n = 1; n <= 5; n += 1) await lab.patch('busy', { spec: { n } })
  await lab.create('other', { spec: { n: 0 } })
  await lab.until(() => seen.includes('other 0'))
  leave.open()
  await lab.until(() => seen.includes('busy 5'))
  await settle(lab)
  expect(seen).toEqual(['busy 0', 'other 0', 'busy 5'])
  expect(most).toBe(1)
})

test('a change by another writer during the write of a reconciler is not lost', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.reconcile(lab.widgets, async ({ spec, patch }) => {
    seen.push(spec['size'])
    if (seen.length === 1) await lab.patch('crossing', { spec: { size: 2 } })
    patch.status['size'] = spec['size']
  })
  await lab.start(kopf)
  await lab.create('crossing', { spec: { size: 1 } })
  await lab.untilObject('crossing', (body) => body.status?.['size'] === 2)
  await settle(lab)
  expect(seen).toEqual([1, 2])
})

const gaps = (times: readonly number[]) => times.slice(1).map((time, index) => time - times[index]!)

test('a reconciler is called again after the `requeueAfter` of its result', async () => {
  const kopf = new Operator()
  const times: number[] = []
  kopf.reconcile(lab.widgets, () => {
    times.push(lab.clock.now())
    return times.length < 3 ? { requeueAfter: '500ms' } : undefined
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('requeued', { spec: {} })
  await lab.until(() => times.length === 3)
  await settle(lab)
  expect(times).toHaveLength(3)
  for (const gap of gaps(times)) expect(gap).toBeGreaterThanOrEqual(495)
  expect(transport.writes()).toEqual([])
})

test('a reconciler with resync is called at this interval', async () => {
  const kopf = new Operator()
  const times: number[] = []
  kopf.reconcile(lab.widgets, { resync: 1 }, () => void times.push(lab.clock.now()))
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('clockwork', { spec: {} })
  await lab.until(() => times.length > 3)
  for (const gap of gaps(times)) expect(gap).toBeGreaterThanOrEqual(995)
  expect(transport.writes()).toEqual([])
})

test('a reconciler that fails is called again after longer and longer pauses', async () => {
  const kopf = new Operator()
  const times: number[] = []
  const retries: number[] = []
  kopf.reconcile(lab.widgets, ({ retry }) => {
    times.push(lab.clock.now())
    retries.push(retry)
    if (times.length < 3) throw new Error('any')
  })
  await lab.start(kopf)
  await lab.create('failing', { spec: {} })
  await lab.until(() => times.length === 3)
  const [first, second] = gaps(times)
  expect(first).toBeGreaterThanOrEqual(495)
  expect(second).toBeGreaterThanOrEqual(995)
  expect(retries).toEqual([0, 1, 2])
})

test('a reconciler that fails with a TemporaryError is called again after its delay', async () => {
  const kopf = new Operator()
  const times: number[] = []
  kopf.reconcile(lab.widgets, () => {
    times.push(lab.clock.now())
    if (times.length < 2) throw new TemporaryError('not yet', { delay: 0.2 })
  })
  await lab.start(kopf)
  await lab.create('delayed', { spec: {} })
  await lab.until(() => times.length === 2)
  expect(gaps(times)[0]).toBeLessThan(500)
})

test('a reconciler that fails with a PermanentError is called again only when the object changes', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.reconcile(lab.widgets, { resync: 1 }, () => {
    calls += 1
    if (calls < 2) throw new PermanentError('never')
  })
  await lab.start(kopf)
  await lab.create('rejected', { spec: {} })
  await lab.until(() => calls === 1)
  await lab.elapse(1.5)
  expect(calls).toBe(1)
  await lab.patch('rejected', { spec: { n: 1 } })
  await lab.until(() => calls >= 2)
})

test('a watched object triggers the reconcilers that it maps to now and those that it mapped to before', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.reconcile(
    lab.widgets,
    {
      watches: [
        ['configmaps', ({ metadata }) => [metadata.labels?.['for'], { name: metadata.labels?.['and'] ?? 'x' }]],
      ],
    },
    ({ name }) => void calls.push(name),
  )
  await lab.start(kopf)
  for (const name of ['w1', 'w2', 'w3']) await lab.create(name, { spec: {} })
  await lab.until(() => calls.length === 3)
  calls.length = 0
  await reconciling.create(configMap('watched', {}, { labels: { for: 'w1', and: 'w2' } }))
  await lab.until(() => calls.includes('w1') && calls.includes('w2'))
  calls.length = 0
  await reconciling.patch('watched', { metadata: { labels: { for: 'w3', and: 'w2' } } })
  await lab.until(() => ['w1', 'w2', 'w3'].every((name) => calls.includes(name)))
  calls.length = 0
  await reconciling.delete('watched')
  await lab.until(() => calls.includes('w2') && calls.includes('w3'))
  await settle(lab)
  expect(calls.toSorted()).toEqual(['w2', 'w3'])
})

test('a reconciler runs after the change handlers and leaves no annotations or finalizers on the object', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.create(lab.widgets, { id: 'made' }, ({ patch }) => {
    calls.push('create')
    patch.status['made'] = true
  })
  kopf.reconcile(lab.widgets, { id: 'kept' }, ({ status }) => void calls.push(`reconcile ${status['made']}`))
  await lab.start(kopf)
  await lab.create('both', { spec: {} })
  await lab.until(() => calls.length >= 2)
  await settle(lab)
  expect(calls).toEqual(['create', 'reconcile true'])
  const { metadata } = await lab.get('both')
  expect(Object.keys(metadata.annotations ?? {})).toEqual(['kopf.zalando.org/last-handled-configuration'])
  expect(metadata.finalizers).toBeUndefined()
})

test('a write of a reconciler is a change for change handlers and for the filters of other handlers', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.field(
    lab.widgets,
    'metadata.labels.mark',
    { id: 'field' },
    ({ new: mark }) => void calls.push(`mark ${mark}`),
  )
  kopf.timer(lab.widgets, { interval: 1000, labels: { mark: 'b' } }, () => void calls.push('timer'))
  kopf.reconcile(lab.widgets, ({ spec, patch }) => {
    patch.metadata.labels = { mark: spec['mark'] }
  })
  await lab.create('marked', { metadata: { labels: { mark: 'a' } }, spec: { mark: 'a' } })
  await lab.start(kopf)
  await settle(lab)
  await lab.patch('marked', { spec: { mark: 'b' } })
  await lab.until(() => calls.includes('mark b') && calls.includes('timer'))
})

test('a reconciler is called only for objects that match its filters', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.reconcile(lab.widgets, { labels: { mine: 'yes' }, when: ({ spec }) => spec['n'] > 0 }, ({ name, spec }) => {
    calls.push(`${name} ${spec['n']}`)
  })
  await lab.start(kopf)
  await lab.create('stranger', { spec: { n: 1 } })
  await lab.create('mine', { metadata: { labels: { mine: 'yes' } }, spec: { n: 0 } })
  await settle(lab)
  expect(calls).toEqual([])
  await lab.patch('mine', { spec: { n: 1 } })
  await lab.until(() => calls.includes('mine 1'))
})

test('a reconciler with cleanup holds a deleted object until it returns without an error', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.reconcile(lab.widgets, { cleanup: true }, ({ deleting, retry }) => {
    calls.push(`${deleting ? 'deleting' : 'there'} ${retry}`)
    if (deleting && retry === 0) throw new TemporaryError('not yet', { delay: 0.1 })
  })
  await lab.start(kopf)
  await lab.create('held', { spec: {} })
  await lab.untilObject('held', ({ metadata }) => metadata.finalizers?.[0] === finalizer)
  await lab.until(() => calls.length === 1)
  await lab.delete('held')
  await lab.untilGone('held')
  expect(calls).toEqual(['there 0', 'deleting 0', 'deleting 1'])
})

test('a deleted object with a reconciler with cleanup and deletion handlers is released when both are done', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.delete(lab.widgets, { id: 'gone' }, () => void calls.push('delete'))
  kopf.reconcile(lab.widgets, { cleanup: true }, ({ deleting, retry }) => {
    if (!deleting) return
    calls.push('reconcile')
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.1 })
  })
  await lab.start(kopf)
  await lab.create('shared', { spec: {} })
  await lab.untilObject('shared', ({ metadata }) => metadata.finalizers?.[0] === finalizer)
  await settle(lab)
  await lab.delete('shared')
  await lab.untilGone('shared')
  expect(calls).toEqual(['delete', 'reconcile', 'reconcile'])
})
