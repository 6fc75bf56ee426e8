import { Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { finalizer, handledOf, progressOf, settle, untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

test('the finalizer is added before any handler runs, in a write of its own with the resource version', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.on.create(lab.widgets, { id: 'c' }, ({ meta }) => void seen.push(meta.finalizers))
  kopf.on.delete(lab.widgets, { id: 'd' }, () => {})
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  const { metadata } = await lab.create('guarded')
  await untilHandled(lab, 'guarded')
  const [first, second, ...others] = wire.writes('guarded')
  expect(first).toMatchObject({
    contentType: 'application/json-patch+json',
    body: [
      { op: 'test', path: '/metadata/uid', value: metadata.uid },
      { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      { op: 'add', path: '/metadata/finalizers', value: [finalizer] },
    ],
  })
  expect(second).toMatchObject({ contentType: 'application/merge-patch+json' })
  expect(others).toEqual([])
  expect(seen).toEqual([[finalizer]])
})

test('an object is released by one write when its delete handler has succeeded', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.delete(lab.widgets, { id: 'd' }, ({ name, reason, spec, old, diff }) => {
    calls.push(`${reason} ${name} ${spec['a']} ${JSON.stringify(old)} ${diff.length}`)
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('going', { spec: { a: 1 } })
  await untilHandled(lab, 'going')
  wire.requests.length = 0
  await lab.delete('going')
  await lab.untilGone('going')
  expect(calls).toEqual(['delete going 1 {"spec":{"a":1}} 0'])
  expect(wire.writes('going')).toHaveLength(1)
  expect(wire.writes('going')[0]!.body).toContainEqual({ op: 'remove', path: '/metadata/finalizers' })
  await lab.untilLogged('Deleted, really deleted, and we are notified.')
})

test('finalizers of other operators are kept in their order', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.delete(lab.widgets, { id: 'd' }, ({ name }) => void calls.push(name))
  await lab.start(kopf)
  await lab.create('shared', { metadata: { finalizers: ['example.com/b', 'example.com/a'] } })
  const created = await untilHandled(lab, 'shared')
  expect(created.metadata.finalizers).toEqual(['example.com/b', 'example.com/a', finalizer])
  await lab.patch('shared', { metadata: { finalizers: ['example.com/b', finalizer, 'example.com/a'] } })
  await lab.delete('shared')
  const left = await lab.untilObject('shared', ({ metadata }) => !metadata.finalizers?.includes(finalizer))
  expect(left.metadata.finalizers).toEqual(['example.com/b', 'example.com/a'])
  await settle(lab)
  expect(calls).toEqual(['shared'])
})

test('an optional delete handler adds no finalizer, and is called if the object has one anyway', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.delete(lab.widgets, { id: 'optional', optional: true }, ({ name }) => void calls.push(name))
  const needsIt = { labels: { keep: 'yes' } }
  kopf.on.delete(lab.widgets, { id: 'mandatory', ...needsIt }, ({ name }) => void calls.push(`mandatory ${name}`))
  await lab.start(kopf)
  await lab.create('free', { metadata: { finalizers: ['example.com/other'] } })
  await lab.create('held', { metadata: needsIt })
  expect((await lab.untilObject('free', (body) => handledOf(body) !== undefined)).metadata.finalizers).toEqual([
    'example.com/other',
  ])
  await lab.untilObject('held', (body) => handledOf(body) !== undefined)
  await lab.delete('free')
  await lab.delete('held')
  await lab.untilGone('held')
  await settle(lab)
  expect(calls).toEqual(['held', 'mandatory held'])
})

test('the finalizer is removed when no handler needs it any more', async () => {
  const kopf = new Operator()
  kopf.on.delete(lab.widgets, { id: 'd', labels: { keep: 'yes' } }, () => {})
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  await lab.start(kopf)
  await lab.create('released', { metadata: { labels: { keep: 'yes' } } })
  await lab.untilObject('released', ({ metadata }) => metadata.finalizers?.includes(finalizer) ?? false)
  await lab.patch('released', { metadata: { labels: { keep: 'no' } } })
  const body = await lab.untilObject('released', ({ metadata }) => metadata.finalizers === undefined)
  expect(body.metadata.labels).toEqual({ keep: 'no' })
  await lab.untilLogged('Removing the finalizer, as there are no handlers requiring it.')
})

test('an operator without delete handlers removes the finalizer of an earlier version', async () => {
  const kopf = new Operator()
  kopf.on.update(lab.widgets, { id: 'u' }, () => {})
  await lab.create('inherited', { metadata: { finalizers: [finalizer] } })
  await lab.start(kopf)
  await lab.untilObject('inherited', ({ metadata }) => metadata.finalizers === undefined)
})

test('a delete handler is retried, and a PermanentError releases the object', async () => {
  const kopf = new Operator()
  const retries: string[] = []
  kopf.on.delete(lab.widgets, { id: 'd' }, ({ name, retry }) => {
    retries.push(`${name} ${retry}`)
    if (retry === 0) throw new TemporaryError('later', { delay: 0.3 })
    if (name === 'failing') throw new PermanentError('cannot be cleaned up')
  })
  await lab.start(kopf)
  for (const name of ['retried', 'failing']) {
    await lab.create(name)
    await untilHandled(lab, name)
    await lab.delete(name)
    const half = await lab.untilObject(name, (body) => progressOf(body, 'd') !== undefined)
    expect(progressOf(half, 'd')).toMatchObject({ purpose: 'delete', retries: 1, success: false, failure: false })
    await lab.untilGone(name)
  }
  expect(retries).toEqual(['retried 0', 'retried 1', 'failing 0', 'failing 1'])
})

test('an object that is removed by force while its delete handler is retried causes no error', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.on.delete(lab.widgets, { id: 'd' }, () => {
    calls += 1
    throw new TemporaryError('later', { delay: 0.2 })
  })
  await lab.start(kopf)
  await lab.create('torn')
  await untilHandled(lab, 'torn')
  await lab.delete('torn')
  await lab.untilObject('torn', (body) => progressOf(body, 'd') !== undefined)
  await lab.patch('torn', { metadata: { finalizers: null } })
  await lab.untilGone('torn')
  const before = calls
  await settle(lab)
  expect(calls).toBeLessThanOrEqual(before + 1)
  expect(lab.logs.join('\n')).not.toContain('Throttling')
})

