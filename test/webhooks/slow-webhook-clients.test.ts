/** Slow, silent and disconnected webhook clients, functions that never return, and the stop of a server under load. */
import { Agent } from 'node:https'
import { connect } from 'node:net'
import { type WebhookFn, WebhookServer } from 'kopf/webhooks'
import { describe, expect, test } from 'vitest'
import { ManualClock, settle } from '../support/manual-clock.ts'
import { call, connectRaw, post, readToEnd, reviewOf, type Serving, serve } from './webhook-support.ts'

const never: WebhookFn = () => new Promise(() => {})

/** A webhook function that reports its call and returns when the test calls `open`. */
function gate(): { fn: WebhookFn; called: Promise<AbortSignal>; open: () => void } {
  let tell!: (signal: AbortSignal) => void
  let open!: () => void
  const called = new Promise<AbortSignal>((resolve) => (tell = resolve))
  const opened = new Promise<void>((resolve) => (open = resolve))
  const fn: WebhookFn = async (_, info) => {
    tell(info!.signal!)
    await opened
    return { response: { allowed: true } }
  }
  return { fn, called, open }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function connectTcp({ url }: Serving) {
  const socket = connect({ host: 'localhost', port: Number(url.port) })
  socket.on('error', () => {})
  return socket
}

const head = 'POST /fn HTTP/1.1\r\nhost: localhost\r\n'

describe.concurrent('slow webhook clients', () => {
  test('a webhook client that does not start the handshake is disconnected, and others are served', async () => {
    await using serving = await serve(new WebhookServer())
    const socket = connectTcp(serving)
    await readToEnd(socket)
    expect((await post(serving, reviewOf())).status).toBe(200)
  })

  test('a webhook client that sends no request after the handshake is disconnected', async () => {
    await using serving = await serve(new WebhookServer())
    await readToEnd(await connectRaw(serving))
  })

  test('a webhook client that sends its head byte by byte is disconnected', async () => {
    await using serving = await serve(new WebhookServer())
    const socket = await connectRaw(serving)
    const ended = readToEnd(socket)
    let isOver = false
    ended.finally(() => (isOver = true))
    socket.write(head)
    for (let count = 0; !isOver; count += 1) {
      socket.write(`x-${count}: y\r\n`)
      expect((await post(serving, reviewOf())).status).toBe(200)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect(await ended).toContain(' 408 ')
  })

  test('a webhook client whose body does not arrive in time gets a timeout response', async () => {
    await using serving = await serve(new WebhookServer())
    const socket = await connectRaw(serving)
    socket.write('POST /fn?timeout=300ms HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{')
    const text = await readToEnd(socket)
    expect(text).toContain(' 408 ')
    expect(text).toContain('the body was not received in time')
  })
})

describe('slow webhook functions', () => {
  test('a webhook function is aborted when its time is up, and its late response is dropped', async () => {
    const { fn, called, open } = gate()
    await using serving = await serve(new WebhookServer(), fn)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const reply = await post(serving, reviewOf(), { path: '/fn?timeout=200ms', agent })
    expect({ status: reply.status, message: JSON.parse(reply.text).message }).toEqual({
      status: 504,
      message: 'no response in time',
    })
    expect((await called).aborted).toBe(true)
    open()
    // The same connection is used, where a late response would be taken for the response to this request.
    expect(await post(serving, 'no JSON', { agent })).toMatchObject({ status: 400 })
    agent.destroy()
  })

  test('a webhook function is aborted by the clock of the operator', async () => {
    const clock = new ManualClock()
    const { fn, called } = gate()
    await using serving = await serve(new WebhookServer(), fn, clock)
    const reply = post(serving, reviewOf(), { path: '/fn?timeout=10s' })
    const signal = await called
    await clock.advance(9999)
    expect(signal.aborted).toBe(false)
    await clock.advance(1)
    expect((await reply).status).toBe(504)
  })

  test('a webhook function is aborted when the client disconnects', async () => {
    const { fn, called } = gate()
    await using serving = await serve(new WebhookServer(), fn)
    const socket = await connectRaw(serving)
    socket.write(`${head}content-length: 2\r\n\r\n{}`)
    const signal = await called
    socket.destroy()
    await untilAborted(signal)
  })

  test('a webhook function that responds in time is not aborted', async () => {
    let signal: AbortSignal | undefined
    await using serving = await serve(new WebhookServer(), async (_, info) => {
      signal = info?.signal
      return {}
    })
    expect((await post(serving, reviewOf())).status).toBe(200)
    expect(signal?.aborted).toBe(false)
  })

  test('a slow webhook function does not block others', async () => {
    let isFirst = true
    await using serving = await serve(new WebhookServer(), async (review, info) => {
      if (!isFirst) return {}
      isFirst = false
      return never(review, info)
    })
    const stuck = post(serving, reviewOf(), { path: '/fn?timeout=300ms' })
    const others = await Promise.all(Array.from({ length: 20 }, () => post(serving, reviewOf())))
    expect(others.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect((await stuck).status).toBe(504)
  })
})

test('a webhook client that disconnects during its body triggers no call', async () => {
  const seen: unknown[] = []
  await using serving = await serve(new WebhookServer(), async (review) => ({ count: seen.push(review) }))
  for (let count = 0; count < 20; count += 1) {
    const socket = await connectRaw(serving)
    await new Promise((resolve) => socket.write(`${head}content-length: 10\r\n\r\n{}`, resolve))
    socket.destroy()
  }
  await post(serving, { last: true })
  expect(seen).toEqual([{ last: true }])
})

test('webhook clients that disconnect before the response leave nothing in memory', async () => {
  let call = () => {}
  const silent: WebhookFn = (review) => {
    if (typeof review !== 'string') return Promise.resolve({})
    call()
    return new Promise(() => {})
  }
  await using serving = await serve(new WebhookServer({ insecure: true }), silent)
  const body = JSON.stringify('x'.repeat(6_000_000))
  // The bodies of all clients together exceed the memory budget.
  for (let count = 0; count < 20; count += 1) {
    const called = new Promise<void>((resolve) => (call = resolve))
    const socket = connectTcp(serving)
    socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`)
    await called
    socket.destroy()
  }
  expect((await post(serving, reviewOf())).status).toBe(200)
})

test.each([
  ['an unknown version', 'GET / HTTP/9.9\r\n\r\n'],
  ['a negative length', `${head}content-length: -1\r\n\r\n`],
  ['two lengths', `${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a chunk without a length', `${head}transfer-encoding: chunked\r\n\r\nzz\r\n`],
  ['a head without an end', `${head}x: ${'y'.repeat(20_000)}\r\n\r\n`],
  ['binary data', '\u0000\u0001\u0002\u0003\r\n\r\n'],
])('a malformed HTTP request with %s is answered with an error, and the server continues', async (_, bytes) => {
  await using serving = await serve(new WebhookServer())
  const socket = await connectRaw(serving)
  socket.write(bytes)
  expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 4\d\d /)
  expect((await post(serving, reviewOf())).status).toBe(200)
})

describe('stop of a webhook server', () => {
  test('a stopping webhook server answers running requests and accepts no new ones', async () => {
    const { fn, called, open } = gate()
    const serving = await serve(new WebhookServer(), fn)
    const agent = new Agent({ keepAlive: true })
    const reply = post(serving, reviewOf(), { agent })
    await called
    const stopped = serving.stop()
    await expect(post(serving, reviewOf())).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    open()
    expect((await reply).status).toBe(200)
    await stopped
    agent.destroy()
  })

  test('a stopping webhook server aborts requests that take longer than two seconds', async () => {
    const clock = new ManualClock()
    const { fn, called } = gate()
    const serving = await serve(new WebhookServer(), fn, clock)
    const reply = expect(post(serving, reviewOf())).rejects.toMatchObject({ code: 'ECONNRESET' })
    const signal = await called
    let isStopped = false
    const stopped = serving.stop().finally(() => (isStopped = true))
    await settle()
    await clock.advance(1999)
    expect({ isStopped, isAborted: signal.aborted }).toEqual({ isStopped: false, isAborted: false })
    await clock.advance(1)
    await stopped
    await reply
    expect(signal.aborted).toBe(true)
    expect(clock.sleeping).toBe(0)
  })

  test('a stopping webhook server does not wait for idle connections or handshakes', async () => {
    const serving = await serve(new WebhookServer())
    const agent = new Agent({ keepAlive: true })
    await post(serving, reviewOf(), { agent })
    const silent = connectTcp(serving)
    await new Promise((resolve) => silent.once('connect', resolve))
    await Promise.all([serving.stop(), readToEnd(silent)])
    agent.destroy()
  })

  test('a stopped webhook server frees its port at once', async () => {
    const first = await serve(new WebhookServer())
    const port = Number(first.url.port)
    await post(first, reviewOf())
    await first.stop()
    await using second = await serve(new WebhookServer({ port }))
    expect((await post(second, reviewOf())).status).toBe(200)
  })
})

test('a webhook server on a port in use fails with advice', async () => {
  await using first = await serve(new WebhookServer())
  const port = Number(first.url.port)
  await expect(serve(new WebhookServer({ port }))).rejects.toMatchObject({
    code: 'KOPF_WEBHOOK_SERVER',
    message: `Cannot listen for webhooks on port ${port}: the port is taken by another program; choose another one, or none for any free port`,
  })
})

test('a webhook server answers a hundred requests on one connection in order', async () => {
  await using serving = await serve(new WebhookServer(), async (review) => review as object)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let count = 0; count < 100; count += 1) {
    const { text, headers } = await post(serving, { count }, { agent })
    expect(JSON.parse(text)).toEqual({ count })
    expect(headers['connection']).toBe('keep-alive')
  }
  agent.destroy()
})

test('a webhook server answers HEAD without a body', async () => {
  await using serving = await serve(new WebhookServer())
  const { status, text } = await call(serving, { method: 'HEAD' }, (request) => request.end())
  expect({ status, text }).toEqual({ status: 405, text: '' })
})
