/** Observer events of a run: the watched resources, the number of existing objects, and one outcome per object. */
import { type Observer, Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { gate } from '../support/recording.ts'
import { RecordingObserver } from '../support/recording-observer.ts'

const lab = useCleanLab()

async function observe(
  kopf: Operator,
  notebook: RecordingObserver = new RecordingObserver(),
): Promise<RecordingObserver> {
  await lab.start(kopf, { observer: notebook.observer })
  await lab.until(() => notebook.found > 0 && notebook.isSettled)
  return notebook
}

test('the observer gets each watched resource with its handler types, and then the number of its objects', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, () => {})
  kopf.on.update(lab.widgets, { id: 'one' }, () => {})
  kopf.on.update(lab.widgets, { id: 'two' }, () => {})
  kopf.timer(lab.widgets, { interval: '1h' }, () => {})
  kopf.index('namespaces', ({ name }) => [[name, 1]])
  await lab.create('a')
  await lab.create('b')
  const notebook = await observe(kopf)
  expect(notebook.kinds).toEqual({ widgets: ['create', 'update', 'update', 'timer'], namespaces: ['index'] })
  expect(notebook.objects['widgets']).toBe(2)
  expect(notebook.objects['namespaces']).toBeGreaterThan(0)
  // Objects that are only indexed are not counted.
  expect(notebook.found).toBe(2)
  expect(notebook.servers).toHaveLength(1)
  if (lab.isReal) expect(notebook.servers[0]).toMatch(/^https:/)
  else expect(notebook.servers[0]).toBeUndefined()
})

test('the observer gets one outcome per existing object: created, updated or unchanged', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  kopf.on.update(lab.widgets, { id: 'u' }, () => {})
  for (const name of ['a', 'b', 'c']) await lab.create(name, { spec: { size: 1 } })
  const first = await observe(kopf)
  expect(first.outcomes).toEqual({ created: 3 })
  await lab.stopAll()
  await lab.patch('b', { spec: { size: 2 } })
  await lab.create('d', { spec: { size: 1 } })
  const second = await observe(kopf)
  expect(second.outcomes).toEqual({ created: 1, updated: 1, unchanged: 2 })
  await lab.create('later', { spec: { size: 1 } })
  await lab.patch('a', { spec: { size: 3 } })
  await untilHandled(lab, 'later')
  await untilHandled(lab, 'a')
  await settle(lab)
  // Later objects and repeated handlings are not counted.
  expect(second.found).toBe(4)
  expect(second.settled).toBe(4)
})

test('the observer gets the outcomes resumed and deleted', async () => {
  const kopf = new Operator()
  kopf.on.resume(lab.widgets, { id: 'r' }, () => {})
  kopf.on.delete(lab.widgets, { id: 'd' }, () => {})
  await lab.create('a', { spec: {} })
  await lab.create('b', { spec: {} })
  await observe(kopf)
  await lab.stopAll()
  await lab.delete('b')
  const { outcomes } = await observe(kopf)
  expect(outcomes).toEqual({ resumed: 1, deleted: 1 })
})

test('the observer gets the failure of one handler as the outcome of the object', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'good' }, () => {})
  kopf.on.create(lab.widgets, { id: 'bad' }, ({ name }) => {
    if (name === 'later') throw new TemporaryError('Not yet', { delay: '1h' })
    if (name === 'never') throw new PermanentError('Never')
  })
  for (const name of ['a', 'later', 'never']) await lab.create(name)
  const { outcomes } = await observe(kopf)
  expect(outcomes).toEqual({ created: 1, retrying: 1, failed: 1 })
})

test('the observer gets the outcome watched for objects of daemons, and skipped for objects without handlers', async () => {
  const kopf = new Operator()
  kopf.daemon(lab.widgets, { id: 'd', annotations: { daemon: 'yes' } }, ({ stopped }) => stopped.wait('1h'))
  kopf.on.create(lab.widgets, { id: 'c', annotations: { create: 'yes' } }, () => {})
  await lab.create('a', { metadata: { annotations: { daemon: 'yes' } } })
  await lab.create('b', { metadata: { annotations: { create: 'yes' } } })
  await lab.create('c')
  expect((await observe(kopf)).outcomes).toEqual({ watched: 1, created: 1, skipped: 1 })
  await lab.stopAll()
  const spying = new Operator()
  spying.on.event(lab.widgets, () => {})
  expect((await observe(spying)).outcomes).toEqual({ watched: 3 })
})