test('an object that is deleted while its creation is retried is only deleted', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.create(lab.widgets, { id: 'c' }, () => {
    calls.push('c')
    throw new TemporaryError('later', { delay: 0.5 })
  })
  kopf.on.delete(lab.widgets, { id: 'd' }, () => void calls.push('d'))
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('brief')
  await lab.untilObject('brief', (body) => progressOf(body, 'c') !== undefined)
  wire.requests.length = 0
  await lab.delete('brief')
  await lab.untilGone('brief')
  await lab.elapse(1)
  expect(calls).toEqual(['c', 'd'])
  expect(wire.writes('brief')).toHaveLength(1)
  expect(lab.logs.join('\n')).toContain(
    'Creation is superseded by deletion: 0 succeeded; 0 failed; 1 left to the moment.',
  )
})

test('a function registered for creation and deletion under one id is called for both', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  const both = ({ reason }: { readonly reason: string }) => void calls.push(reason)
  kopf.on.create(lab.widgets, both)
  kopf.on.delete(lab.widgets, both)
  await lab.start(kopf)
  await lab.create('both')
  await untilHandled(lab, 'both')
  await lab.delete('both')
  await lab.untilGone('both')
  expect(calls).toEqual(['create', 'delete'])
})

test('the progress of a creation does not count for the deletion', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  const both = ({ reason }: { readonly reason: string }) => void calls.push(reason)
  kopf.on.create(lab.widgets, both)
  kopf.on.delete(lab.widgets, both)
  kopf.on.create(lab.widgets, { id: 'pending' }, () => {
    throw new TemporaryError('later', { delay: 30 })
  })
  await lab.start(kopf)
  await lab.create('halfway')
  await lab.untilObject('halfway', (body) => progressOf(body, 'both')?.['success'] === true)
  await lab.delete('halfway')
  await lab.untilGone('halfway')
  expect(calls).toEqual(['create', 'delete'])
})

