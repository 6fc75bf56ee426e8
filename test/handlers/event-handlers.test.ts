import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

test('an event handler gets every event, and the listed objects with no type', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.event(lab.widgets, ({ event, name, spec, body }) => {
    expect(event.object).toEqual(body)
    seen.push(`${event.type} ${name} ${spec['n']}`)
  })
  await lab.create('listed', { spec: { n: 0 } })
  await lab.start(kopf)
  await lab.until(() => seen.length === 1)
  await lab.create('one', { spec: { n: 1 } })
  await lab.patch('one', { spec: { n: 2 } })
  await lab.patch('one', { spec: { n: 3 } })
  await lab.patch('one', { status: { x: 1 } }, '/status')
  await lab.delete('one')
  await lab.until(() => seen.length === 6)
  expect(seen).toEqual([
    'null listed 0',
    'ADDED one 1',
    'MODIFIED one 2',
    'MODIFIED one 3',
    'MODIFIED one 3',
    'DELETED one 3',
  ])
})

test('an event handler causes no write, no finalizer and no annotation', async () => {
  const kopf = new Operator()
  let seen = 0
  kopf.on.event(lab.widgets, () => {
    seen += 1
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('seen')
  await lab.until(() => seen > 0)
  await settle(lab)
  expect(wire.writes()).toEqual([])
})

test('an event handler that fails is not retried, and gets the next event', async () => {
  const seen: unknown[] = []
  const kopf = new Operator()
  kopf.on.event(lab.widgets, { id: 'broken' }, ({ spec }) => {
    seen.push(spec['n'])
    throw spec['n'] === 1 ? new Error('oops') : new TemporaryError('later', { delay: 0.1 })
  })
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => seen.length === 1)
  await lab.patch('one', { spec: { n: 2 } })
  await lab.until(() => seen.length === 2)
  await settle(lab)
  expect(seen).toEqual([1, 2])
  expect(lab.logs.join('\n')).toContain("Handler 'broken' failed with an exception and will ignore it: oops")
})

test('the patch and the result of an event handler are written', async () => {
  const kopf = new Operator()
  kopf.on.event(lab.widgets, { id: 'eventHandler' }, ({ spec, patch }) => {
    patch.metadata.labels['size'] = String(spec['n'])
    return { n: spec['n'] }
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('one', { spec: { n: 1 } })
  const body = await lab.untilObject('one', ({ metadata }) => metadata.labels?.['size'] === '1')
  expect(body['status']).toEqual({ eventHandler: { n: 1 } })
  await settle(lab)
  expect(wire.writes('one')).toHaveLength(2)
})

test('the patch and the result of an event handler are not written for a DELETED event', async () => {
  const kopf = new Operator()
  const types: unknown[] = []
  kopf.on.event(lab.widgets, { id: 'eventHandler' }, ({ event }) => {
    types.push(event.type)
    return event.type === 'DELETED' ? { gone: true } : undefined
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('one')
  await lab.until(() => types.length === 1)
  await lab.delete('one')
  await lab.until(() => types.length === 2)
  await settle(lab)
  expect(types).toEqual(['ADDED', 'DELETED'])
  expect(wire.writes()).toEqual([])
})

test('the result of an event handler is written together with those of other handlers', async () => {
  const kopf = new Operator()
  const types: unknown[] = []
  kopf.on.event(lab.widgets, { id: 'eventHandler' }, ({ event, spec }) => {
    types.push(event.type)
    return { n: spec['n'] }
  })
  kopf.on.create(lab.widgets, { id: 'c' }, () => ({ made: true }))
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('together', { spec: { n: 1 } })
  const { status } = await untilHandled(lab, 'together')
  await settle(lab)
  expect(status).toEqual({ eventHandler: { n: 1 }, c: { made: true } })
  expect(wire.writes('together')).toHaveLength(2)
  expect(types).toEqual(['ADDED', 'MODIFIED', 'MODIFIED'])
})