test('the observer gets the outcome of a reconciled object once its reconciler was called, after its children were listed', async () => {
  const kopf = new Operator()
  const called: string[] = []
  kopf.reconcile(lab.widgets, { id: 'r', owns: ['configmaps'] }, ({ name }) => {
    called.push(name)
    if (name === 'later') throw new TemporaryError('Not yet', { delay: '1h' })
    if (name === 'never') throw new PermanentError('Never')
  })
  for (const name of ['a', 'b', 'later', 'never']) await lab.create(name)
  const notebook = new RecordingObserver()
  const before: string[] = []
  const observer: Observer = {
    ...notebook.observer,
    objectHandled: (event) => {
      before.push(`${notebook.settled + 1} settled, ${new Set(called).size >= notebook.settled + 1}`)
      notebook.observer.objectHandled!(event)
    },
  }
  await lab.start(kopf, { observer })
  await lab.until(() => notebook.found > 0 && notebook.isSettled)
  expect(notebook.outcomes).toEqual({ reconciled: 2, retrying: 1, failed: 1 })
  expect(before).toEqual([1, 2, 3, 4].map((count) => `${count} settled, true`))
})

test('the observer gets the outcome of a slow object only when it is handled', async () => {
  const kopf = new Operator()
  const door = gate()
  kopf.on.create(lab.widgets, async ({ name }) => {
    if (name === 'slow') await door.opened
  })
  await lab.create('slow')
  await lab.create('quick')
  const notebook = new RecordingObserver()
  await lab.start(kopf, { observer: notebook.observer })
  await lab.until(() => notebook.settled === 1)
  expect(notebook.found).toBe(2)
  door.open()
  await lab.until(() => notebook.isSettled)
  expect(notebook.outcomes).toEqual({ created: 2 })
})

test('the observer gets the outcome left for an object that is deleted before it is handled', async () => {
  const kopf = new Operator({ settings: { queueing: { workerLimit: 1 } } })
  const door = gate()
  kopf.on.create(lab.widgets, { id: 'c' }, async ({ name }) => {
    if (name === 'a') await door.opened
  })
  await lab.create('a')
  await lab.create('b')
  const notebook = new RecordingObserver()
  await lab.start(kopf, { observer: notebook.observer })
  await lab.until(() => notebook.found === 2)
  await lab.delete('b')
  await settle(lab)
  door.open()
  await lab.until(() => notebook.isSettled)
  expect(notebook.outcomes).toEqual({ created: 1, left: 1 })
})

test('the observer gets the outcome retrying for an object whose patch was refused', async () => {
  const kopf = new Operator({ settings: { queueing: { errorDelays: ['1h'] }, networking: { errorBackoffs: [] } } })
  kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  await lab.create('refused', { spec: {} })
  await lab.create('other', { spec: {} })
  const wire = lab.record()
  wire.meddle = async ({ method, path }, send) => {
    if (method === 'PATCH' && path === lab.path('refused')) throw new Error('The wire is cut')
    return send()
  }
  const notebook = new RecordingObserver()
  await lab.start(kopf, { transport: wire, observer: notebook.observer })
  await lab.until(() => notebook.found > 0 && notebook.isSettled)
  expect(notebook.outcomes).toEqual({ created: 1, retrying: 1 })
})

test('an observer may implement only some of the methods', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, () => {})
  await lab.create('a', { spec: {} })
  const found: string[] = []
  await lab.start(kopf, { observer: { objectFound: ({ resource }) => void found.push(resource.plural) } })
  await untilHandled(lab, 'a')
  expect(found).toEqual(['widgets'])
})