test('a delete handler that has succeeded is not called again, even by the next process', async () => {
  const calls: string[] = []
  const shut = new Set(['slow'])
  const make = () => {
    const kopf = new Operator()
    for (const id of ['quick', 'slow']) {
      kopf.on.delete(lab.widgets, { id }, ({ retry }) => {
        if (shut.has(id)) throw new TemporaryError('later', { delay: 0.2 })
        calls.push(`${id} ${retry > 0}`)
      })
    }
    return kopf
  }
  const first = await lab.start(make())
  await lab.create('several')
  await untilHandled(lab, 'several')
  await lab.delete('several')
  await lab.untilObject('several', (body) => progressOf(body, 'quick')?.['success'] === true)
  await lab.stop(first)
  shut.clear()
  await lab.start(make())
  await lab.untilGone('several')
  expect(calls).toEqual(['quick false', 'slow true'])
})

test('an object that is deleted while its create handler runs is deleted after it', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.create(lab.widgets, { id: 'c' }, async ({ name }) => {
    calls.push('c begins')
    await lab.delete(name)
    await lab.clock.sleep(200)
    calls.push('c ends')
  })
  kopf.on.delete(lab.widgets, { id: 'd' }, () => void calls.push('d'))
  await lab.start(kopf)
  await lab.create('interrupted')
  await lab.until(() => calls.includes('d'))
  await lab.untilGone('interrupted')
  expect(calls).toEqual(['c begins', 'c ends', 'd'])
})

test('an object that was deleted while the operator was down is handled at the next start', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.delete(lab.widgets, { id: 'd' }, ({ name }) => void calls.push(name))
  const first = await lab.start(kopf)
  await lab.create('missed')
  await untilHandled(lab, 'missed')
  await lab.stop(first)
  await lab.delete('missed')
  expect(await lab.exists('missed')).toBe(true)
  await lab.start(kopf)
  await lab.untilGone('missed')
  expect(calls).toEqual(['missed'])
})

test('the patch of a deleted object is not written to a new object of the same name', async () => {
  const kopf = new Operator()
  const calls: unknown[] = []
  kopf.on.create(lab.widgets, { id: 'c' }, async ({ name, spec, patch }) => {
    calls.push(spec['n'])
    if (spec['n'] === 1) {
      await lab.delete(name)
      await lab.create(name, { spec: { n: 2 } })
      patch.metadata.labels['of'] = 'the first'
    }
    patch.status['n'] = spec['n']
  })
  await lab.start(kopf)
  await lab.create('phoenix', { spec: { n: 1 } })
  const body = await lab.untilObject('phoenix', (one) => handledOf(one) !== undefined)
  await settle(lab)
  expect(calls).toEqual([1, 2])
  expect(body.metadata.labels).toBeUndefined()
  expect((await lab.get('phoenix'))['status']).toEqual({ n: 2 })
  expect(lab.logs.join('\n')).not.toContain('Throttling')
})

test('an object that was handled without a delete handler gets its finalizer at the next start', async () => {
  const before = new Operator()
  before.on.create(lab.widgets, { id: 'c' }, () => {})
  const first = await lab.start(before)
  await lab.create('older', { spec: {} })
  await untilHandled(lab, 'older')
  await lab.stop(first)
  const calls: string[] = []
  const after = new Operator()
  after.on.create(lab.widgets, { id: 'c' }, () => void calls.push('c'))
  after.on.delete(lab.widgets, { id: 'd' }, () => void calls.push('d'))
  const wire = lab.record()
  await lab.start(after, { transport: wire })
  await lab.untilObject('older', ({ metadata }) => metadata.finalizers?.includes(finalizer) ?? false)
  await settle(lab)
  expect(wire.writes('older')).toHaveLength(1)
  await lab.delete('older')
  await lab.untilGone('older')
  expect(calls).toEqual(['d'])
})
