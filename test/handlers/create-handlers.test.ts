import { Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import {
  annotationsOf,
  handledOf,
  lastHandled,
  progressOf,
  settle,
  untilHandled,
  useCleanLab,
} from '../support/handled.ts'

const lab = useCleanLab()

test('a new object is handled once, and the handled state is stored on it', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.create(lab.widgets, ({ name, spec, reason, patch }) => {
    calls.push(`${reason} ${name} ${spec['size']}`)
    patch.status['phase'] = 'Ready'
    return { message: 'hello' }
  })
  await lab.start(kopf)
  await lab.create('first', { spec: { size: 1 } })
  const body = await untilHandled(lab, 'first')
  await settle(lab)
  expect(calls).toEqual(['create first 1'])
  expect(body['status']).toEqual({ phase: 'Ready', create: { message: 'hello' } })
  expect(annotationsOf(body)).toEqual({ [lastHandled]: '{"spec":{"size":1}}\n' })
})

test('a create handler that fails temporarily is retried, and its progress is stored meanwhile', async () => {
  const kopf = new Operator()
  const retries: number[] = []
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ retry }) => {
    retries.push(retry)
    if (retry < 2) throw new TemporaryError('not yet', { delay: 0.5 })
  })
  await lab.start(kopf)
  await lab.create('second')
  const half = await lab.untilObject('second', (body) => progressOf(body, 'fn') !== undefined)
  expect(progressOf(half, 'fn')).toMatchObject({ purpose: 'create', success: false })
  await untilHandled(lab, 'second')
  expect(retries).toEqual([0, 1, 2])
})

test('a create handler gets no old state, and the whole essence as one addition', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.on.create(
    lab.widgets,
    { id: 'fn' },
    ({ reason, old, new: now, diff }) => void seen.push({ reason, old, now, diff }),
  )
  await lab.start(kopf)
  await lab.create('whole', { metadata: { labels: { a: 'b' } }, spec: { size: 1 } })
  await untilHandled(lab, 'whole')
  const essence = { spec: { size: 1 }, metadata: { labels: { a: 'b' } } }
  expect(seen).toEqual([{ reason: 'create', old: undefined, now: essence, diff: [['add', [], undefined, essence]] }])
})

test('an object that was created while the operator was down is handled as a creation, not as a resume', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.create(lab.widgets, { id: 'c' }, () => void calls.push('create'))
  kopf.on.resume(lab.widgets, { id: 'r' }, () => void calls.push('resume'))
  await lab.create('before')
  await lab.start(kopf)
  await untilHandled(lab, 'before')
  await settle(lab)
  expect(calls).toEqual(['create'])
})

test('a PermanentError of the only create handler ends the creation', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.on.create(lab.widgets, { id: 'fn' }, () => {
    calls += 1
    throw new PermanentError('never')
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('hopeless', { spec: { a: 1 } })
  const body = await untilHandled(lab, 'hopeless')
  await settle(lab)
  expect(calls).toBe(1)
  expect(annotationsOf(body)).toEqual({ [lastHandled]: '{"spec":{"a":1}}\n' })
  expect(wire.writes('hopeless')).toHaveLength(1)
  expect(lab.logs.join('\n')).toContain("Handler 'fn' failed permanently: never")
  expect(lab.logs.join('\n')).toContain('Creation is processed: 0 succeeded; 1 failed.')
})

test('a retry of a create handler sees the changed spec, and no update follows', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.create(lab.widgets, { id: 'c' }, ({ spec, retry }) => {
    calls.push(`create ${spec['field']}`)
    if (retry === 0) throw new TemporaryError('later', { delay: 1 })
  })
  kopf.on.update(lab.widgets, { id: 'u' }, () => void calls.push('update'))
  await lab.start(kopf)
  await lab.create('changing', { spec: { field: 'v' } })
  await lab.untilObject('changing', (body) => progressOf(body, 'c') !== undefined)
  await lab.patch('changing', { spec: { field: 'w' } })
  const body = await untilHandled(lab, 'changing')
  await settle(lab)
  expect(calls).toEqual(['create v', 'create w'])
  expect(handledOf(body)).toEqual({ spec: { field: 'w' } })
})

test('an object without a matching handler is not touched, and is a creation once one matches', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  const labels = { watched: 'yes' }
  kopf.on.create(lab.widgets, { id: 'c', labels }, () => void calls.push('create'))
  kopf.on.update(lab.widgets, { id: 'u', labels }, () => void calls.push('update'))
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('stealthy', { spec: { n: 1 } })
  await settle(lab)
  expect(wire.writes('stealthy')).toEqual([])
  await lab.patch('stealthy', { metadata: { labels } })
  await lab.untilObject('stealthy', (body) => handledOf(body) !== undefined)
  expect(calls).toEqual(['create'])
  await lab.patch('stealthy', { metadata: { labels: { watched: null } } })
  await settle(lab)
  expect(wire.writes('stealthy')).toHaveLength(1)
  await lab.patch('stealthy', { metadata: { labels }, spec: { n: 2 } })
  await untilHandled(lab, 'stealthy')
  expect(calls).toEqual(['create', 'update'])
})
