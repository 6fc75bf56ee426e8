/** The exact writes to the server, compared with recorded traces of Kopf, adapted to one cycle for all due handlers. */
import { Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import {
  annotationsOf,
  finalizer,
  lastHandled,
  progressOf,
  settle,
  untilHandled,
  useCleanLab,
} from '../support/handled.ts'
import type { Recorded, Recording } from '../support/recording.ts'

const lab = useCleanLab({ status: false })
const timestamp = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}\+00:00$/
const prefix = 'kopf.zalando.org'

function annotationsIn({ body }: Recorded): Record<string, string | null> {
  return (body as { metadata: { annotations: Record<string, string | null> } }).metadata.annotations
}

/** The record of a handler in a merge patch, with its timestamps replaced by matchers. */
function recordIn(write: Recorded, id: string): Record<string, unknown> {
  const text = annotationsIn(write)[`${prefix}/${id}`]!
  expect(text).toBe(JSON.stringify(JSON.parse(text)))
  const record = JSON.parse(text) as Record<string, unknown>
  for (const name of ['started', 'stopped', 'delayed']) {
    if (record[name] === undefined) continue
    expect(record[name]).toMatch(timestamp)
    record[name] = 'T'
  }
  return record
}

function isMerge({ contentType }: Recorded): boolean {
  return contentType === 'application/merge-patch+json'
}

async function started(kopf: Operator): Promise<Recording> {
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  return wire
}

test('the writes of trace A1 are those of Kopf: a creation with a result, a retry, a field and a finalizer', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c1' }, () => {
    calls.push('c1')
    return { message: 'hello' }
  })
  kopf.on.create(lab.widgets, { id: 'c2' }, ({ retry }) => {
    calls.push(`c2 ${retry}`)
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.2 })
  })
  kopf.on.field(lab.widgets, 'spec.field', { id: 'f' }, ({ old, new: now, reason, diff }) => {
    calls.push(`f ${old} ${now} ${reason} ${JSON.stringify(diff)}`)
  })
  kopf.on.delete(lab.widgets, { id: 'd' }, () => {})
  const wire = await started(kopf)
  const { metadata } = await lab.create('n', { spec: { field: 'v' } })
  await untilHandled(lab, 'n')
  await settle(lab)
  expect(calls).toEqual(['c1', 'c2 0', 'f undefined v create [["add",[],null,"v"]]', 'c2 1'])
  const [first, second, third, ...others] = wire.writes()
  expect(others).toEqual([])
  expect(first!.body).toEqual([
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
    { op: 'add', path: '/metadata/finalizers', value: [finalizer] },
  ])
  expect(isMerge(second!)).toBe(true)
  expect(Object.keys(annotationsIn(second!)).sort()).toEqual([
    `${prefix}/c1`,
    `${prefix}/c2`,
    `${prefix}/f.spec.field`,
    `${prefix}/seen-configurations`,
  ])
  const done = { started: 'T', stopped: 'T', purpose: 'create', retries: 1, success: true, failure: false }
  expect(recordIn(second!, 'c1')).toEqual({ ...done, seen: expect.any(String) })
  expect(recordIn(second!, 'f.spec.field')).toEqual({ ...done, seen: expect.any(String) })
  expect(recordIn(second!, 'c2')).toEqual({
    started: 'T',
    delayed: 'T',
    purpose: 'create',
    retries: 1,
    success: false,
    failure: false,
    message: 'not yet',
  })
  expect(second!.body).toMatchObject({ metadata: { uid: metadata.uid }, status: { c1: { message: 'hello' } } })
  expect(third!.body).toEqual({
    metadata: {
      uid: metadata.uid,
      annotations: {
        [`${prefix}/c1`]: null,
        [`${prefix}/c2`]: null,
        [`${prefix}/f.spec.field`]: null,
        [`${prefix}/seen-configurations`]: null,
        [lastHandled]: '{"spec":{"field":"v"}}\n',
      },
    },
  })
})

test('the writes of traces A2, A3, A4 are those of Kopf: one each for creation, update and deletion', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, () => 'made')
  kopf.on.update(lab.widgets, { id: 'u' }, () => {})
  kopf.on.delete(lab.widgets, { id: 'd' }, () => {})
  const wire = await started(kopf)
  const { metadata } = await lab.create('n', { spec: { field: 'v' } })
  await untilHandled(lab, 'n')
  await lab.patch('n', { spec: { field: 'w' } })
  await untilHandled(lab, 'n')
  await lab.delete('n')
  await lab.untilGone('n')
  await settle(lab)
  const [, creation, update, deletion, ...others] = wire.writes()
  expect(others).toEqual([])
  const handled = (field: string) => ({ [lastHandled]: `{"spec":{"field":"${field}"}}\n` })
  const { uid } = metadata
  expect(creation!.body).toEqual({ status: { c: 'made' }, metadata: { uid, annotations: handled('v') } })
  expect(update!.body).toEqual({ metadata: { uid, annotations: handled('w') } })
  expect(deletion!.body).toEqual([
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path: '/metadata/resourceVersion', value: expect.any(String) },
    { op: 'remove', path: '/metadata/finalizers' },
  ])
})

