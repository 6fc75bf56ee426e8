/** How a session treats responses, errors, broken connections and timeouts. */
import { describe, expect, test } from 'vitest'
import { findHeld } from '../../src/cli/commands/release-objects.ts'
import { ApiError } from '../../src/client/api-error.ts'
import { createClient } from '../../src/client/client.ts'
import { ConnectionError } from '../../src/client/connection-error.ts'
import { createSession, type Networking, type RetryState } from '../../src/client/session.ts'
import type { Transport, TransportResponse } from '../../src/util/transport.ts'
import { crd, crdsPath } from '../support/crds.ts'
import { ManualClock, settle } from '../support/manual-clock.ts'
import { configMaps as coreMaps } from '../watching/watching-support.ts'
import { configMaps, creation, failureOf, networking, reaches, sessionOn, startTarget } from './client-targets.ts'

const reading = { method: 'GET', path: `${configMaps}/a` } as const
const refused = (status: number, retryAfter?: number) =>
  ({ type: 'error', status, ...(retryAfter === undefined ? {} : { retryAfter }) }) as const

describe.each(reaches)('session %s', (reach) => {
  test('a session reads the object that it has written', async () => {
    const { transport, server } = await startTarget(reach)
    const session = sessionOn(transport)
    await session.request(creation('a', { data: { x: 'ключ' } }))
    expect(await session.request(reading)).toMatchObject({ kind: 'ConfigMap', data: { x: 'ключ' } })
    expect(server.api.requests.last({ method: 'GET' }).at(-1)).toMatchObject({ userAgent: 'kopf-test/1' })
  })

  test('a session transfers objects of 1.4 MB', async () => {
    const { transport } = await startTarget(reach)
    const session = sessionOn(transport)
    const definition = crd({ group: 'example.com', kind: 'Blob', scope: 'Cluster' })
    await session.request({ method: 'POST', path: crdsPath, body: definition })
    const spec = { text: 'é'.repeat(700_000) }
    const body = { apiVersion: 'example.com/v1', kind: 'Blob', metadata: { name: 'a' }, spec }
    await session.request({ method: 'POST', path: '/apis/example.com/v1/blobs', body })
    expect((await session.request({ method: 'GET', path: '/apis/example.com/v1/blobs/a' }))['spec']).toEqual(spec)
  })

  test('a session throws an ApiError for a 4xx response', async () => {
    const { transport, server } = await startTarget(reach)
    const error = await failureOf(sessionOn(transport).request(reading))
    expect(error).toMatchObject({
      name: 'ApiError',
      status: 404,
      reason: 'NotFound',
      details: { kind: 'configmaps', name: 'a' },
      message: `Cannot GET ${configMaps}/a: 404 NotFound: configmaps "a" not found`,
    })
    expect(server.api.requests.last({ name: 'a' })).toHaveLength(1)
  })

  test.each([400, 401, 403, 409, 410, 422])('a request is not retried after %d', async (status) => {
    const { transport, server } = await startTarget(reach)
    server.api.faults.add({ effect: refused(status) })
    expect(await failureOf(sessionOn(transport).request(reading))).toMatchObject({ status })
    expect(server.api.requests.last()).toHaveLength(1)
  })

  test.each([429, 500, 502, 503, 504])('a request is retried after %d and then fails', async (status) => {
    const { transport, server } = await startTarget(reach)
    const clock = new ManualClock()
    const retries: RetryState[] = []
    server.api.faults.add({ effect: refused(status) })
    const result = failureOf(sessionOn(transport, { clock, onRetry: (retry) => retries.push(retry) }).request(reading))
    for (const [index, backoff] of [1, 2, 3].entries()) {
      await until(() => retries.length === index + 1)
      await clock.advance(backoff * 1000 - 1)
      expect(server.api.requests.last()).toHaveLength(index + 1)
      await clock.advance(1)
    }
    expect(await result).toMatchObject({ status })
    expect(server.api.requests.last()).toHaveLength(4)
    expect(retries.map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
      [1, 1000],
      [2, 2000],
      [3, 3000],
    ])
    expect(clock.sleeping).toBe(0)
  })

  test('a request whose response was lost is retried', async () => {
    const { transport, server } = await startTarget(reach)
    const session = sessionOn(transport, { networking: { ...networking, errorBackoffs: '1ms' } })
    await session.request(creation('a'))
    server.api.faults.add({ on: { verb: 'get' }, effect: { type: 'drop' }, times: 1 })
    expect(await session.request(reading)).toMatchObject({ kind: 'ConfigMap' })
  })

  test('a request whose response was cut off is retried', async () => {
    const { transport, server } = await startTarget(reach)
    const session = sessionOn(transport, { networking: { ...networking, errorBackoffs: '1ms' } })
    await session.request(creation('a'))
    server.api.faults.add({ on: { verb: 'get' }, effect: { type: 'cut', afterBytes: 20 }, times: 1 })
    expect(await session.request(reading)).toMatchObject({ kind: 'ConfigMap' })
  })

  test.each([
    ['a lost answer', { type: 'drop' }, ConnectionError],
    ['500', refused(500), ApiError],
    ['504', refused(504), ApiError],
  ] as const)('a creation is not retried after %s, since it may have succeeded', async (_, effect, error) => {
    const { transport, server } = await startTarget(reach)
    const session = sessionOn(transport)
    await session.request(creation('warm'))
    server.api.faults.add({ on: { verb: 'create' }, effect })
    expect(await failureOf(session.request(creation('a')))).toBeInstanceOf(error)
    expect(server.api.requests.last({ method: 'POST' })).toHaveLength(2)
  })

  test.each([429, 503])('a creation is retried after %d, since the server has rejected it', async (status) => {
    const { transport, server } = await startTarget(reach)
    server.api.faults.add({ on: { verb: 'create' }, effect: refused(status), times: 1 })
    const session = sessionOn(transport, { networking: { ...networking, errorBackoffs: ['1ms'] } })
    expect(await session.request(creation('a'))).toMatchObject({ metadata: { name: 'a' } })
  })

  test('a request times out if there is no response', async () => {
    const { transport, server } = await startTarget(reach)
    const clock = new ManualClock()
    const fault = server.api.faults.add({ effect: { type: 'delay', delayMs: 2 ** 30 } })
    const options = { clock, networking: { ...networking, requestTimeout: '5s', errorBackoffs: [] } as Networking }
    const result = failureOf(sessionOn(transport, options).request(reading))
    await until(() => fault.hits === 1)
    await clock.advance(5000)
    expect(await result).toMatchObject({ name: 'ConnectionError', problem: 'timeout' })
    expect(await result).toHaveProperty('message', expect.stringContaining('an answer did not come within 5 s'))
    expect(clock.sleeping).toBe(0)
  })

  test('a request times out if the response body stalls', async () => {
    const { transport, server } = await startTarget(reach)
    const clock = new ManualClock()
    const fault = server.api.faults.add({ effect: { type: 'silence', afterBytes: 10 } })
    const options = { clock, networking: { ...networking, errorBackoffs: [] } }
    const result = failureOf(sessionOn(transport, options).request({ method: 'GET', path: configMaps }))
    await until(() => fault.hits === 1)
    await settle()
    await clock.advance(300_000)
    expect(await result).toMatchObject({ problem: 'timeout' })
  })

  test('a signal aborts a request', async () => {
    const { transport, server } = await startTarget(reach)
    const clock = new ManualClock()
    const reason = new Error('enough')
    const fault = server.api.faults.add({ effect: { type: 'delay', delayMs: 2 ** 30 } })
    const one = new AbortController()
    const session = sessionOn(transport, { clock })
    const held = failureOf(session.request(reading, one.signal))
    await until(() => fault.hits === 1)
    one.abort(reason)
    expect(await held).toBe(reason)
    expect(clock.sleeping).toBe(0)
  })

  test('a signal aborts the delay before a retry', async () => {
    const { transport, server } = await startTarget(reach)
    const clock = new ManualClock()
    const reason = new Error('enough')
    const session = sessionOn(transport, { clock })
    server.api.faults.add({ effect: refused(500) })
    const other = new AbortController()
    const waiting = failureOf(session.request(reading, other.signal))
    await until(() => clock.sleeping === 1 && server.api.requests.last({ status: 500 }).length === 1)
    other.abort(reason)
    expect(await waiting).toBe(reason)
    expect(await failureOf(session.request(reading, other.signal))).toBe(reason)
    expect(clock.sleeping).toBe(0)
  })

  describe('streams', () => {
    const watching = { method: 'GET', path: configMaps, query: { watch: true } } as const

    test('a stream yields bytes as they arrive, and is closed when the loop is left', async () => {
      const { transport, server } = await startTarget(reach)
      const session = sessionOn(transport)
      await session.request(creation('a'))
      const body = await session.stream(watching, new AbortController().signal)
      for await (const chunk of body) if (Buffer.from(chunk).includes('"a"')) break
      await until(() => server.api.openWatches === 0)
    })

    test('a stream is closed by return before its first read', async () => {
      const { transport, server } = await startTarget(reach)
      const body = await sessionOn(transport).stream(watching, new AbortController().signal)
      await body[Symbol.asyncIterator]().return?.()
      await until(() => server.api.openWatches === 0)
    })

    test('a stream ends with the reason of its signal', async () => {
      const { transport, server } = await startTarget(reach)
      const controller = new AbortController()
      const reason = new Error('enough')
      const body = await sessionOn(transport).stream(watching, controller.signal)
      const result = failureOf(drain(body))
      controller.abort(reason)
      expect(await result).toBe(reason)
      await until(() => server.api.openWatches === 0)
    })

    test('a stream that the server ends does not fail', async () => {
      const { transport, server } = await startTarget(reach)
      const body = await sessionOn(transport).stream(watching, new AbortController().signal)
      const result = drain(body)
      server.api.close()
      await result
    })

    test('a stream that breaks fails with a ConnectionError', async () => {
      const { transport, server } = await startTarget(reach)
      const session = sessionOn(transport)
      const body = await session.stream(watching, new AbortController().signal)
      const result = failureOf(drain(body))
      server.api.faults.add({ on: { verb: 'watch' }, effect: { type: 'cut', afterBytes: 10 } })
      await session.request(creation('a'))
      expect(await result).toBeInstanceOf(ConnectionError)
    })

    test('a stream that is refused fails with an ApiError without a retry', async () => {
      const { transport, server } = await startTarget(reach)
      server.api.faults.add({ effect: refused(503) })
      expect(await failureOf(sessionOn(transport).stream(watching, new AbortController().signal))).toMatchObject({
        status: 503,
      })
      expect(server.api.requests.last()).toHaveLength(1)
    })

    test('a stream has a timeout for its start but not for its duration', async () => {
      const { transport, server } = await startTarget(reach)
      const clock = new ManualClock()
      const session = sessionOn(transport, { clock, networking: { ...networking, connectTimeout: 5 } })
      const body = await session.stream(watching, new AbortController().signal)
      expect(clock.sleeping).toBe(0)
      await clock.advance(1_000_000)
      expect(server.api.openWatches).toBe(1)
      await body[Symbol.asyncIterator]().return?.()
      const fault = server.api.faults.add({ effect: { type: 'delay', delayMs: 2 ** 30 } })
      const late = failureOf(session.stream(watching, new AbortController().signal))
      await until(() => fault.hits === 1)
      await clock.advance(5000)
      expect(await late).toMatchObject({ problem: 'timeout' })
      expect(await late).toHaveProperty('message', expect.stringContaining('the head of an answer'))
    })
  })
})

