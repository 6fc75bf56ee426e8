import { type Diff, Operator, PermanentError } from 'kopf'
import { expect, test } from 'vitest'
import { handledOf, settle, untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

/** An operator that records its updates, and an object that it has handled. */
async function handled(name: string, fields: Record<string, unknown>) {
  const updates: { reason: string; old: unknown; new: unknown; diff: Diff }[] = []
  const kopf = new Operator()
  kopf.on.update(lab.widgets, { id: 'u' }, ({ reason, old, new: now, diff }) => {
    updates.push({ reason, old, new: now, diff })
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create(name, fields)
  await lab.untilObject(name, (body) => handledOf(body) !== undefined)
  wire.requests.length = 0
  return { updates, wire }
}

test('an update handler gets the old state, the new state and the diff', async () => {
  const { updates, wire } = await handled('one', { spec: { changed: 1, removed: 2, kept: [1], deep: { a: 1 } } })
  expect(updates).toEqual([])
  await lab.patch('one', { spec: { changed: 2, removed: null, added: { b: 1 }, deep: { a: 2 } } })
  await untilHandled(lab, 'one')
  const [update, ...others] = updates
  expect(others).toEqual([])
  expect(update).toMatchObject({
    reason: 'update',
    old: { spec: { changed: 1, removed: 2, kept: [1], deep: { a: 1 } } },
    new: { spec: { changed: 2, kept: [1], added: { b: 1 }, deep: { a: 2 } } },
  })
  expect([...update!.diff].sort((a, b) => (a[1].join() < b[1].join() ? -1 : 1))).toEqual([
    ['add', ['spec', 'added'], undefined, { b: 1 }],
    ['change', ['spec', 'changed'], 1, 2],
    ['change', ['spec', 'deep', 'a'], 1, 2],
    ['remove', ['spec', 'removed'], 2, undefined],
  ])
  expect(wire.writes('one')).toHaveLength(1)
})

test('changes of the status, of finalizers and of annotations of related operators are not updates', async () => {
  const { updates, wire } = await handled('meta', { spec: {} })
  await lab.patch('meta', { status: { phase: 'x' } }, '/status')
  await lab.patch('meta', { metadata: { finalizers: ['example.com/other'] } })
  await lab.patch('meta', { metadata: { annotations: { 'sub.kopf.zalando.org/x': 'y' } } })
  await settle(lab)
  expect(updates).toEqual([])
  expect(wire.writes('meta')).toEqual([])
})

test('changes of labels and annotations are updates', async () => {
  const { updates } = await handled('meta', { spec: {} })
  await lab.patch('meta', { metadata: { labels: { a: 'b' }, annotations: { 'example.com/x': 'y' } } })
  await lab.until(() => updates.length === 1)
  expect(updates[0]!.diff).toEqual([
    ['add', ['metadata'], undefined, { labels: { a: 'b' }, annotations: { 'example.com/x': 'y' } }],
  ])
})

test('a changed list is one change in the diff', async () => {
  const { updates } = await handled('list', { spec: { items: [1, 2] } })
  await lab.patch('list', { spec: { items: [1, 2, 3] } })
  await lab.until(() => updates.length === 1)
  expect(updates[0]!.diff).toEqual([['change', ['spec', 'items'], [1, 2], [1, 2, 3]]])
})

test('changes while the operator was down are one update', async () => {
  const calls: unknown[] = []
  const kopf = new Operator()
  kopf.on.update(lab.widgets, { id: 'u' }, ({ diff, retry }) => void calls.push([retry, diff]))
  const running = await lab.start(kopf)
  await lab.create('missed', { spec: { a: 1, b: 1 } })
  await untilHandled(lab, 'missed')
  await lab.stop(running)
  await lab.patch('missed', { spec: { a: 2 } })
  await lab.patch('missed', { spec: { b: 2 } })
  await lab.patch('missed', { spec: { a: 3 } })
  await lab.start(kopf)
  await untilHandled(lab, 'missed')
  expect(calls).toEqual([
    [
      0,
      [
        ['change', ['spec', 'a'], 1, 3],
        ['change', ['spec', 'b'], 1, 2],
      ],
    ],
  ])
})

test('a handler that changes the spec gets its own change as the next update', async () => {
  const seen: unknown[] = []
  const kopf = new Operator()
  kopf.on.update(lab.widgets, { id: 'u' }, ({ diff, patch, spec }) => {
    seen.push(diff)
    if (spec['replicas'] === undefined) patch.spec['replicas'] = 1
  })
  await lab.start(kopf)
  await lab.create('self', { spec: { a: 1 } })
  await untilHandled(lab, 'self')
  await lab.patch('self', { spec: { a: 2 } })
  await lab.until(() => seen.length === 2)
  await untilHandled(lab, 'self')
  await settle(lab)
  expect(seen).toEqual([[['change', ['spec', 'a'], 1, 2]], [['add', ['spec', 'replicas'], undefined, 1]]])
})

test('a failed update is not retried, and the next change is handled', async () => {
  const seen: unknown[] = []
  const kopf = new Operator()
  kopf.on.update(lab.widgets, { id: 'u' }, ({ spec }) => {
    seen.push(spec['a'])
    if (spec['a'] === 2) throw new PermanentError('not this')
  })
  await lab.start(kopf)
  await lab.create('failing', { spec: { a: 1 } })
  await untilHandled(lab, 'failing')
  await lab.patch('failing', { spec: { a: 2 } })
  await untilHandled(lab, 'failing')
  await settle(lab)
  await lab.patch('failing', { spec: { a: 3 } })
  await untilHandled(lab, 'failing')
  expect(seen).toEqual([2, 3])
})