/** All events of one run, in their order, as `name detail`. */
function recordAll(): { readonly observer: Observer; readonly events: string[] } {
  const events: string[] = []
  const observer: Observer = {
    handlerStarted: ({ handler, object, retry }) =>
      void events.push(`started ${handler.type} ${handler.id} of ${object?.name ?? 'the operator'}, retry ${retry}`),
    handlerFinished: ({ handler, outcome, delayMs, error }) =>
      void events.push(
        `finished ${handler.id} ${outcome} ${delayMs ?? ''} ${error instanceof Error ? error.message : ''}`.trim(),
      ),
    decisionMade: ({ decision }) => void events.push(`decided ${decision.type} ${decision.reason}`),
    patchWritten: ({ purpose }) => void events.push(`patched ${purpose}`),
    timerFired: ({ handler, latenessMs }) => void events.push(`timer ${handler.id} ${latenessMs >= 0}`),
    childApplied: ({ owner, child }) =>
      void events.push(`applied ${child.resource.plural}/${child.name} of ${owner.name}`),
    childDeleted: ({ child }) => void events.push(`deleted ${child.resource.plural}/${child.name}`),
  }
  return { observer, events }
}

test('the observer gets each attempt of a handler with its outcome, and the decisions about the object', async () => {
  const { observer, events } = recordAll()
  const kopf = new Operator()
  kopf.on.startup({ id: 'setup' }, () => {})
  kopf.on.create(lab.widgets, { id: 'c' }, ({ retry }) => {
    if (retry === 0) throw new TemporaryError('Not yet', { delay: 2 })
  })
  await lab.start(kopf, { observer })
  await lab.create('a')
  await untilHandled(lab, 'a')
  const calls = events.filter((event) => /^(started|finished)/.test(event))
  expect(calls).toEqual([
    'started startup setup of the operator, retry 0',
    'finished setup succeeded',
    'started create c of a, retry 0',
    'finished c retrying 2000 Not yet',
    'started create c of a, retry 1',
    'finished c succeeded',
  ])
  expect(events).toContain('decided handle create')
  expect(events).toContain('patched handling')
})

test('the observer gets a handler whose retries are used up as failed, without a start', async () => {
  const { observer, events } = recordAll()
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c', retries: 0 }, () => {})
  await lab.start(kopf, { observer })
  await lab.create('a')
  await lab.until(() => events.some((event) => event.startsWith('finished c failed')))
  expect(events.filter((event) => event.startsWith('started'))).toEqual([])
})

test('the observer gets each call of a timer', async () => {
  const { observer, events } = recordAll()
  const kopf = new Operator()
  kopf.timer(lab.widgets, { id: 't', interval: 1 }, () => {})
  await lab.start(kopf, { observer })
  await lab.create('a')
  await lab.until(() => events.filter((event) => event === 'timer t true').length >= 2)
  expect(events).toContain('started timer t of a, retry 0')
})

test('the observer gets applied and deleted children of a reconciler', async () => {
  const { observer, events } = recordAll()
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { id: 'r', owns: ['configmaps'] }, ({ name, spec }) => ({
    children: spec['isEmpty']
      ? []
      : [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-map` }, data: { a: 'b' } }],
  }))
  await lab.start(kopf, { observer })
  await lab.create('a', { spec: { isEmpty: false } })
  await lab.until(() => events.includes('applied configmaps/a-map of a'))
  await lab.patch('a', { spec: { isEmpty: true } })
  await lab.until(() => events.includes('deleted configmaps/a-map'))
})

test('the observer gets the phases of a run, the stream, and the status of every response', async () => {
  const events: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'c' }, async ({ client, name }) => {
    await client.create('configmaps', { metadata: { name: `${name}-made` } })
    await client.get('configmaps', 'missing').catch(() => undefined)
  })
  kopf.daemon(lab.widgets, { id: 'd' }, ({ stopped }) => stopped.wait())
  await lab.start(kopf, {
    observer: {
      phaseChanged: ({ phase }) => void events.push(phase),
      streamOpened: ({ resource }) => void events.push(`opened ${resource.plural}`),
      requestFinished: ({ method, path, code }) => void events.push(`${method} ${path.split('/').at(-1)} ${code}`),
      daemonStarted: ({ handler }) => void events.push(`started ${handler.id}`),
      daemonStopped: ({ handler }) => void events.push(`stopped ${handler.id}`),
    },
  })
  await lab.create('a')
  await untilHandled(lab, 'a')
  await lab.until(() => events.includes('started d'))
  await lab.stopAll()
  expect(events).toEqual(
    expect.arrayContaining(['POST configmaps 201', 'GET missing 404', 'opened widgets', 'started d', 'stopped d']),
  )
  const phases = ['starting', 'running', 'stopping', 'stopped']
  expect(events.filter((event) => phases.includes(event))).toEqual(phases)
})