describe('Retry-After', () => {
  test.each([
    ['a longer Retry-After replaces the backoff', 10, false, 10_000],
    ['a shorter Retry-After does not replace the backoff', 1, false, 5000],
    ['a shorter Retry-After replaces the backoff if enforceRetryAfter is set', 1, true, 1000],
  ])('%s', async (_, retryAfter, enforceRetryAfter, expected) => {
    const { transport, server } = await startTarget('in process')
    const clock = new ManualClock()
    const retries: RetryState[] = []
    server.api.faults.add({ effect: refused(429, retryAfter), times: 1 })
    const options = { clock, networking: { ...networking, errorBackoffs: 5, enforceRetryAfter } }
    const result = sessionOn(transport, { ...options, onRetry: (retry) => retries.push(retry) }).request({
      method: 'GET',
      path: configMaps,
    })
    await until(() => retries.length === 1)
    expect(retries[0]!.delayMs).toBe(expected)
    await clock.advance(expected)
    expect(await result).toMatchObject({ kind: 'ConfigMapList' })
  })

  test('Retry-After may be a date', async () => {
    const clock = new ManualClock()
    const headers = { 'retry-after': new Date(clock.now() + 7000).toUTCString() }
    const retries: RetryState[] = []
    const transport = answering({ status: 503, headers, text: 'busy' }, { status: 200, text: '{}' })
    const result = sessionOn(transport, { clock, onRetry: (retry) => retries.push(retry) }).request(reading)
    await until(() => retries.length === 1)
    expect(retries[0]!.delayMs).toBe(7000)
    await clock.advance(7000)
    expect(await result).toEqual({})
  })
})

