import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { handledOf, lastHandled, progressOf, settle, untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

/** An object that an earlier operator has handled. */
function handledBefore(spec: Record<string, unknown>, stored: Record<string, unknown> = spec) {
  return { metadata: { annotations: { [lastHandled]: `${JSON.stringify({ spec: stored })}\n` } }, spec }
}

test('existing objects are resumed once at the start, without a write', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.resume(lab.widgets, { id: 'r' }, ({ name, reason, diff, old }) => {
    calls.push(`${reason} ${name} ${diff.length} ${JSON.stringify(old)}`)
  })
  await lab.create('old', handledBefore({ a: 1 }))
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.until(() => calls.length > 0)
  await lab.create('new', { spec: { a: 1 } })
  await untilHandled(lab, 'new')
  await lab.patch('old', { spec: { a: 2 } })
  await untilHandled(lab, 'old')
  await settle(lab)
  expect(calls).toEqual(['resume old 0 {"spec":{"a":1}}'])
  expect(wire.writes('old')).toHaveLength(1)
})

test('a change while the operator was down is an update, in which resume handlers are called too', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.resume(lab.widgets, { id: 'r' }, ({ reason, diff }) => void calls.push(`r ${reason} ${diff.length}`))
  kopf.on.update(lab.widgets, { id: 'u' }, ({ reason, diff, retry }) => {
    calls.push(`u ${reason} ${diff.length}`)
    if (retry === 0) throw new TemporaryError('later', { delay: 0.3 })
  })
  await lab.create('mixed', handledBefore({ a: 2 }, { a: 1 }))
  await lab.start(kopf)
  const half = await lab.untilObject('mixed', (body) => progressOf(body, 'r') !== undefined)
  expect(progressOf(half, 'r')).toMatchObject({ purpose: 'update', success: true })
  await untilHandled(lab, 'mixed')
  await settle(lab)
  expect(calls).toEqual(['r update 1', 'u update 1', 'u update 1'])
})

test('objects that are being deleted are resumed only by handlers with deleted: true', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.resume(lab.widgets, { id: 'r' }, () => void calls.push('r'))
  kopf.on.resume(lab.widgets, { id: 'deleted', deleted: true }, ({ reason }) => void calls.push(`deleted ${reason}`))
  kopf.on.delete(lab.widgets, { id: 'd' }, () => void calls.push('d'))
  const first = await lab.start(kopf)
  await lab.create('going', { spec: {} })
  await untilHandled(lab, 'going')
  await lab.stop(first)
  await lab.delete('going')
  await lab.start(kopf)
  await lab.untilGone('going')
  expect(calls).toEqual(['deleted delete', 'd'])
})

test('a function for creation and resuming is called once per object', async () => {
  const calls: string[] = []
  const ensure = ({ name, reason }: { readonly name: string; readonly reason: string }) => {
    calls.push(`${reason} ${name}`)
  }
  const kopf = new Operator()
  kopf.on.create(lab.widgets, ensure)
  kopf.on.resume(lab.widgets, ensure)
  const first = await lab.start(kopf)
  await lab.create('paired', { spec: {} })
  await untilHandled(lab, 'paired')
  await settle(lab)
  expect(calls).toEqual(['create paired'])
  await lab.stop(first)
  await lab.start(kopf)
  await lab.until(() => calls.length === 2)
  await settle(lab)
  expect(calls).toEqual(['create paired', 'resume paired'])
})

test('a resume handler that is retried stores its progress, and removes it at the end', async () => {
  const retries: number[] = []
  const kopf = new Operator()
  kopf.on.resume(lab.widgets, { id: 'r' }, ({ retry }) => {
    retries.push(retry)
    if (retry === 0) throw new TemporaryError('later', { delay: 0.3 })
  })
  await lab.create('retried', handledBefore({ a: 1 }))
  await lab.start(kopf)
  const half = await lab.untilObject('retried', (body) => progressOf(body, 'r') !== undefined)
  expect(progressOf(half, 'r')).toMatchObject({ purpose: 'resume', retries: 1 })
  const body = await untilHandled(lab, 'retried')
  expect(handledOf(body)).toEqual({ spec: { a: 1 } })
  await settle(lab)
  expect(retries).toEqual([0, 1])
})

test.skipIf(lab.isReal)('a watch that starts over resumes no object again', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.resume(lab.widgets, { id: 'r' }, ({ name }) => void calls.push(name))
  await lab.create('listed', handledBefore({ a: 1 }))
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.until(() => calls.length > 0)
  const outage = lab.server.faults.add({ on: { verb: 'watch' }, effect: { type: 'error', status: 503 } })
  lab.server.close()
  await lab.create('later')
  await lab.delete('later')
  lab.server.compact()
  await lab.until(() => outage.hits > 0)
  outage.remove()
  wire.requests.length = 0
  await lab.elapse(120)
  expect(wire.watches('widgets').some(({ query }) => query.get('sendInitialEvents') === 'true')).toBe(true)
  expect(calls).toEqual(['listed'])
})
