/** When reconcilers are called, and with what: always with the object as it is, one at a time, and not for their own doing. */
import { Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { finalizer, settle } from '../support/handled.ts'
import { gate } from '../support/recording.ts'
import { configMap, useNursery } from './support.ts'

const { lab, nursery } = useNursery()

test('with the object as it is: at the start, when it changes, and not for what it has written itself', async () => {
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

test('one at a time for an object, once for all that has happened meanwhile; objects do not wait for each other', async () => {
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

test('a change that others make while it writes is not lost', async () => {
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

test('after the time it has asked for, and regularly where it is told to', async () => {
  const kopf = new Operator()
  const times: Record<string, number[]> = { requeue: [], resync: [] }
  kopf.reconcile(lab.widgets, { id: 'requeue' }, () => {
    times['requeue']!.push(lab.clock.now())
    return times['requeue']!.length < 3 ? { requeueAfter: '500ms' } : undefined
  })
  kopf.reconcile(lab.widgets, { id: 'resync', resync: 1 }, () => void times['resync']!.push(lab.clock.now()))
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('clockwork', { spec: {} })
  await lab.until(() => times['resync']!.length > 3)
  const gaps = (all: number[]) => all.slice(1).map((time, index) => time - all[index]!)
  expect(times['requeue']).toHaveLength(3)
  for (const gap of gaps(times['requeue']!)) expect(gap).toBeGreaterThanOrEqual(495)
  for (const gap of gaps(times['resync']!)) expect(gap).toBeGreaterThanOrEqual(995)
  expect(transport.writes()).toEqual([])
})

test('after errors: later and later; after the delay of a TemporaryError; and not after a PermanentError', async () => {
  const kopf = new Operator()
  const times: Record<string, number[]> = { any: [], temporary: [], permanent: [] }
  const retries: number[] = []
  kopf.reconcile(lab.widgets, { id: 'any' }, ({ retry }) => {
    times['any']!.push(lab.clock.now())
    retries.push(retry)
    if (times['any']!.length < 3) throw new Error('any')
  })
  kopf.reconcile(lab.widgets, { id: 'temporary' }, () => {
    times['temporary']!.push(lab.clock.now())
    if (times['temporary']!.length < 2) throw new TemporaryError('not yet', { delay: 0.2 })
  })
  kopf.reconcile(lab.widgets, { id: 'permanent', resync: 1 }, () => {
    times['permanent']!.push(lab.clock.now())
    if (times['permanent']!.length < 2) throw new PermanentError('never')
  })
  await lab.start(kopf)
  await lab.create('failing', { spec: {} })
  await lab.until(() => times['any']!.length === 3)
  const [first, second, third] = times['any']!
  expect(second! - first!).toBeGreaterThanOrEqual(495)
  expect(third! - second!).toBeGreaterThanOrEqual(995)
  expect(retries).toEqual([0, 1, 2])
  expect(times['temporary']![1]! - times['temporary']![0]!).toBeLessThan(500)
  expect(times['permanent']).toHaveLength(1)
  await lab.patch('failing', { spec: { n: 1 } })
  await lab.until(() => times['permanent']!.length >= 2)
})

test('for what is watched: those that it concerns now, and those that it concerned before', async () => {
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
  await nursery.create(configMap('watched', {}, { labels: { for: 'w1', and: 'w2' } }))
  await lab.until(() => calls.includes('w1') && calls.includes('w2'))
  calls.length = 0
  await nursery.patch('watched', { metadata: { labels: { for: 'w3', and: 'w2' } } })
  await lab.until(() => ['w1', 'w2', 'w3'].every((name) => calls.includes(name)))
  calls.length = 0
  await nursery.delete('watched')
  await lab.until(() => calls.includes('w2') && calls.includes('w3'))
  await settle(lab)
  expect(calls.toSorted()).toEqual(['w2', 'w3'])
})

test('after the handlers of changes; and without a trace of its own on the object', async () => {
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

test('what it writes is a change for the handlers of changes, and for the filters of others', async () => {
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

test('only for objects that its filters let through', async () => {
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

test('with cleanup, until it returns without an error: only then the object may go', async () => {
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

test('with cleanup and handlers of the deletion: the object goes when both are done', async () => {
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