test('retry delays have a random addition and are never shorter than the backoff', async () => {
  const clock = new ManualClock()
  const retries: RetryState[] = []
  const transport = answering({ status: 500, text: '' }, { status: 200, text: '{}' })
  const result = sessionOn(transport, { clock, random: () => 1, onRetry: (retry) => retries.push(retry) }).request(
    reading,
  )
  await until(() => retries.length === 1)
  expect(retries[0]!.delayMs).toBeCloseTo(1100)
  await clock.advance(1100)
  await result
})

test('networking settings are read for each request', async () => {
  const live = { ...networking, errorBackoffs: [] as number[] }
  const clock = new ManualClock()
  const transport = answering({ status: 500, text: '' }, { status: 500, text: '' }, { status: 200, text: '{}' })
  const retries: RetryState[] = []
  const session = sessionOn(transport, { clock, networking: live, onRetry: (retry) => retries.push(retry) })
  expect(await failureOf(session.request(reading))).toMatchObject({ status: 500 })
  live.errorBackoffs = [0]
  const result = session.request(reading)
  await until(() => retries.length === 1)
  await clock.advance(0)
  expect(await result).toEqual({})
})

describe('invalid responses', () => {
  test.each(['<html>hush</html>', '', '[]', 'null', '5', '{"a":'])('a 200 response %j is an ApiError', async (text) => {
    const transport = answering({ status: 200, text, headers: { 'content-type': 'text/html' } })
    const error = await failureOf(sessionOn(transport).request(reading))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toHaveProperty(
      'message',
      expect.stringContaining(`200 NotJson: the answer is no JSON object but text/html of ${text.length} characters`),
    )
    expect(error).not.toHaveProperty('message', expect.stringContaining('hush'))
  })
})

