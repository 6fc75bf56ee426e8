/** Events as stored by the embedded server. */
import { ApiServer } from 'kopf/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ask } from '../../test/support/in-process.ts'
import { ManualClock, settle } from '../../test/support/manual-clock.ts'
import { toApiError } from '../client/api-error.ts'
import { type ApiCall, createSession, type Session } from '../client/session.ts'
import type { JsonObject, ObjectReference } from '../kube/objects.ts'
import { formatMessage } from '../util/log/formats.ts'
import { createLogger, createLogSink, type LogSink } from '../util/log/log.ts'
import { createPostingSink } from './log-events.ts'
import { createPoster, type Poster, type PosterOptions, type PosterSettings } from './poster.ts'
import { createRecorder } from './recorder.ts'

const defaults: PosterSettings = {
  enabled: true,
  loggers: false,
  level: 'info',
  reportingComponent: 'kopf',
  reportingInstance: 'dev',
  eventNamePrefix: 'kopf-event-',
  defaultBackoffs: [1, 2],
  loggingBackoffs: ['500ms'],
  workerLimit: null,
}

const demo = {
  apiVersion: 'example.com/v1',
  kind: 'Demo',
  metadata: { name: 'one', namespace: 'default', uid: 'uid-1' },
}

function referenceTo(name: string, namespace: string | null = 'default'): ObjectReference {
  return { apiVersion: 'example.com/v1', kind: 'Demo', name, uid: `uid-${name}`, namespace }
}

/** Sends every request once. Retries are tested with the real session. */
class PlainSession implements Session {
  readonly calls: ApiCall[] = []
  readonly #api: ApiServer

  constructor(api: ApiServer) {
    this.#api = api
  }

  async request(call: ApiCall, signal?: AbortSignal): Promise<JsonObject> {
    this.calls.push(call)
    const { method, path, body, contentType = 'application/json' } = call
    const { status, text } = await ask(this.#api, method, path, {
      body,
      headers: { 'content-type': contentType },
      ...(signal && { signal }),
    })
    if (status >= 300) throw toApiError({ method, path }, { status, text })
    return JSON.parse(text)
  }

  stream(): Promise<AsyncIterable<Uint8Array>> {
    return Promise.reject(new Error('not asked for'))
  }
}

let clock: ManualClock
let api: ApiServer
let session: PlainSession
let settings: { -readonly [K in keyof PosterSettings]: PosterSettings[K] }
let lines: string[]
let poster: Poster
let stop: () => Promise<void>

function start(options: Partial<PosterOptions> = {}): void {
  const sink: LogSink = {
    minimumLevel: 'debug',
    log: (record) => lines.push(`${record.level}: ${formatMessage(record)}`),
  }
  poster = createPoster({ session, clock, settings, logger: createLogger(sink, 'kopf.posting'), ...options })
  const controller = new AbortController()
  const running = poster.run(controller.signal)
  stop = async () => {
    controller.abort()
    await running
  }
}

beforeEach(() => {
  clock = new ManualClock()
  api = new ApiServer({ open: true, clock })
  session = new PlainSession(api)
  settings = { ...defaults }
  lines = []
  start()
})

afterEach(async () => {
  await stop()
})

interface Shown {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly count?: number
  readonly firstTimestamp: string
  readonly lastTimestamp: string
  readonly eventTime: string
  readonly involvedObject: Record<string, string>
}

async function eventsIn(namespace = 'default'): Promise<Shown[]> {
  const { body } = await ask(api, 'GET', `/api/v1/namespaces/${namespace}/events`)
  const items = (body as unknown as { items: Array<Shown & { metadata: { resourceVersion: string } }> }).items
  return items.sort((one, other) => one.message.localeCompare(other.message))
}

const normal = (message: string, reason = 'Because') => ({ type: 'Normal', reason, message })