test('the writes of traces A7, A8 are those of Kopf: a permanent failure counts as handled, without a record', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.create(lab.widgets, { id: 'permanent' }, () => {
    calls.push('permanent')
    throw new PermanentError('no')
  })
  kopf.on.create(lab.widgets, { id: 'limited', retries: 2, backoff: 0.1 }, ({ retry }) => {
    calls.push(`limited ${retry}`)
    throw new Error('again')
  })
  const wire = await started(kopf)
  await lab.create('n', { spec: { field: 'v' } })
  const half = await lab.untilObject('n', (body) => progressOf(body, 'limited') !== undefined)
  expect(progressOf(half, 'permanent')).toMatchObject({ success: false, failure: true, message: 'no', retries: 1 })
  const body = await untilHandled(lab, 'n')
  await settle(lab)
  expect(calls).toEqual(['permanent', 'limited 0', 'limited 1'])
  expect(annotationsOf(body)).toEqual({ [lastHandled]: '{"spec":{"field":"v"}}\n' })
  expect(wire.writes()).toHaveLength(2)
})

test('the writes of trace A9 are those of Kopf: sub-handlers have records under the ids of their parents, which list them', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.create(lab.widgets, { id: 'p' }, ({ subhandler, retry }) => {
    calls.push('p')
    subhandler('a', () => {
      calls.push('a')
      return 1
    })
    subhandler('b', () => {
      calls.push('b')
      if (retry === 0) throw new TemporaryError('later', { delay: 0.2 })
      return 2
    })
  })
  const wire = await started(kopf)
  await lab.create('n', { spec: { field: 'v' } })
  const body = await untilHandled(lab, 'n')
  await settle(lab)
  expect(calls).toEqual(['p', 'a', 'b', 'p', 'b'])
  const [first, second, ...others] = wire.writes()
  expect(others).toEqual([])
  expect(recordIn(first!, 'p')).toMatchObject({ delayed: 'T', retries: 1, subrefs: ['p/a', 'p/b'], success: false })
  expect(recordIn(first!, 'p.a')).toMatchObject({ stopped: 'T', retries: 1, success: true, purpose: 'create' })
  expect(recordIn(first!, 'p.b')).toMatchObject({ delayed: 'T', retries: 1, success: false, message: 'later' })
  expect(first!.body).toMatchObject({ status: { 'p/a': 1 } })
  expect(annotationsIn(second!)).toMatchObject({
    [`${prefix}/p`]: null,
    [`${prefix}/p.a`]: null,
    [`${prefix}/p.b`]: null,
  })
  expect(body['status']).toEqual({ 'p/a': 1, 'p/b': 2 })
})

test('the writes of trace A13 are those of Kopf: an optional delete handler alone adds no finalizer and is not called', async () => {
  const kopf = new Operator()
  const calls: string[] = []
  kopf.on.delete(lab.widgets, { id: 'd', optional: true }, () => void calls.push('d'))
  const wire = await started(kopf)
  await lab.create('n', { metadata: { finalizers: ['example.com/other'] }, spec: {} })
  await untilHandled(lab, 'n')
  await lab.delete('n')
  await settle(lab)
  expect(calls).toEqual([])
  expect(wire.writes()).toHaveLength(1)
})

test('the writes of trace A14 are those of Kopf: a resume within an update has the purpose update', async () => {
  const kopf = new Operator()
  kopf.on.resume(lab.widgets, { id: 'r' }, () => {})
  kopf.on.update(lab.widgets, { id: 'u' }, ({ retry }) => {
    if (retry === 0) throw new TemporaryError('later', { delay: 0.2 })
  })
  const annotations = { [lastHandled]: '{"spec":{"field":"v"}}\n' }
  await lab.create('n', { metadata: { annotations }, spec: { field: 'w' } })
  const wire = await started(kopf)
  await untilHandled(lab, 'n')
  await settle(lab)
  const [first, second, ...others] = wire.writes()
  expect(others).toEqual([])
  expect(recordIn(first!, 'r')).toMatchObject({ purpose: 'update', success: true })
  expect(recordIn(first!, 'u')).toMatchObject({ purpose: 'update', success: false })
  expect(annotationsIn(second!)[lastHandled]).toBe('{"spec":{"field":"w"}}\n')
})

test('an unchanged progress record is not written again', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, () => {})
  const record = {
    started: '2020-01-01T00:00:00.000000+00:00',
    delayed: '2090-01-01T00:00:00.000000+00:00',
    purpose: 'create',
    retries: 3,
    success: false,
    failure: false,
    message: 'by somebody else',
  }
  await lab.create('n', { metadata: { annotations: { [`${prefix}/fn`]: JSON.stringify(record) } }, spec: {} })
  const wire = await started(kopf)
  await lab.elapse(0.5)
  expect(wire.writes()).toEqual([])
})

test('the touch-dummy annotation of Kopf is removed with the next write', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, () => {})
  const annotations = { [`${prefix}/touch-dummy`]: '2020-01-01T00:00:00.000000+00:00' }
  await lab.create('n', { metadata: { annotations }, spec: {} })
  const wire = await started(kopf)
  const body = await untilHandled(lab, 'n')
  expect(annotationsOf(body)).toEqual({ [lastHandled]: '{"spec":{}}\n' })
  expect(wire.writes()).toHaveLength(1)
})
