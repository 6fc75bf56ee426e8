/** The journal of an object, as the dashboard shows it: states, decisions, calls, writes, children and Events, without secrets. */
import { Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import type { JournalEntry } from '../../src/dashboard/protocol.ts'
import { dashboardOf } from '../../src/run/options.ts'
import { lastHandled, untilHandled, useCleanLab } from '../support/handled.ts'
import type { Lab } from '../support/lab.ts'
import { gate } from '../support/recording.ts'
import { anywhere, openDashboard } from './dashboard-support.ts'

const lab = useCleanLab()

function operator(settings: object = {}): Operator {
  return new Operator({ settings: { dashboard: { address: anywhere }, ...settings } })
}

const resourceOf = ({ group }: Lab) => `widgets.v1.${group}`

async function start(kopf: Operator) {
  const browser = await openDashboard(await lab.start(kopf))
  /** Empty for an object that the operator does not know yet. */
  const timelineOf = async (name: string): Promise<readonly JournalEntry[]> => {
    const query = new URLSearchParams({ resource: resourceOf(lab), namespace: lab.namespace, name })
    const { status, body } = await browser.send(`api/views/object?${query}`)
    return status === 404 ? [] : body.timeline
  }
  const untilEntry = async (name: string, isExpected: (entry: JournalEntry) => boolean) => {
    await lab.until(async () => (await timelineOf(name)).some(isExpected))
    return timelineOf(name)
  }
  return { browser, timelineOf, untilEntry }
}

const write = (entry: JournalEntry) => entry.type === 'write'

test('the journal shows a creation from the observed state to the write, with the handler that has set each field', async () => {
  const kopf = operator()
  kopf.on.create(lab.widgets, { id: 'first' }, ({ patch }) => {
    patch['status'] = { phase: 'Ready' }
  })
  kopf.on.create(lab.widgets, { id: 'second' }, () => ({ answer: 42 }))
  const { untilEntry } = await start(kopf)
  await lab.create('one', { spec: { size: 1 } })
  const entries = await untilEntry('one', write)
  expect(entries.slice(0, 5)).toMatchObject([
    { type: 'state', event: 'ADDED', changes: [] },
    { type: 'decision', decision: 'handle', reason: 'create', why: 'call the handlers that are due for create' },
    { type: 'handler', handler: 'first', handlerType: 'create', outcome: 'succeeded', retry: 0 },
    { type: 'handler', handler: 'second', outcome: 'succeeded' },
    { type: 'write', purpose: 'handling' },
  ])
  const { changes } = entries.find(write) as Extract<JournalEntry, { type: 'write' }>
  const added = changes.map(({ path, by, new: value }) => [path, by, value])
  expect(added).toContainEqual(['status.phase', 'first', '"Ready"'])
  expect(added).toContainEqual(['status.second.answer', 'second', '42'])
  expect(added).toContainEqual([`metadata.annotations["${lastHandled}"]`, undefined, '"[JSON, 20 characters]"'])
  const ids = entries.map(({ id }) => id)
  expect(ids).toEqual(ids.toSorted((a, b) => a - b))
})

test('the journal says that a write has only added or removed the finalizer', async () => {
  const kopf = operator()
  kopf.on.create(lab.widgets, () => {})
  kopf.on.delete(lab.widgets, () => {})
  const { timelineOf } = await start(kopf)
  await lab.create('one', { spec: { size: 1 } })
  await untilHandled(lab, 'one')
  await lab.delete('one')
  await lab.untilGone('one')
  const writes = (await timelineOf('one')).filter((entry) => entry.type === 'write')
  const finalizers = { only: 'finalizer', changes: [{ path: 'metadata.finalizers' }], moreChanges: 0 }
  expect(writes[0]).toMatchObject({ ...finalizers, changes: [{ operation: 'add' }] })
  expect(writes.at(-1)).toMatchObject({ ...finalizers, changes: [{ operation: 'remove' }] })
  expect(writes.slice(1, -1).map(({ only }) => only)).toEqual([undefined])
})

test('the journal shows what other clients have changed, and which field a handler has written', async () => {
  const kopf = operator()
  kopf.on.update(lab.widgets, { id: 'grow' }, ({ spec, patch }) => {
    patch['status'] = { size: spec['size'] }
  })
  await lab.create('one', { spec: { size: 1 } })
  const { untilEntry } = await start(kopf)
  await lab.patch('one', { spec: { size: 2 } })
  await untilEntry('one', write)
  await lab.patch('one', { spec: { size: 3 } })
  const isThird = (entry: JournalEntry) =>
    write(entry) &&
    'changes' in entry &&
    entry.changes.some((change) => change.path === 'status.size' && change.new === '3')
  const entries = await untilEntry('one', isThird)
  const changes = entries.flatMap((entry) => (entry.type === 'state' ? entry.changes : []))
  expect(changes).toContainEqual({ operation: 'change', path: 'spec.size', old: '2', new: '3' })
  const written = entries.flatMap((entry) => (entry.type === 'write' ? entry.changes : []))
  expect(written).toContainEqual({ operation: 'change', path: 'status.size', old: '2', new: '3', by: 'grow' })
})

test('the journal shows the attempts of a failing handler with their errors and delays', async () => {
  const kopf = operator()
  kopf.on.create(lab.widgets, { id: 'shaky' }, ({ retry }) => {
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.1 })
    throw new PermanentError('never')
  })
  const { untilEntry } = await start(kopf)
  await lab.create('one')
  const entries = await untilEntry('one', (entry) => entry.type === 'handler' && entry.outcome === 'failed')
  expect(entries.filter(({ type }) => type === 'handler')).toMatchObject([
    { handler: 'shaky', retry: 0, outcome: 'retrying', delayMs: 100, error: 'not yet' },
    { handler: 'shaky', retry: 1, outcome: 'failed', error: 'never' },
  ])
})