/** Waits for everything that does not depend on the clock. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await settle()
}

describe('posted events', () => {
  test('a posted event appears with a reference to its object', async () => {
    poster.post(referenceTo('one'), normal('Hello'))
    await poster.drain()
    const [event, ...others] = await eventsIn()
    expect(others).toEqual([])
    expect(event).toMatchObject({
      type: 'Normal',
      reason: 'Because',
      message: 'Hello',
      action: 'Action?',
      reportingComponent: 'kopf',
      reportingInstance: 'dev',
      source: { component: 'kopf' },
      eventTime: '2030-01-01T00:00:00.000000Z',
      firstTimestamp: '2030-01-01T00:00:00Z',
      involvedObject: { kind: 'Demo', name: 'one', uid: 'uid-one', namespace: 'default' },
    })
    expect(event?.metadata.name).toMatch(/^kopf-event-/)
    expect(lines).toEqual([])
  })

  test('a posted event is retried with the backoffs of the posting settings', async () => {
    poster.post(referenceTo('one'), normal('a'))
    poster.post(referenceTo('one'), { ...normal('b'), backoffs: 5 })
    await poster.drain()
    expect(session.calls.map(({ backoffsMs }) => backoffsMs)).toEqual([[1000, 2000], [5000]])
  })

  test('an infinite iterable of backoffs is read up to 100 retries', async () => {
    const backoffs = {
      *[Symbol.iterator]() {
        for (;;) yield 1
      },
    }
    poster.post(referenceTo('one'), { ...normal('a'), backoffs })
    await poster.drain()
    expect(session.calls[0]!.backoffsMs).toHaveLength(100)
  })

  test('events of one object are posted in order, one at a time', async () => {
    api.faults.add({ on: { verb: 'create' }, effect: { type: 'delay', delayMs: 100 }, times: 1 })
    for (const message of ['1', '2', '3']) poster.post(referenceTo('one'), normal(message))
    poster.post(referenceTo('two'), normal('other'))
    await quiet()
    expect(session.calls.map(messageOf)).toEqual(['1', 'other'])
    await clock.advance(100)
    await quiet()
    expect(session.calls.map(messageOf)).toEqual(['1', 'other', '2', '3'])
  })

  test('events of several objects are posted in parallel, up to the worker limit', async () => {
    settings.workerLimit = 2
    api.faults.add({ on: { verb: 'create' }, effect: { type: 'delay', delayMs: 100 } })
    for (const name of ['a', 'b', 'c', 'd', 'e']) poster.post(referenceTo(name), normal(name))
    await quiet()
    expect(session.calls).toHaveLength(2)
    await clock.advance(100)
    expect(session.calls).toHaveLength(4)
    await clock.advance(200)
    expect(await eventsIn()).toHaveLength(5)
  })

  test.each([
    ['the namespace of the connection', () => 'kube-system', 'kube-system'],
    ['the namespace "default"', () => undefined, 'default'],
  ])('an event of an object without a namespace uses %s', async (_, defaultNamespace, expected) => {
    await stop()
    start({ defaultNamespace })
    poster.post(referenceTo('one', null), normal('Hello'))
    await poster.drain()
    const [event] = await eventsIn(expected)
    expect(event?.involvedObject['namespace']).toBe(expected)
  })

  test('events about events are not posted', async () => {
    poster.post({ ...referenceTo('one'), apiVersion: 'v1', kind: 'Event' }, normal('Hello'))
    await poster.drain()
    expect(session.calls).toEqual([])
  })

  test('the longest message and reason of an event are accepted by the server', async () => {
    poster.post(referenceTo('one'), { type: 'Warning', reason: 'é'.repeat(500), message: '😀'.repeat(5000) })
    await poster.drain()
    const [event] = await eventsIn()
    expect(Buffer.byteLength(event?.message ?? '')).toBeGreaterThan(1000)
    expect(lines).toEqual([])
  })

  test('a failure to post events is logged once a minute and does not affect other events', async () => {
    poster.post(referenceTo('one', 'missing'), normal('a'))
    poster.post(referenceTo('two', 'missing'), normal('b'))
    poster.post(referenceTo('three'), normal('c'))
    await poster.drain()
    expect((await eventsIn()).map(({ message }) => message)).toEqual(['c'])
    expect(lines.map((line) => line.split(':')[0])).toEqual(['warn', 'debug'])
    expect(lines[0]).toMatch(/Failed to post an event\. Ignoring and continuing\. error="Cannot POST .*404/)
    await clock.advance(60_000)
    poster.post(referenceTo('two', 'missing'), normal('d'))
    await poster.drain()
    expect(lines[2]).toMatch(/^warn: /)
  })

  test('a posted event is retried by the session if the server rejects it temporarily', async () => {
    await stop()
    const networking = { requestTimeout: 300, connectTimeout: null, errorBackoffs: [1, 2], enforceRetryAfter: false }
    const options = { transport: api, networking, clock, userAgent: 'test', random: () => 0 }
    api.faults.add({ on: { verb: 'create' }, effect: { type: 'error', status: 503 }, times: 2 })
    start({ session: createSession(options) })
    poster.post(referenceTo('one'), normal('a'))
    await quiet()
    await clock.advance(3000)
    await quiet()
    expect((await eventsIn()).map(({ message }) => message)).toEqual(['a'])
    expect(lines).toEqual([])
  })

  test('an event with an invalid namespace never reaches another path', async () => {
    poster.post(referenceTo('one', '../kube-system'), normal('a'))
    await poster.drain()
    expect(session.calls).toEqual([])
    expect(lines).toHaveLength(1)
  })

  test('events posted before the start are sent at the start, and events after the stop are dropped', async () => {
    await stop()
    poster.post(referenceTo('one'), normal('late'))
    const controller = new AbortController()
    const early = createPoster({ session, clock, settings, logger: createLogger(createLogSink(), 'x') })
    early.post(referenceTo('one'), normal('early'))
    await quiet()
    expect(session.calls).toEqual([])
    const running = early.run(controller.signal)
    await early.drain()
    expect((await eventsIn()).map(({ message }) => message)).toEqual(['early'])
    controller.abort()
    await running
  })

  test('the stop of the poster does not wait for the server and logs nothing', async () => {
    api.faults.add({ on: { verb: 'create' }, effect: { type: 'delay', delayMs: 60_000 } })
    poster.post(referenceTo('one'), normal('a'))
    await quiet()
    await stop()
    expect(lines).toEqual([])
    expect(clock.sleeping).toBeLessThanOrEqual(1)
  })

  test('the drain of the poster ends with its signal', async () => {
    api.faults.add({ on: { verb: 'create' }, effect: { type: 'delay', delayMs: 60_000 } })
    poster.post(referenceTo('one'), normal('a'))
    await poster.drain(AbortSignal.abort())
    const controller = new AbortController()
    const draining = poster.drain(controller.signal)
    controller.abort()
    await draining
    expect(await eventsIn()).toEqual([])
  })
})

const messageOf = ({ body }: ApiCall): unknown => (body as { message?: unknown }).message

describe('repeated events', () => {
  test('repeated events are counted in the existing event', async () => {
    for (let round = 0; round < 3; round += 1) {
      poster.post(referenceTo('one'), normal('again'))
      await quiet()
      await clock.advance(5000)
    }
    const [event, ...others] = await eventsIn()
    expect(others).toEqual([])
    expect(event).toMatchObject({
      count: 3,
      firstTimestamp: '2030-01-01T00:00:00Z',
      lastTimestamp: '2030-01-01T00:00:10Z',
    })
    expect(session.calls.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH'])
  })

  test('repeated events cost one request per second, however many there are', async () => {
    poster.post(referenceTo('one'), normal('again'))
    await quiet()
    for (let round = 0; round < 100; round += 1) poster.post(referenceTo('one'), normal('again'))
    await quiet()
    expect(session.calls).toHaveLength(1)
    await clock.advance(1000)
    expect(session.calls.map(({ method }) => method)).toEqual(['POST', 'PATCH'])
    expect(await eventsIn()).toMatchObject([{ count: 101 }])
  })

  test('repeated events that wait together are created with their count', async () => {
    await stop()
    const early = createPoster({ session, clock, settings, logger: createLogger(createLogSink(), 'x') })
    for (let round = 0; round < 4; round += 1) early.post(referenceTo('one'), normal('again'))
    const controller = new AbortController()
    const running = early.run(controller.signal)
    await early.drain()
    expect(await eventsIn()).toMatchObject([{ count: 4 }])
    expect(session.calls).toHaveLength(1)
    controller.abort()
    await running
  })

  test('repeated events are sent at once when the operator stops', async () => {
    poster.post(referenceTo('one'), normal('again'))
    await quiet()
    poster.post(referenceTo('one'), normal('again'))
    await poster.drain()
    expect(await eventsIn()).toMatchObject([{ count: 2 }])
  })

  test.each([
    ['another type', { type: 'Warning', reason: 'Because', message: 'm' }, 'one'],
    ['another reason', { type: 'Normal', reason: 'Why', message: 'm' }, 'one'],
    ['another message', { type: 'Normal', reason: 'Because', message: 'n' }, 'one'],
    ['another object', { type: 'Normal', reason: 'Because', message: 'm' }, 'two'],
  ])('an event with %s is not a repetition', async (_, event, name) => {
    poster.post(referenceTo('one'), normal('m'))
    poster.post(referenceTo(name), event)
    await poster.drain()
    expect(await eventsIn()).toHaveLength(2)
  })

  test('an event is created again after ten minutes', async () => {
    poster.post(referenceTo('one'), normal('again'))
    await quiet()
    await clock.advance(10 * 60_000 + 1)
    poster.post(referenceTo('one'), normal('again'))
    await poster.drain()
    expect(await eventsIn()).toHaveLength(2)
  })

  test('repeated events are created again if the event was deleted', async () => {
    poster.post(referenceTo('one'), normal('again'))
    await quiet()
    const [event] = await eventsIn()
    await ask(api, 'DELETE', `/api/v1/namespaces/default/events/${event?.metadata.name}`)
    await clock.advance(2000)
    poster.post(referenceTo('one'), normal('again'))
    poster.post(referenceTo('one'), normal('again'))
    await poster.drain()
    expect(await eventsIn()).toMatchObject([{ count: 2, firstTimestamp: '2030-01-01T00:00:02Z' }])
    expect(lines).toEqual([])
  })

  test('repeated events are posted one by one if patching is forbidden, as with the RBAC rules of Kopf', async () => {
    const fault = api.faults.add({ on: { verb: 'patch', resource: 'events' }, effect: { type: 'error', status: 403 } })
    for (let round = 0; round < 3; round += 1) {
      poster.post(referenceTo('one'), normal('again'))
      await quiet()
      await clock.advance(1000)
    }
    expect(await eventsIn()).toHaveLength(3)
    expect(fault.hits).toBe(1)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('allow "patch" on events')
  })

  test('repeated events are still counted after a failed request', async () => {
    poster.post(referenceTo('one'), normal('again'))
    await quiet()
    api.faults.add({ on: { verb: 'patch' }, effect: { type: 'error', status: 500 }, times: 1 })
    for (let round = 0; round < 2; round += 1) {
      poster.post(referenceTo('one'), normal('again'))
      await clock.advance(1000)
      await quiet()
    }
    expect(await eventsIn()).toMatchObject([{ count: 3 }])
  })
})

test('an event that was created after a failure has its own time', async () => {
  api.faults.add({ on: { verb: 'create' }, effect: { type: 'error', status: 500 }, times: 1 })
  poster.post(referenceTo('one'), normal('a'))
  await quiet()
  await clock.advance(5000)
  poster.post(referenceTo('one'), normal('a'))
  await poster.drain()
  const times = { firstTimestamp: '2030-01-01T00:00:00Z', lastTimestamp: '2030-01-01T00:00:05Z' }
  expect(await eventsIn()).toMatchObject([{ count: 2, ...times }])
})

test('an event that repeats while its request fails keeps its first time', async () => {
  api.faults.add({ on: { verb: 'create' }, effect: { type: 'delay', delayMs: 2000 }, times: 1 })
  api.faults.add({ on: { verb: 'create' }, effect: { type: 'error', status: 500 }, times: 1 })
  poster.post(referenceTo('one'), normal('a'))
  await quiet()
  await clock.advance(500)
  poster.post(referenceTo('one'), normal('a'))
  await clock.advance(2000)
  await poster.drain()
  expect(await eventsIn()).toMatchObject([{ count: 2, firstTimestamp: '2030-01-01T00:00:00Z' }])
})

describe('limits of events', () => {
  test('an object has 25 events at once and one more every five minutes, and other objects are not affected', async () => {
    for (let round = 0; round < 40; round += 1) poster.post(referenceTo('one'), normal(`event ${round}`))
    poster.post(referenceTo('two'), normal('of another'))
    await poster.drain()
    expect(await eventsIn()).toHaveLength(26)
    expect(lines).toEqual([
      'debug: Too many events of one object: leaving some out kind="Demo" namespace="default" name="one"',
    ])
    await clock.advance(5 * 60_000)
    for (let round = 40; round < 45; round += 1) poster.post(referenceTo('one'), normal(`event ${round}`))
    await poster.drain()
    expect(await eventsIn()).toHaveLength(27)
  })

  test('repetitions beyond the limit are counted in the next event within the limit', async () => {
    for (let round = 0; round < 30; round += 1) {
      poster.post(referenceTo('one'), normal('again'))
      await clock.advance(1000)
    }
    expect(session.calls).toHaveLength(25)
    await clock.advance(5 * 60_000)
    poster.post(referenceTo('one'), normal('again'))
    await poster.drain()
    expect(await eventsIn()).toMatchObject([{ count: 31 }])
    expect(session.calls).toHaveLength(26)
  })

  test('the backlog of events is bounded, and the oldest are dropped with one warning', async () => {
    settings.workerLimit = 1
    const fault = api.faults.add({ on: { verb: 'create' }, effect: { type: 'delay', delayMs: 1000 } })
    for (let number = 0; number < 1101; number += 1) poster.post(referenceTo(`object-${number}`), normal(`${number}`))
    await quiet()
    fault.remove()
    await clock.advance(1000)
    await poster.drain()
    const kept = (await eventsIn()).map(({ message }) => Number(message)).sort((one, other) => one - other)
    expect(kept).toHaveLength(1001)
    expect(kept.slice(0, 2)).toEqual([0, 101])
    expect(lines).toEqual(['warn: More than 1000 events wait to be posted: the oldest are left out'])
    poster.post(referenceTo('object-1'), normal('1'))
    await poster.drain()
    expect((await eventsIn()).filter(({ message }) => message === '1')).toMatchObject([{ count: 2 }])
  })
})

describe('event recorder', () => {
  const recorder = () => createRecorder({ poster, settings }, demo)

  async function shown(): Promise<string[]> {
    await poster.drain()
    return (await eventsIn()).map(({ type, reason, message }) => `${type} ${reason}: ${message}`)
  }

  test('the event recorder posts each type of event', async () => {
    class QuotaError extends Error {
      override name = 'QuotaError'
    }
    recorder().event({ type: 'Special', reason: 'E', message: '1' })
    recorder().info('I', '2')
    recorder().warn('W', '3')
    recorder().exception(new QuotaError('4'))
    recorder().exception(new Error('boom'), { reason: 'Mine', message: '5' })
    recorder().exception('6')
    recorder().exception(undefined, { message: '7' })
    expect(await shown()).toEqual([
      'Special E: 1',
      'Normal I: 2',
      'Warning W: 3',
      'Error QuotaError: 4',
      'Error Mine: 5 boom',
      'Error Error: 6',
      'Error Error: 7',
    ])
  })

  test.each<[string, Partial<PosterSettings>, string[]]>([
    ['level warn', { level: 'warn' }, ['event', 'warn', 'exception']],
    ['level error', { level: 'error' }, ['event', 'exception']],
    ['level fatal', { level: 'fatal' }, ['event']],
    ['disabled', { enabled: false }, []],
  ])('the event recorder filters by the setting: %s', async (_, change, expected) => {
    Object.assign(settings, change)
    recorder().event({ type: 'Normal', reason: 'R', message: 'event' })
    recorder().info('R', 'info')
    recorder().warn('R', 'warn')
    recorder().exception(new Error('exception'))
    await poster.drain()
    expect((await eventsIn()).map(({ message }) => message)).toEqual([...expected].sort())
  })

  test('the event recorder posts events for other objects, several at once', async () => {
    const other = (name: string) => ({ ...demo, metadata: { ...demo.metadata, name, uid: name } })
    recorder().for(other('x')).info('R', 'm')
    recorder()
      .for([other('y'), other('z')])
      .warn('R', 'm')
    await poster.drain()
    expect((await eventsIn()).map(({ involvedObject }) => involvedObject['name']).sort()).toEqual(['x', 'y', 'z'])
  })
})

describe('log lines as events', () => {
  const object = referenceTo('one')

  function logTo(options: { readonly isLocal?: boolean; readonly object?: ObjectReference }) {
    const sink = createPostingSink(createLogSink({ verbose: true, write: () => {} }), { poster, settings })
    const logger = createLogger(sink, 'kopf.objects', options)
    logger.debug('1')
    logger.info('2', { a: 1 })
    logger.warn('3')
    logger.error('4', { error: new Error('boom') })
    sink.log({ level: 'fatal', name: 'kopf.objects', source: 'framework', message: '5', ...options })
    return poster.drain()
  }

  test('log lines are posted as events of their object if the settings say so', async () => {
    Object.assign(settings, { loggers: true, level: 'debug' })
    await logTo({ object })
    const events = await eventsIn()
    expect(events.map(({ type, message }) => `${type} ${message.split('\n    at')[0]}`)).toEqual([
      'Debug 1',
      'Normal 2 a=1',
      'Warning 3',
      'Error 4\nError: boom',
      'Fatal 5',
    ])
    expect(new Set(events.map(({ reason }) => reason))).toEqual(new Set(['Logging']))
    expect(session.calls[0]?.backoffsMs).toEqual([500])
    expect(events[0]?.involvedObject).toEqual({ ...object })
  })

  test.each<[string, Partial<PosterSettings>, { isLocal?: boolean; object?: ObjectReference }, number]>([
    ['from the configured level on', { loggers: true, level: 'warn' }, { object }, 3],
    ['only if `loggers` is set', {}, { object }, 0],
    ['only if posting is enabled', { loggers: true, enabled: false }, { object }, 0],
    ['only with an object', { loggers: true }, {}, 0],
    ['only if they are not local', { loggers: true }, { object, isLocal: true }, 0],
  ])('log lines are posted as events %s', async (_, change, options, expected) => {
    Object.assign(settings, change)
    await logTo(options)
    expect(await eventsIn()).toHaveLength(expected)
  })
})
