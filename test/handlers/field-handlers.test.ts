import { type Diff, type FieldPath, Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { handledOf, settle, untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

interface Seen {
  readonly reason: string
  readonly old: unknown
  readonly new: unknown
  readonly diff: Diff
}

/** Starts an operator with one field handler, and returns its calls. */
async function told(field: FieldPath): Promise<Seen[]> {
  const seen: Seen[] = []
  const kopf = new Operator()
  kopf.on.field(lab.widgets, field as string, { id: 'f' }, ({ reason, old, new: now, diff }) => {
    seen.push({ reason, old, new: now, diff })
  })
  kopf.on.update(lab.widgets, { id: 'u' }, () => {})
  await lab.start(kopf)
  return seen
}

test('a field handler is called when its field is added, changed or removed, and for no other change', async () => {
  const seen = await told('spec.deep')
  await lab.create('one', { spec: { other: 1 } })
  await untilHandled(lab, 'one')
  expect(seen).toEqual([])
  for (const deep of [{ a: 1, b: 1 }, { a: 2 }, null]) {
    await lab.patch('one', { spec: { deep, other: JSON.stringify(deep) } })
    await untilHandled(lab, 'one')
  }
  await lab.patch('one', { spec: { other: 'last' } })
  await untilHandled(lab, 'one')
  expect(seen).toEqual([
    {
      reason: 'update',
      old: undefined,
      new: { a: 1, b: 1 },
      diff: [['add', [], undefined, { a: 1, b: 1 }]],
    },
    { reason: 'update', old: { a: 1, b: 1 }, new: { a: 2, b: 1 }, diff: [['change', ['a'], 1, 2]] },
    { reason: 'update', old: { a: 2, b: 1 }, new: undefined, diff: [['remove', [], { a: 2, b: 1 }, undefined]] },
  ])
})

test('a field handler of an existing field is called for the creation, with a diff of the field', async () => {
  const seen = await told('spec.deep.a')
  await lab.create('created', { spec: { deep: { a: { b: 2 } } } })
  await untilHandled(lab, 'created')
  expect(seen).toEqual([{ reason: 'create', old: undefined, new: { b: 2 }, diff: [['add', [], undefined, { b: 2 }]] }])
})

test('a field handler is called when a parent of the field is added or removed', async () => {
  const seen = await told('spec.deep.a')
  await lab.create('parent', { spec: {} })
  await untilHandled(lab, 'parent')
  await lab.patch('parent', { spec: { deep: { a: 1, b: 2 } } })
  await untilHandled(lab, 'parent')
  await lab.patch('parent', { spec: { deep: null } })
  await untilHandled(lab, 'parent')
  expect(seen.map(({ diff }) => diff)).toEqual([[['add', [], undefined, 1]], [['remove', [], 1, undefined]]])
})

test('a field handler can be registered for a field of the status', async () => {
  const seen = await told('status.phase')
  await lab.create('state', { spec: {} })
  await lab.untilObject('state', (body) => handledOf(body) !== undefined)
  await lab.patch('state', { status: { phase: 'Ready', other: 1 } }, '/status')
  await lab.until(() => seen.length === 1)
  await lab.untilObject('state', (body) => handledOf(body)?.['status'] !== undefined)
  await lab.patch('state', { status: { other: 2 } }, '/status')
  await settle(lab)
  expect(seen).toEqual([{ reason: 'update', old: undefined, new: 'Ready', diff: [['add', [], undefined, 'Ready']] }])
  expect(handledOf(await lab.get('state'))).toEqual({ spec: {}, status: { phase: 'Ready' } })
})

test('a field handler can be registered for a path of keys with dots', async () => {
  const seen = await told(['metadata', 'labels', 'example.com/size'])
  await lab.create('labelled', { metadata: { labels: { 'example.com/size': 'big' } } })
  await lab.untilObject('labelled', (body) => handledOf(body) !== undefined)
  await lab.patch('labelled', { metadata: { labels: { 'example.com/size': 'small', other: 'x' } } })
  await lab.until(() => seen.length === 2)
  expect(seen.map(({ old, new: now }) => [old, now])).toEqual([
    [undefined, 'big'],
    ['big', 'small'],
  ])
})

test('a field handler is called during the deletion if its field changes then', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.on.delete(lab.widgets, { id: 'cleanup' }, ({ retry, patch }) => {
    patch.status['phase'] = 'Cleaning'
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.2 })
  })
  kopf.on.field(lab.widgets, 'status.phase', { id: 'phase' }, ({ reason, old, new: now }) => {
    seen.push([reason, old, now])
  })
  await lab.start(kopf)
  await lab.create('going')
  await lab.untilObject('going', ({ metadata }) => metadata.finalizers?.length === 1)
  await lab.delete('going')
  await lab.untilGone('going')
  expect(seen).toEqual([['delete', undefined, 'Cleaning']])
})

test('a field handler of a status field that a create handler sets is called for an update', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.on.create(lab.widgets, { id: 'create' }, ({ patch }) => {
    patch.status['phase'] = 'Ready'
  })
  kopf.on.field(lab.widgets, 'status.phase', { id: 'phase' }, ({ reason, old, new: now }) => {
    seen.push([reason, old, now])
  })
  await lab.start(kopf)
  await lab.create('coming')
  await lab.until(() => seen.length === 1)
  expect(seen).toEqual([['update', undefined, 'Ready']])
})

test('a field handler is not called when its field becomes null, nor after a restart, nor in the deletion', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const note = (id: string) => (args: { readonly reason: string; readonly diff: Diff }) =>
    void calls.push(`${id} ${args.reason} ${JSON.stringify(args.diff)}`)
  kopf.on.field(lab.widgets, 'spec.a', { id: 'a' }, note('a'))
  kopf.on.field(lab.widgets, 'spec.deep', { id: 'deep' }, note('deep'))
  kopf.on.update(lab.widgets, { id: 'u', field: 'spec.a' }, note('u'))
  kopf.on.resume(lab.widgets, { id: 'r' }, note('r'))
  kopf.on.delete(lab.widgets, { id: 'd' }, note('d'))
  const first = await lab.start(kopf)
  await lab.create('nil', { spec: { deep: { b: 1 } } })
  await untilHandled(lab, 'nil')
  const nulls = [
    { op: 'add', path: '/spec/a', value: null },
    { op: 'add', path: '/spec/deep/c', value: null },
  ]
  await lab.call('PATCH', lab.path('nil'), nulls, 'application/json-patch+json')
  expect((await lab.get('nil'))['spec']).toEqual({ a: null, deep: { b: 1, c: null } })
  await settle(lab)
  await lab.stop(first)
  for (let restart = 0; restart < 2; restart += 1) {
    const again = await lab.start(kopf)
    await settle(lab)
    await lab.stop(again)
  }
  await lab.start(kopf)
  await lab.delete('nil')
  await lab.untilGone('nil')
  expect(calls).toEqual([
    'deep create [["add",[],null,{"b":1}]]',
    'r resume []',
    'r resume []',
    'r resume []',
    'd delete []',
  ])
})
