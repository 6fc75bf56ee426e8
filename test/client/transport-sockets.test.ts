/** Sockets of the transport: their number, their reuse, and their end when a caller stops reading. */
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { startServer } from 'kopf/server'
import { describe, expect, test, vi } from 'vitest'
import { ConnectionInfo, type ConnectionInfoOptions } from '../../src/client/auth/connection-info.ts'
import { createHttpsTransport, type HttpsTransport } from '../../src/client/http/transport.ts'
import type { TransportResponse } from '../../src/util/transport.ts'
import { settle } from '../support/manual-clock.ts'
import { configMaps, connect, defer, failureOf, networking, sessionOn, startTarget } from './client-targets.ts'

const get = (path: string) => ({ method: 'GET', path })

async function read({ body }: TransportResponse): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(`Never came true: ${isSo}`)
    await settle()
  }
}

interface Counted {
  readonly transport: HttpsTransport
  readonly server: Server
  readonly open: Set<Socket>
  readonly seen: () => number
}

/** A plain HTTP server that counts its connections. */
async function counted(serve: Parameters<typeof createServer>[1], path = ''): Promise<Counted> {
  const open = new Set<Socket>()
  let seen = 0
  const server = createServer(serve as never)
  server.on('connection', (socket) => {
    seen += 1
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  defer(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
  const { port } = server.address() as AddressInfo
  const transport = createHttpsTransport(new ConnectionInfo({ server: `http://127.0.0.1:${port}${path}` }))
  defer(() => transport.close())
  return { transport, server, open, seen: () => seen }
}

describe('connections', () => {
  test('a connection is reused for consecutive requests', async () => {
    const { transport, seen } = await counted((_, response) => response.end('{}'))
    for (let index = 0; index < 20; index += 1) await read(await transport.send(get('/')))
    expect(seen()).toBe(1)
  })

  test('the transport opens at most 16 connections for ordinary requests, and more for urgent ones', async () => {
    const held: Array<() => void> = []
    const { transport, open } = await counted((_, response) => held.push(() => response.end('{}')))
    const answers = Array.from({ length: 40 }, () => transport.send(get('/')).then(read))
    await until(() => held.length === 16)
    const urgent = transport.send({ ...get('/'), isUrgent: true }).then(read)
    await until(() => held.length === 17)
    held.pop()!()
    expect(await urgent).toBe('{}')
    for (let turn = 0; turn < 20; turn += 1) await settle()
    expect(held).toHaveLength(16)
    expect(open.size).toBe(17)
    for (let answered = 0; answered < 40; answered += 1) {
      await until(() => held.length > 0)
      held.shift()!()
    }
    expect(await Promise.all(answers)).toHaveLength(40)
    expect(open.size).toBe(17)
  })

  test('connections of watches do not count towards the limit', async () => {
    const { transport, open } = await counted((request, response) => {
      if (/watch=(true|1)(&|$)/.test(request.url!)) response.write('x')
      else response.end('{}')
    })
    const watches = await Promise.all(
      Array.from({ length: 40 }, (_, index) => transport.send(get(index % 2 ? '/?watch=true' : '/?a=b&watch=1&c'))),
    )
    expect(open.size).toBe(40)
    expect(await read(await transport.send(get('/?watch=truely')))).toBe('{}')
    for (const { body } of watches) await body[Symbol.asyncIterator]().return?.()
    await until(() => open.size === 1)
  })

  test('a connection is closed if its body is not read to the end', async () => {
    const { transport, open } = await counted((_, response) => response.write('x'.repeat(100)))
    const one = await transport.send(get('/'))
    for await (const _ of one.body) break
    await until(() => open.size === 0)
  })

  test('a connection is closed if its body is returned before the first read', async () => {
    const { transport, open } = await counted((_, response) => response.write('x'.repeat(100)))
    const other = await transport.send(get('/'))
    await other.body[Symbol.asyncIterator]().return?.()
    await until(() => open.size === 0)
  })

  test('many concurrent requests on one signal cause no MaxListeners warning', async () => {
    const { transport } = await counted((_, response) => response.end('{}'))
    const session = sessionOn(transport)
    const warnings: Error[] = []
    const warn = (warning: Error) => warnings.push(warning)
    process.on('warning', warn)
    const { signal } = new AbortController()
    await Promise.all(Array.from({ length: 50 }, () => session.request({ method: 'GET', path: '/' }, signal)))
    await settle()
    process.off('warning', warn)
    expect(warnings).toEqual([])
  })
})

describe('signals', () => {
  const reason = new Error('enough')

  test('a signal aborts a request that waits for its response', async () => {
    const { transport, open } = await counted(() => {})
    const controller = new AbortController()
    const result = failureOf(transport.send(get('/'), controller.signal))
    await until(() => open.size === 1)
    controller.abort(reason)
    expect(await result).toBe(reason)
    await until(() => open.size === 0)
    expect(await failureOf(transport.send(get('/'), controller.signal))).toBe(reason)
  })

  test('a signal aborts a response body', async () => {
    const { transport, open } = await counted((_, response) => response.write('x'))
    const controller = new AbortController()
    const response = await transport.send(get('/'), controller.signal)
    const result = failureOf(read(response))
    controller.abort(reason)
    expect(await result).toBe(reason)
    await until(() => open.size === 0)
  })

  test('a signal aborts a response body before its first read', async () => {
    const { transport, open } = await counted((_, response) => response.write('x'))
    const controller = new AbortController()
    const response = await transport.send(get('/'), controller.signal)
    controller.abort(reason)
    await until(() => open.size === 0)
    expect(await failureOf(read(response))).toBe(reason)
  })

  test('a signal aborts a request that waits for a connection, and no other request', async () => {
    const held: Array<() => void> = []
    const { transport } = await counted((_, response) => held.push(() => response.end('{}')))
    const first = Array.from({ length: 16 }, () => transport.send(get('/')).then(read))
    await until(() => held.length === 16)
    const controller = new AbortController()
    const waiting = failureOf(transport.send(get('/'), controller.signal))
    const next = transport.send(get('/')).then(read)
    await settle()
    controller.abort(reason)
    expect(await waiting).toBe(reason)
    for (const answer of held.splice(0)) answer()
    await Promise.all(first)
    await until(() => held.length === 1)
    held[0]!()
    expect(await next).toBe('{}')
  })
})

describe('stale connections', () => {
  /** A server that answers the first request of a connection and closes the connection at the second. */
  async function forgetful(): Promise<Counted & { readonly methods: string[] }> {
    const used = new WeakSet<Socket>()
    const methods: string[] = []
    const target = await counted((request, response) => {
      methods.push(request.method!)
      if (used.has(request.socket)) request.socket.resetAndDestroy()
      else response.end('{}')
      used.add(request.socket)
    })
    return { ...target, methods }
  }

  test.each(['GET', 'PATCH', 'DELETE', 'PUT'])('a %s on a stale connection is sent again', async (method) => {
    const { transport, seen } = await forgetful()
    await read(await transport.send(get('/')))
    expect(await read(await transport.send({ method, path: '/', body: '{}' }))).toBe('{}')
    expect(seen()).toBe(2)
  })

  test('a POST on a stale connection fails, since it may have been served', async () => {
    const { transport, methods } = await forgetful()
    await read(await transport.send(get('/')))
    expect(await failureOf(transport.send({ method: 'POST', path: '/', body: '{}' }))).toMatchObject({
      code: 'ECONNRESET',
    })
    expect(methods).toEqual(['GET', 'POST'])
  })

  test('a request is sent again only once if the server resets every connection', async () => {
    let count = 0
    const { transport, server } = await counted((_, response) => response.end('{}'))
    await read(await transport.send(get('/')))
    server.removeAllListeners('request')
    server.on('request', (request) => {
      count += 1
      request.socket.resetAndDestroy()
    })
    expect(await failureOf(transport.send(get('/')))).toMatchObject({ code: 'ECONNRESET' })
    expect(count).toBe(2)
  })

  test('a restart of the server fails no request', async () => {
    const { server, transport } = await startTarget('over HTTPS')
    const session = sessionOn(transport, { networking: { ...networking, errorBackoffs: [] } })
    for (let round = 0; round < 5; round += 1) {
      await session.request(get(configMaps) as never)
      server.breakConnections()
      await session.request(get(configMaps) as never)
    }
  })
})

describe('requests', () => {
  test('a request has the given headers and body and the credentials', async () => {
    const seen: Array<Record<string, unknown>> = []
    const server = createServer((request, response) => {
      seen.push({ url: request.url, ...request.headers })
      response.end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    defer(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
    const { port } = server.address() as AddressInfo
    const address = `http://127.0.0.1:${port}/k8s/clusters/c-1/`
    for (const options of [
      { token: 'abc' },
      { username: 'me', password: 'x' },
      {},
    ] as Partial<ConnectionInfoOptions>[]) {
      const transport = createHttpsTransport(new ConnectionInfo({ server: address, ...options }))
      await read(
        await transport.send({ method: 'PATCH', path: '/api?x=1', headers: { 'content-type': 'a/b' }, body: 'é' }),
      )
      await transport.close()
    }
    expect(seen).toEqual([
      expect.objectContaining({ authorization: 'Bearer abc', 'content-type': 'a/b', 'content-length': '2' }),
      expect.objectContaining({ authorization: 'Basic bWU6eA==', 'accept-encoding': 'identity' }),
      expect.not.objectContaining({ authorization: expect.anything() }),
    ])
    expect(seen[0]).toMatchObject({ url: '/k8s/clusters/c-1/api?x=1' })
  })

  test('a response that arrives before the request was sent completely is returned', async () => {
    const { transport } = await counted((_, response) => {
      response.writeHead(413, { connection: 'close' }).end('too large')
    })
    const response = await transport.send({ method: 'PUT', path: '/', body: 'x'.repeat(100_000) })
    expect(response.status).toBe(413)
    expect(await read(response)).toBe('too large')
  })

  test('a token is not sent through a proxy of the environment over plain HTTP', () => {
    vi.stubEnv('HTTP_PROXY', 'http://10.0.0.1:3128')
    vi.stubEnv('NO_PROXY', '')
    try {
      const connection = new ConnectionInfo({ server: 'http://127.0.0.1:8001', token: 'secret', trustEnv: true })
      expect(() => createHttpsTransport(connection)).toThrow('not sent to http://127.0.0.1:8001 through a proxy')
    } finally {
      vi.unstubAllEnvs()
    }
  })

  test('a token is not sent to another host after a redirect', async () => {
    let isReached = false
    const other = await counted((_, response) => {
      isReached = true
      response.end()
    })
    const { port } = other.server.address() as AddressInfo
    const { server } = await counted((_, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end()
    })
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const transport = createHttpsTransport(new ConnectionInfo({ server: address, token: 'secret' }))
    defer(() => transport.close())
    const response = await transport.send(get('/'))
    await read(response)
    expect([response.status, isReached]).toEqual([307, false])
  })

  test('a redirect is not followed', async () => {
    let count = 0
    const { transport } = await counted((_, response) => {
      count += 1
      response.writeHead(302, { location: '/elsewhere' }).end()
    })
    const response = await transport.send(get('/'))
    await read(response)
    expect([response.status, count]).toEqual([302, 1])
  })
})

describe('TLS', () => {
  test('a client certificate can be given as PEM and as base64', async () => {
    const server = await startServer()
    defer(() => server.stop())
    const { certPem, keyPem } = await server.issueClientCertificate('me', ['system:masters'])
    const encode = (text: string) => Buffer.from(text).toString('base64')
    for (const [certificateData, privateKeyData, caData] of [
      [certPem, keyPem, server.ca!],
      [encode(certPem), encode(keyPem), encode(server.ca!)],
    ] as const) {
      const transport = createHttpsTransport(
        new ConnectionInfo({ server: server.url, caData, certificateData, privateKeyData }),
      )
      const response = await transport.send(get(configMaps))
      await read(response)
      expect(response.status).toBe(200)
      await transport.close()
    }
    expect(server.api.requests.last().map(({ user }) => user)).toEqual(['me', 'me'])
  })

  test.each<[string, (url: URL, ca: string) => Partial<ConnectionInfoOptions>, string]>([
    ['an unknown authority', () => ({}), 'not signed by an authority that is trusted'],
    [
      'a wrong server name',
      (_, caData) => ({ caData, tlsServerName: 'other.example.com' }),
      'is not for "other.example.com"',
    ],
    ['plain HTTP on a TLS port', (url) => ({ server: `http://${url.host}` }), 'the connection broke'],
  ])('the error of %s is explained', async (_, options, sentence) => {
    const server = await startServer()
    defer(() => server.stop())
    const transport = createHttpsTransport(
      new ConnectionInfo({ server: server.url, token: 'x', ...options(new URL(server.url), server.ca!) }),
    )
    defer(() => transport.close())
    const session = sessionOn(transport, { networking: { ...networking, errorBackoffs: [] } })
    expect(await failureOf(session.request({ method: 'GET', path: '/api' }))).toMatchObject({
      code: 'KOPF_CONNECTION',
      message: expect.stringContaining(sentence),
    })
  })

  test.each<[string, (ca: string) => Partial<ConnectionInfoOptions>]>([
    ['a server name in its certificate', (caData) => ({ caData, tlsServerName: 'kubernetes.default.svc' })],
    ['insecure set', () => ({ insecure: true })],
  ])('a server is trusted with %s', async (_, options) => {
    const server = await startServer()
    defer(() => server.stop())
    const transport = createHttpsTransport(
      new ConnectionInfo({ server: server.url, token: server.token, ...options(server.ca!) }),
    )
    defer(() => transport.close())
    const response = await transport.send(get('/api'))
    await read(response)
    expect(response.status).toBe(200)
  })

  test('the error of TLS with a plain HTTP server is explained', async () => {
    const { server } = await counted((_, response) => response.end('{}'))
    const { port } = server.address() as AddressInfo
    const transport = createHttpsTransport(new ConnectionInfo({ server: `https://127.0.0.1:${port}` }))
    defer(() => transport.close())
    expect(await failureOf(sessionOn(transport).request({ method: 'GET', path: '/api' }))).toMatchObject({
      problem: 'protocol',
      message: expect.stringContaining('http:// and https://'),
    })
  })

  test('the error of a port where no server listens is explained', async () => {
    const taken = createTcpServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as AddressInfo
    await new Promise((resolve) => taken.close(resolve))
    const transport = createHttpsTransport(new ConnectionInfo({ server: `https://127.0.0.1:${port}` }))
    defer(() => transport.close())
    const session = sessionOn(transport, { networking: { ...networking, errorBackoffs: [] } })
    expect(await failureOf(session.request({ method: 'GET', path: '/api' }))).toMatchObject({
      problem: 'refused',
      message: expect.stringContaining(`Cannot GET /api: nothing listens at 127.0.0.1:${port}`),
    })
  })
})

describe('close', () => {
  test('closing the transport aborts all requests, and later requests fail', async () => {
    const { transport, open } = await counted((request, response) => {
      if (request.url === '/quick') response.end('{}')
      else if (request.url === '/watch?watch=1') response.write('x')
    })
    await read(await transport.send(get('/quick')))
    const watch = await transport.send(get('/watch?watch=1'))
    const reading = failureOf(read(watch))
    const held = Array.from({ length: 20 }, () => failureOf(transport.send(get('/held'))))
    await until(() => open.size === 17)
    await transport.close()
    for (const error of await Promise.all(held)) expect(error).toMatchObject({ code: 'KOPF_CONNECTION_CLOSED' })
    expect(await reading).toBeInstanceOf(Error)
    expect(await failureOf(transport.send(get('/quick')))).toMatchObject({ code: 'KOPF_CONNECTION_CLOSED' })
    await transport.close()
    await until(() => open.size === 0)
  })

  test('closing a transport does not affect other transports to the same server', async () => {
    const { server, transport } = await startTarget('over HTTPS')
    const other = connect(server)
    await read(await other.send(get('/api')))
    await read(await transport.send(get('/api')))
    await other.close()
    expect((await transport.send(get('/api'))).status).toBe(200)
  })
})

describe('retire', () => {
  test('a retired transport without requests closes at once', async () => {
    const { transport, open } = await counted((_, response) => response.end('{}'))
    await read(await transport.send(get('/')))
    expect(open.size).toBe(1)
    await transport.drain()
    await until(() => open.size === 0)
    expect(await failureOf(transport.send(get('/')))).toMatchObject({ code: 'KOPF_CONNECTION_CLOSED' })
  })

  test('a retired transport closes after its requests and streams have ended', async () => {
    const held: Array<() => void> = []
    const { transport, open } = await counted((_, response) => {
      response.write('a')
      held.push(() => response.end('b'))
    })
    const [watch, request] = await Promise.all([transport.send(get('/?watch=1')), transport.send(get('/'))])
    const retired = transport.drain()
    held[1]!()
    expect(await read(request)).toBe('ab')
    for (let turn = 0; turn < 20; turn += 1) await settle()
    expect(open.size).toBeGreaterThan(0)
    held[0]!()
    expect(await read(watch)).toBe('ab')
    await retired
    await until(() => open.size === 0)
  })

  test('a retired transport can be closed before its streams have ended', async () => {
    const { transport, open } = await counted((_, response) => response.write('a'))
    const watch = await transport.send(get('/?watch=1'))
    const retired = transport.drain()
    const broken = failureOf(read(watch))
    await transport.close()
    await retired
    expect(await broken).toBeInstanceOf(Error)
    await until(() => open.size === 0)
  })
})

describe('last-moment checks', () => {
  const tooLate = new Error('too late')

  test('a request is not sent if its check fails once the connection is established, new or reused', async () => {
    let received = 0
    const { transport } = await counted((_, response) => {
      received += 1
      response.end('{}')
    })
    let isLate = false
    const check = () => {
      if (isLate) throw tooLate
    }
    const sending = transport.send({ method: 'POST', path: '/', body: '{}', check })
    // Simulates an event loop that is blocked until the connection is established.
    isLate = true
    await expect(sending).rejects.toBe(tooLate)
    isLate = false
    expect(await read(await transport.send({ method: 'POST', path: '/', body: '{}', check }))).toBe('{}')
    isLate = true
    // The check also runs on a reused connection.
    await expect(transport.send({ method: 'POST', path: '/', body: '{}', check })).rejects.toBe(tooLate)
    expect(received).toBe(1)
  })
})
