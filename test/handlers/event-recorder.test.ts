import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { type Body, useLab } from '../support/lab.ts'

const lab = useLab()

/** The events of an object, queried like by `kubectl describe`. */
async function eventsOf(name: string): Promise<Body[]> {
  const { uid } = (await lab.get(name)).metadata
  const path = `/api/v1/namespaces/${lab.namespace}/events?fieldSelector=involvedObject.uid%3D${uid}`
  const { body } = await lab.call('GET', path)
  return body['items'] as Body[]
}

async function untilEvents(name: string, isSo: (events: Body[]) => boolean): Promise<Body[]> {
  let events: Body[] = []
  await lab.until(async () => {
    events = await eventsOf(name)
    return isSo(events)
  })
  return events
}

test('Kubernetes events of a handler have all fields that kubectl shows', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { when: ({ name }) => name === 'eventful' }, ({ recorder }) => {
    const { info } = recorder
    info('Started', 'It has begun')
    recorder.warn('Trembling', 'It is shaky')
    recorder.exception(new TypeError('Not of this type'))
    recorder.event({ type: 'Normal', reason: 'Custom', message: 'Anything' })
  })
  await lab.start(kopf)
  const { metadata } = await lab.create('eventful')
  const events = await untilEvents('eventful', (all) => all.length === 4)
  const said = events.map(({ type, reason, message }) => [type, reason, message].join(': '))
  expect(said.sort()).toEqual([
    'Error: TypeError: Not of this type',
    'Normal: Custom: Anything',
    'Normal: Started: It has begun',
    'Warning: Trembling: It is shaky',
  ])
  const [event] = events as [Body]
  expect(event).toMatchObject({
    involvedObject: {
      apiVersion: `${lab.group}/v1`,
      kind: 'Widget',
      name: 'eventful',
      namespace: lab.namespace,
      uid: metadata.uid,
    },
    reportingComponent: 'kopf',
    reportingInstance: 'dev',
    source: { component: 'kopf' },
    firstTimestamp: expect.any(String),
    lastTimestamp: expect.any(String),
  })
  expect(event.metadata.name).toMatch(/^kopf-event-/)
})

test('a repeated Kubernetes event is counted instead of posted again', async () => {
  const kopf = new Operator()
  kopf.on.event(lab.widgets, { when: ({ name }) => name === 'repeating' }, ({ recorder }) => {
    for (let time = 0; time < 7; time += 1) recorder.info('Again', 'And again')
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('repeating')
  const [event] = await untilEvents('repeating', (all) => (all[0]?.['count'] ?? 0) >= 7)
  expect(event?.['count']).toBe(7)
  expect(await eventsOf('repeating')).toHaveLength(1)
  const posted = transport.requests.filter(({ method, path }) => method !== 'GET' && path.includes('/events'))
  expect(posted.length).toBeLessThanOrEqual(3)
})

test('a long message of a Kubernetes event is cut', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { when: ({ name }) => name === 'talkative' }, ({ recorder }) => {
    recorder.info('Long', 'ü'.repeat(2000))
  })
  await lab.start(kopf)
  await lab.create('talkative')
  const [long] = await untilEvents('talkative', (all) => all.length === 1)
  expect(Buffer.byteLength(long?.['message'])).toBeLessThanOrEqual(1024)
  expect(long?.['message']).toMatch(/^ü+\.\.\.ü+$/)
})

test('a Kubernetes event can be about another object', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { when: ({ name }) => name === 'speaker' }, async ({ recorder, client, resource }) => {
    recorder.for(await client.get(resource, 'listener')).info('Said', 'to another')
  })
  await lab.start(kopf)
  await lab.create('listener')
  await lab.create('speaker')
  const [other] = await untilEvents('listener', (all) => all.length === 1)
  expect(other?.['reason']).toBe('Said')
})

test('settings.posting decides which Kubernetes events are posted', async () => {
  const kopf = new Operator({ settings: { posting: { level: 'warn', reportingComponent: 'tester' } } })
  kopf.on.create(lab.widgets, { when: ({ name }) => name === 'quiet' }, ({ recorder, logger }) => {
    logger.info('only in the log')
    recorder.info('Quiet', 'not heard')
    recorder.warn('Loud', 'heard')
  })
  await lab.start(kopf)
  await lab.create('quiet')
  await untilEvents('quiet', (all) => all.length > 0)
  await lab.elapse(0.3)
  const events = await eventsOf('quiet')
  expect(events.map(({ reason, source }) => [reason, source.component])).toEqual([['Loud', 'tester']])
})

test('log lines are posted as Kubernetes events with settings.posting.loggers', async () => {
  const kopf = new Operator({ settings: { posting: { loggers: true } } })
  kopf.on.create(lab.widgets, { id: 'fn', when: ({ name }) => name === 'logged' }, ({ logger }) => {
    logger.warn('a line of the log')
  })
  await lab.start(kopf)
  await lab.create('logged')
  const events = await untilEvents('logged', (all) => all.some(({ message }) => message === 'a line of the log'))
  const [line] = events.filter(({ message }) => message === 'a line of the log')
  expect(line).toMatchObject({ type: 'Warning', reason: 'Logging' })
})