test('a list with items null, as Go servers write it, is read as an empty list', async () => {
  const text = '{"kind":"PartialObjectMetadataList","metadata":{},"items":null}'
  const transport = answering({ status: 200, text }, { status: 200, text }, { status: 200, text })
  const session = sessionOn(transport)
  expect(await session.request(reading)).toMatchObject({ items: [] })
  expect(await findHeld(session, { resource: coreMaps, finalizer: 'x', namespace: 'default' })).toEqual([])
  expect(await createClient({ session, resolve: async () => coreMaps }).list(coreMaps, { namespace: 'a' })).toEqual([])
})

test('integers beyond 2^53 are sent and read without loss', async () => {
  const texts: unknown[] = []
  const echo: Transport = {
    async send({ body }) {
      texts.push(body)
      return { status: 200, headers: {}, body: once(String(body)) }
    },
  }
  const body = {
    spec: { big: 9223372036854775807n, negative: -9223372036854775808n, small: 5, text: '9007199254740993' },
  }
  expect(await sessionOn(echo).request({ method: 'PUT', path: '/x', body })).toEqual(body)
  expect(texts).toEqual([
    '{"spec":{"big":9223372036854775807,"negative":-9223372036854775808,"small":5,"text":"9007199254740993"}}',
  ])
})

describe('oversized responses', () => {
  const maxAnswerBytes = 64 * 1024

  test.each([200, 500])('an oversized response with status %d is neither read nor retried', async (status) => {
    let [requests, sent, isClosed] = [0, 0, false]
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          sent += 1024
          yield Buffer.alloc(1024, ' ')
        }
      } finally {
        isClosed = true
      }
    }
    const transport: Transport = {
      async send() {
        requests += 1
        return { status, headers: {}, body: endless() }
      },
    }
    const error = await failureOf(sessionOn(transport, { maxAnswerBytes }).request(reading))
    expect(error).toMatchObject({ problem: 'too-large', message: expect.stringContaining('the answer is larger than') })
    expect([requests, sent, isClosed]).toEqual([1, 65 * 1024, true])
  })

  test('an oversized response is refused by its content-length', async () => {
    const transport = answering({ status: 200, text: '{}', headers: { 'content-length': '99999999' } })
    const error = await failureOf(sessionOn(transport, { maxAnswerBytes }).request(reading))
    expect(error).toMatchObject({ problem: 'too-large' })
  })

  test('an oversized page of a list is read again in smaller pages', async () => {
    const { transport, server } = await startTarget('in process')
    const data = { text: 'x'.repeat(10_000) }
    for (let index = 10; index < 30; index += 1) await sessionOn(transport).request(creation(`map-${index}`, { data }))
    const client = createClient({ session: sessionOn(transport, { maxAnswerBytes }), resolve: async () => coreMaps })
    const objects = await client.list(coreMaps, { namespace: 'default' })
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(
      Array.from({ length: 20 }, (_, index) => `map-${index + 10}`),
    )
    const limits = server.api.requests
      .last({ method: 'GET' })
      .map(({ path }) => new URLSearchParams(path.split('?')[1]).get('limit'))
    expect(limits.slice(0, 8)).toEqual(['500', '100', '20', '4', '4', '4', '4', '4'])
  })
})

