/** Observer events of the work queue, of processing, of streams and of requests: the facts that metrics and the dashboard need. */
import { AdmissionError, type Observer, Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { Door, refusalOf, widget } from '../admission/admission-support.ts'
import { untilHandled, useCleanLab } from '../support/handled.ts'
import { gate } from '../support/recording.ts'

const lab = useCleanLab()

type EventOf<K extends keyof Observer> = Parameters<NonNullable<Observer[K]>>[0]

/** Records the events of some names, in their order. */
function record<K extends keyof Observer>(...names: K[]): { observer: Observer; events: Array<[K, EventOf<K>]> } {
  const events: Array<[K, EventOf<K>]> = []
  const listen = (name: K) => (event: EventOf<K>) => void events.push([name, event])
  return { observer: Object.fromEntries(names.map((name) => [name, listen(name)])) as Observer, events }
}

test('each workQueued is followed by one processingStarted or workDropped of the same object and priority', async () => {
  const kopf = new Operator({ settings: { queueing: { workerLimit: 1 } } })
  const door = gate()
  kopf.on.create(lab.widgets, () => door.opened)
  const { observer, events } = record('workQueued', 'workDropped', 'processingStarted')
  for (const name of ['one', 'two', 'three']) await lab.create(name, { spec: {} })
  const running = await lab.start(kopf, { observer })
  await lab.create('four', { spec: {} })
  await lab.until(() => events.filter(([name]) => name === 'workQueued').length >= 4)
  const stopped = lab.stop(running)
  door.open()
  await stopped
  const open = new Map<string, string>()
  for (const [name, { object, priority }] of events) {
    const key = object.uid!
    if (name === 'workQueued') {
      expect(open.has(key)).toBe(false)
      open.set(key, priority)
    } else {
      expect(open.get(key)).toBe(priority)
      open.delete(key)
    }
  }
  expect([...open]).toEqual([])
  expect(events.filter(([name]) => name === 'workDropped').length).toBeGreaterThan(0)
  expect(new Set(events.map(([, { priority }]) => priority))).toEqual(new Set(['now', 'backlog']))
})

test.each<[string, string, boolean, () => unknown]>([
  ['succeeds', 'success', false, () => {}],
  [
    'throws an arbitrary error',
    'error',
    false,
    () => {
      throw new Error('no disk')
    },
  ],
  [
    'throws a PermanentError',
    'error',
    true,
    () => {
      throw new PermanentError('never')
    },
  ],
  [
    'throws a TemporaryError',
    'requeue_after',
    false,
    () => {
      throw new TemporaryError('not yet', { delay: '1h' })
    },
  ],
])('a processing whose handler %s has the result %s', async (_, result, hasFailedPermanently, fn) => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { backoff: '1h' }, fn)
  const { observer, events } = record('processingStarted', 'processingFinished')
  await lab.start(kopf, { observer })
  await lab.create('one', { spec: {} })
  await lab.until(() => events.some(([name]) => name === 'processingFinished'))
  const [[, started], [, finished]] = events as unknown as [
    [string, EventOf<'processingStarted'>],
    [string, EventOf<'processingFinished'>],
  ]
  expect(finished).toMatchObject({ result, hasFailedPermanently, error: undefined, isDeleting: false })
  expect(finished.delayMs === undefined).toBe(result === 'success' || hasFailedPermanently)
  expect(finished.object).toBe(started.object)
})

test('requests have a purpose, and a resource where the path has one', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, async ({ client, recorder }) => {
    recorder.info('Made', 'It is made.')
    await client.list('configmaps')
  })
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, ({ name }) => ({
    children: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: {} }],
  }))
  const { observer, events } = record('requestFinished')
  await lab.start(kopf, { observer })
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  await lab.until(() => events.some(([, { purpose }]) => purpose === 'event'))
  await lab.until(() => events.some(([, { purpose }]) => purpose === 'children'))
  const seen = new Set(events.map(([, { purpose, resource }]) => `${purpose} ${resource?.plural ?? ''}`.trim()))
  for (const expected of [
    'watch widgets',
    'watch configmaps',
    'handling widgets',
    'children configmaps',
    'event events',
    'client',
    'discovery',
  ]) {
    expect(seen).toContain(expected)
  }
  expect([...seen].filter((one) => one.startsWith('other'))).toEqual([])
})

test('an answered review has the reviewed object, its operation, and the message of a denial', async () => {
  const kopf = new Operator()
  const door = new Door(lab, kopf)
  kopf.on.validate(lab.widgets, { id: 'small' }, ({ spec }) => {
    if (spec['size'] !== 1) throw new AdmissionError(`no size ${spec['size']}`.padEnd(5000, '!'))
  })
  const { observer, events } = record('reviewAnswered')
  await lab.start(kopf, { observer })
  await door.ask({ operation: 'UPDATE' })
  await door.ask({ name: undefined, object: widget(lab, { metadata: { name: undefined, generateName: 'any-' } }) })
  const large = widget(lab, { spec: { size: 2 }, metadata: { uid: 'the-uid' } })
  await door.ask({ object: null, oldObject: large, operation: 'DELETE' })
  await refusalOf(door.ask({ object: null }))
  const [allowed, unnamed, denied, refused] = events.map(([, event]) => event)
  const { namespace } = lab
  expect(allowed).toMatchObject({
    object: { resource: { plural: 'widgets' }, namespace, name: 'one', uid: undefined },
    ...{ operation: 'UPDATE', allowed: true, message: undefined, body: { spec: { size: 1 } } },
  })
  expect(unnamed).toMatchObject({ object: { name: 'any-*', namespace } })
  expect(denied).toMatchObject({
    ...{ object: { name: 'one', uid: 'the-uid' }, operation: 'DELETE', allowed: false, body: large },
    ...{ message: expect.stringMatching(/^no size 2!{1991}$/), handler: { id: 'small', type: 'validate' } },
  })
  expect(refused).toMatchObject({ object: undefined, body: undefined, operation: undefined, code: 400 })
})

test('data of a watch, the end of a watch and forgotten objects are reported', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, () => {})
  const { observer, events } = record('streamReceived', 'streamEnded', 'objectForgotten')
  const running = await lab.start(kopf, { observer })
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  await lab.delete('one')
  await lab.until(() => events.some(([name]) => name === 'objectForgotten'))
  expect(events.some(([name]) => name === 'streamReceived')).toBe(true)
  expect(events.some(([name]) => name === 'streamEnded')).toBe(false)
  await lab.stop(running)
  expect(events.at(-1)).toMatchObject(['streamEnded', { namespace: lab.namespace, resource: { plural: 'widgets' } }])
})