test('the journal shows a handler that is running', async () => {
  const kopf = operator()
  const ended = gate()
  kopf.on.create(lab.widgets, { id: 'slow' }, () => ended.opened)
  const { untilEntry } = await start(kopf)
  await lab.create('one')
  const [running] = (await untilEntry('one', ({ type }) => type === 'handler')).filter(({ type }) => type === 'handler')
  expect(running).toMatchObject({ handler: 'slow', outcome: 'running' })
  ended.open()
  const entries = await untilEntry('one', (entry) => entry.type === 'handler' && entry.outcome === 'succeeded')
  expect(entries.filter(({ type }) => type === 'handler')).toMatchObject([{ id: running!.id, outcome: 'succeeded' }])
})

test('the journal shows the children and the Events of an object', async () => {
  const kopf = operator()
  kopf.reconcile(lab.widgets, { id: 'made', owns: ['configmaps'] }, ({ name, recorder }) => {
    recorder.info('Reconciled', 'all is well')
    return { children: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-child` } }] }
  })
  const { browser, untilEntry } = await start(kopf)
  await lab.create('one')
  await untilEntry('one', ({ type }) => type === 'child')
  const entries = await untilEntry('one', ({ type }) => type === 'event')
  expect(entries.find(({ type }) => type === 'child')).toMatchObject({
    action: 'applied',
    child: { resource: 'configmaps.v1', namespace: lab.namespace, name: 'one-child' },
  })
  expect(entries.find(({ type }) => type === 'event')).toMatchObject({
    eventType: 'Normal',
    reason: 'Reconciled',
    message: 'all is well',
  })
  const { children } = await browser.view('object', {
    resource: resourceOf(lab),
    namespace: lab.namespace,
    name: 'one',
  })
  expect(children).toMatchObject([{ resource: 'configmaps.v1', name: 'one-child', isReady: true }])
})

test('no value of a Secret or of a sensitive field is in anything that the dashboard prints', async () => {
  const words = { data: 'cohort-violet', other: 'marble-lagoon', field: 'tandem-quarry', late: 'velvet-harbor' }
  const encode = (text: string) => Buffer.from(text).toString('base64')
  const kopf = operator()
  const seen = gate()
  const leak = (text: string, logger: { info(message: string): void }) => logger.info(`it is ${text}`)
  kopf.on.event('secrets', { when: ({ name }) => name === 'the-secret' }, ({ body, logger }) => {
    leak(Buffer.from(body['data']!['any']!, 'base64').toString(), logger)
  })
  kopf.on.update('secrets', { when: ({ name }) => name === 'the-secret' }, ({ body, recorder }) => {
    recorder.info('Leaked', `it is ${Buffer.from(body['data']!['any']!, 'base64')}`)
    seen.open()
    throw new PermanentError(`cannot use ${Buffer.from(body['data']!['any']!, 'base64')} or ${body['data']!['any']}`)
  })
  kopf.on.update(lab.widgets, { id: 'leaky' }, ({ spec, patch, logger }) => {
    leak(String(spec['password']), logger)
    patch['status'] = { password: spec['password'], token: spec['password'] }
    throw new TemporaryError(`login with ${spec['password']} failed`, { delay: 3600 })
  })
  const { browser, untilEntry } = await start(kopf)
  const secrets = `/api/v1/namespaces/${lab.namespace}/secrets`
  await lab.call('POST', secrets, { metadata: { name: 'the-secret' }, data: { any: encode(words.data) } })
  await lab.create('one', { spec: { password: words.field, env: [{ name: 'API_TOKEN', value: words.other }] } })
  await untilEntry('one', ({ type }) => type === 'state')
  await lab.call(
    'PATCH',
    `${secrets}/the-secret`,
    { data: { any: encode(words.late) } },
    'application/merge-patch+json',
  )
  await lab.patch('one', { spec: { password: words.late } })
  await seen.opened
  await untilEntry('one', (entry) => entry.type === 'handler' && entry.outcome === 'retrying')
  const texts: string[] = []
  const views = [
    'overview',
    'objects',
    'handlers',
    'requests',
    'webhooks',
    'problems',
    `object?resource=secrets.v1&namespace=${lab.namespace}&name=the-secret`,
    `object?resource=${resourceOf(lab)}&namespace=${lab.namespace}&name=one`,
  ]
  for (const view of views) texts.push((await browser.send(`api/views/${view}`)).text)
  const all = texts.join('\n')
  expect(all).toContain('it is [concealed]')
  expect(all).toContain('login with [concealed] failed')
  expect(all).toContain('spec.password')
  for (const word of Object.values(words)) {
    expect(all).not.toContain(word)
    expect(all).not.toContain(encode(word))
  }
  await lab.call('DELETE', `${secrets}/the-secret`)
})

test('the journal of an object has as many entries as the settings say, and counts the others', async () => {
  const kopf = operator({ journal: { entriesPerObject: 3 } })
  kopf.on.event(lab.widgets, () => {})
  const { browser, untilEntry } = await start(kopf)
  await lab.create('one', { spec: { size: 0 } })
  for (let size = 1; size <= 4; size += 1) await lab.patch('one', { spec: { size } })
  await untilEntry('one', (entry) => entry.type === 'handler' && entry.id > 8)
  const { timeline, dropped } = await browser.view('object', {
    resource: resourceOf(lab),
    namespace: lab.namespace,
    name: 'one',
  })
  expect(timeline).toHaveLength(3)
  expect(dropped).toBeGreaterThan(0)
})

test('the journal of a deleted object can still be read', async () => {
  const kopf = operator()
  kopf.on.create(lab.widgets, () => {})
  const { browser, untilEntry } = await start(kopf)
  await lab.create('one')
  await untilEntry('one', write)
  await lab.delete('one')
  await lab.until(async () => (await browser.view('objects')).total === 0)
  const { object, timeline } = await browser.view('object', {
    resource: resourceOf(lab),
    namespace: lab.namespace,
    name: 'one',
  })
  expect(object).toMatchObject({ name: 'one', why: 'It does not exist any more' })
  expect(timeline.at(-1)).toMatchObject({ type: 'state', event: 'DELETED' })
})

test('without a dashboard, no journal is kept, and its events have no listener', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, () => {})
  const running = await lab.start(kopf)
  expect(dashboardOf(running)).toBeUndefined()
  expect(lab.logs.filter((line) => line.includes('journal'))).toEqual([])
})

test('an operator whose journal is switched on without a dashboard says that it keeps none, and works', async () => {
  const kopf = new Operator({ settings: { journal: { enabled: true } } })
  kopf.on.create(lab.widgets, () => {})
  const running = await lab.start(kopf)
  expect(dashboardOf(running)).toBeUndefined()
  await lab.untilLogged('The journal is not kept, although settings.journal.enabled is true')
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
})

test('a dashboard with the journal switched off shows objects without a timeline', async () => {
  const kopf = operator({ journal: { enabled: false } })
  kopf.on.create(lab.widgets, () => {})
  const { browser } = await start(kopf)
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  const one = { resource: resourceOf(lab), namespace: lab.namespace, name: 'one' }
  expect((await browser.view('object', one)).timeline).toEqual([])
})