test('redirects are not followed', async () => {
  const transport = answering({ status: 302, text: '', headers: { location: 'https://elsewhere' } })
  expect(await failureOf(sessionOn(transport).request(reading))).toMatchObject({
    status: 302,
    message: expect.stringContaining('redirects are not followed'),
  })
})

test.each(['DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID', 'EPROTO'])(
  'the TLS error %s is not retried',
  async (code) => {
    const transport: Transport = { send: () => Promise.reject(Object.assign(new Error('x'), { code })) }
    expect(await failureOf(sessionOn(transport).request(reading))).toBeInstanceOf(ConnectionError)
  },
)

test('a creation is retried if the connection was refused', async () => {
  let attempts = 0
  const transport: Transport = {
    send: () => {
      attempts += 1
      return Promise.reject(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))
    },
  }
  const session = sessionOn(transport, { networking: { ...networking, errorBackoffs: [0, 0] } })
  expect(await failureOf(session.request(creation('a')))).toMatchObject({ problem: 'refused' })
  expect(attempts).toBe(3)
})

interface Canned {
  readonly status: number
  readonly text: string
  readonly headers?: Record<string, string>
}

/** A transport with fixed responses, for responses that the embedded server never gives. */
function answering(...answers: Canned[]): Transport {
  return {
    async send(): Promise<TransportResponse> {
      const { status, text, headers = {} } = answers.shift()!
      return { status, headers, body: once(text) }
    },
  }
}

async function* once(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text)
}

async function drain(body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of body);
}

async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(`Never came true: ${isSo}`)
    await settle()
  }
}

test('a stream may have its own timeout for its start', async () => {
  const clock = new ManualClock()
  const session = createSession({
    transport: {
      send: (_, signal) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    },
    networking: { requestTimeout: 300, connectTimeout: 100, errorBackoffs: [], enforceRetryAfter: false },
    clock,
    userAgent: 'test',
  })
  const opening = session.stream({ method: 'GET', path: '/x', headTimeoutMs: 2000 }, new AbortController().signal)
  const outcome = opening.then(
    () => 'begun',
    (error: Error) => error.message,
  )
  await clock.advance(2000)
  expect(await outcome).toMatch(/the head of an answer .*\b2 ?s/)
})

describe('guards', () => {
  const tooLate = new Error('too late')

  /** A guard that passes this number of checks. */
  function guarded(passes: number) {
    let asked = 0
    return () => () => {
      asked += 1
      if (asked > passes) throw tooLate
    }
  }

  test('a guard is checked before a request is sent', async () => {
    const { transport, server } = await startTarget('in process')
    const session = sessionOn(transport, { guardOf: guarded(0) })
    expect(await failureOf(session.request(creation('a')))).toBe(tooLate)
    expect(server.api.requests.last({ method: 'POST' })).toEqual([])
  })

  test('a guard is checked before each retry', async () => {
    const { transport, server } = await startTarget('in process')
    server.api.faults.add({ effect: refused(503) })
    const clock = new ManualClock()
    const session = sessionOn(transport, { clock, guardOf: guarded(1) })
    const failure = failureOf(session.request(creation('a')))
    for (let second = 0; second < 20; second += 1) await clock.advance(1000)
    expect(await failure).toBe(tooLate)
    expect(server.api.requests.last({ method: 'POST' })).toHaveLength(1)
  })

  test('a guard is checked again once the connection is established', async () => {
    const { transport, server } = await startTarget('over HTTPS')
    const session = sessionOn(transport, { guardOf: guarded(1) })
    expect(await failureOf(session.request(creation('a')))).toBe(tooLate)
    expect(server.api.requests.last({ method: 'POST' })).toEqual([])
  })

  test('a guard does not apply to requests for which it is undefined', async () => {
    const { transport } = await startTarget('in process')
    const session = sessionOn(transport, { guardOf: ({ method }) => (method === 'GET' ? undefined : guarded(0)()) })
    expect(await failureOf(session.request(reading))).toMatchObject({ status: 404 })
  })
})
