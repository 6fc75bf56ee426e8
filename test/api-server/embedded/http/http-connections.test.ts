/** The embedded server on a port: bodies, malformed HTTP, slow watchers, starting and stopping. */

import { request as httpRequest } from 'node:http'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { connect as connectTls } from 'node:tls'
import { ApiServer, type RunningServer, type StartServerOptions, startServer } from 'kopf/server'
import { afterEach, describe, expect, test } from 'vitest'
import { Api } from '../../../support/api.ts'
import { eventually, expectFailure, expectStatus, warningsOf } from '../../../support/expectations.ts'
import { configMap } from '../../../support/objects.ts'

const path = '/api/v1/namespaces/default/configmaps'

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function start(options: StartServerOptions = {}): Promise<{ server: RunningServer; api: Api; port: number }> {
  const server = await startServer(options)
  const { url, ca, token } = server
  const credentials = token === undefined ? {} : { token }
  const api = new Api({ url, credentials, ...(ca === undefined ? {} : { caPem: ca }) })
  closing.push(
    () => server.stop(),
    () => api.close(),
  )
  return { server, api, port: Number(new URL(url).port) }
}

const open = { open: true, insecure: true } as const

/** Sends these bytes, and resolves with all received bytes when the server closes the connection. */
async function sendRaw(port: number, ...pieces: ReadonlyArray<string | Buffer>): Promise<string> {
  const socket = await connected(port)
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
  // The server may close the connection before it has read all of a malformed request.
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  for (const piece of pieces) socket.write(piece)
  await closed
  return text
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  closing.push(() => socket.destroy())
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return socket
}

describe('request bodies', () => {
  const tooLarge = 'Request entity too large: limit is 3145728'
  const MB = 1024 * 1024

  test.each([3 * MB + 1, 4 * MB, 40 * MB])(
    'a body of %i bytes is refused, and the connection stays usable',
    async (size) => {
      const { api } = await start()
      const answer = await api.post(path, Buffer.alloc(size, ' '))
      expectFailure(answer, 413, 'RequestEntityTooLarge', tooLarge)
      expectStatus(await api.get(path), 200)
    },
  )

  test('a chunked body is refused as soon as it is too large, before its end', async () => {
    const { server } = await start(open)
    const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const request = httpRequest(`${server.url}${path}`, { method: 'POST' }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode!, text }))
      })
      closing.push(() => request.destroy())
      request.on('error', reject)
      for (let index = 0; index < 4; index += 1) request.write(Buffer.alloc(MB, ' '))
    })
    expect(answer.status).toBe(413)
    expect(JSON.parse(answer.text).message).toBe(tooLarge)
  })

  test('a body of exactly 3 MiB is accepted', async () => {
    const { api } = await start()
    const text = JSON.stringify(configMap('large'))
    const answer = await api.post(path, text + ' '.repeat(3 * MB - text.length))
    expect(answer.status).toBe(201)
  })

  test('a body may arrive slowly, in chunks that end within a character', async () => {
    const { port, api } = await start(open)
    const body = Buffer.from(JSON.stringify(configMap('slow', { data: { text: 'ж😀' } })))
    const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
    const socket = await connected(port)
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    const closed = new Promise((resolve) => socket.once('close', resolve))
    for (const byte of Buffer.concat([Buffer.from(head), body])) {
      await new Promise((resolve) => socket.write(Buffer.from([byte]), resolve))
    }
    await closed
    expect(text).toMatch(/^HTTP\/1.1 201 /)
    expect((await api.get(`${path}/slow`)).body['data']).toEqual({ text: 'ж😀' })
  })

  test('an incomplete body changes nothing', async () => {
    const { port, server, api } = await start(open)
    const socket = await connected(port)
    const body = JSON.stringify(configMap('half'))
    socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length + 5}\r\n\r\n${body}`)
    expectStatus(await api.get(path), 200)
    socket.destroy()
    await new Promise((resolve) => socket.once('close', resolve))
    expect((await api.get(`${path}/half`)).status).toBe(404)
    expect(server.api.requests.counts()).not.toHaveProperty('create configmaps')
  })

  test('the body of a GET is ignored', async () => {
    const { api } = await start()
    expectStatus(await api.request('GET', path, { body: 'nonsense' }), 200)
  })
})

describe('HEAD requests', () => {
  test.each([path, `${path}/a`, '/version', '/healthz', `${path}?watch=true`])(
    'a HEAD request for %s is answered without a body',
    async (target) => {
      const { api, server } = await start()
      await api.post(path, configMap('a'))
      const [head, whole] = [
        await api.request('HEAD', target),
        target.includes('watch') ? undefined : await api.get(target),
      ]
      expect(head).toMatchObject({ status: 200, text: '' })
      expect(head.headers['content-type']).toBe(whole?.headers['content-type'] ?? 'application/json')
      expect(head.headers['content-length']).toBe(whole?.headers['content-length'])
      await eventually(async () => expect(server.api.openWatches).toBe(0))
    },
  )
})

describe('methods', () => {
  test.each(['OPTIONS', 'TRACE', 'PROPFIND', 'LOCK'])('the method %s is answered with 405', async (method) => {
    const { api } = await start()
    const message = 'the server does not allow this method on the requested resource'
    expectFailure(await api.request(method, path), 405, 'MethodNotAllowed', message, {})
  })
})

describe('malformed HTTP', () => {
  test.each<[string, Array<string | Buffer>]>([
    ['text that is not HTTP', ['nonsense\r\n\r\n']],
    ['random bytes', [Buffer.from([0, 255, 1, 254, 13, 10, 13, 10])]],
    ['an unknown method', ['NONSENSE / HTTP/1.1\r\nHost: localhost\r\n\r\n']],
    ['a bad header', ['GET / HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n']],
    ['two lengths', ['POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n']],
    [
      'a length and chunks',
      [`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ],
    ['no host header', ['GET / HTTP/1.1\r\n\r\n']],
    ['a TLS handshake on a plain port', [Buffer.from('16030100', 'hex'), '\r\n\r\n']],
    ['bytes after a request', ['GET /version HTTP/1.1\r\nHost: localhost\r\n\r\nnonsense\r\n\r\n']],
  ])('malformed HTTP is answered with 400: %s', async (_, pieces) => {
    const { port, api } = await start(open)
    const watch = await api.watch(path)
    expect(await sendRaw(port, ...pieces)).toMatch(/HTTP\/1.1 400 Bad Request/)
    await api.post(path, configMap('after'))
    expect((await watch.next()).object.metadata.name).toBe('after')
    watch.close()
  })

  test('too long a header is answered with 431', async () => {
    const { port } = await start(open)
    expect(await sendRaw(port, `GET / HTTP/1.1\r\nHost: localhost\r\nA: ${'a'.repeat(100_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 431 /,
    )
  })

  test('plain HTTP on a TLS port does not affect other requests', async () => {
    const { port, api } = await start()
    await sendRaw(port, 'GET / HTTP/1.1\r\n\r\n')
    expectStatus(await api.get(path), 200)
  })
})

describe('responses', () => {
  test('a response has its warnings whatever their characters', async () => {
    const { api } = await start()
    const answer = await api.post(path, { ...configMap('a'), Ключ: 1, 'a"b': 2, 'c\r\nx-evil: 1': 3 })
    expect(answer.status).toBe(201)
    const warnings = warningsOf(answer).map((text) => Buffer.from(text, 'latin1').toString('utf8'))
    expect(warnings).toContain('unknown field "Ключ"')
    expect(answer.headers).not.toHaveProperty('x-evil')
  })

  test('a response has no more warnings than its headers can hold', async () => {
    const { api } = await start()
    const strangers = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`stranger-${index}`, 1]))
    const answer = await api.post(path, { ...configMap('a'), ...strangers })
    expect(answer.status).toBe(201)
    expect(warningsOf(answer).length).toBeGreaterThan(50)
  })

  test('pipelined requests on one connection are answered in order', async () => {
    const { port } = await start(open)
    const request = (target: string, last = false) =>
      `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${last ? 'Connection: close\r\n' : ''}\r\n`
    const text = await sendRaw(
      port,
      request('/healthz') + request(`${path}/a`) + request('/version') + request('/healthz', true),
    )
    expect([...text.matchAll(/HTTP\/1.1 (\d+)/g)].map((match) => match[1])).toEqual(['200', '404', '200', '200'])
  })
})

describe('watch connections', () => {
  test('a closed watch connection is released', async () => {
    const { api, server } = await start()
    const watches = await Promise.all(Array.from({ length: 20 }, () => api.watch(path)))
    expect(server.api.openWatches).toBe(20)
    for (const watch of watches) watch.close()
    await eventually(async () => expect(server.api.openWatches).toBe(0))
  })

  test('a watch whose client does not read is closed, while other watches miss no event', async () => {
    const { api, server, port } = await start({ ...open, watchers: { pendingChanges: 50 } })
    const slow = await connected(port)
    slow.pause()
    slow.write(`GET ${path}?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    await eventually(async () => expect(server.api.openWatches).toBe(1))
    const quick = await api.watch(path)
    const data = { text: 'x'.repeat(200_000) }
    let count = 0
    for (; server.api.openWatches === 2 && count < 500; count += 1) {
      expectStatus(await api.post(path, configMap(`a${count}`, { data })), 201)
      expect((await quick.next()).object.metadata.name).toBe(`a${count}`)
    }
    expect(count).toBeLessThan(500)
    expect(server.api.openWatches).toBe(1)
    expectStatus(await api.post(path, configMap('last')), 201)
    expect((await quick.next()).object.metadata.name).toBe('last')
    quick.close()
  })
})

describe('stopping the server', () => {
  const soonMs = 2000

  async function timeOf(deed: () => Promise<unknown>): Promise<number> {
    const began = performance.now()
    await deed()
    return performance.now() - began
  }

  test('a stopping server ends watches after their pending events', async () => {
    const { api, server } = await start()
    const watch = await api.watch(path)
    await server.api.send({ method: 'POST', path, body: JSON.stringify(configMap('last')) })
    expect(await timeOf(() => server.stop())).toBeLessThan(soonMs)
    expect((await watch.rest()).map(({ object }) => object.metadata.name)).toEqual(['last'])
    expect(watch.isComplete).toBe(true)
  })

  test('a stopping server does not wait for open connections', async () => {
    const { api, server, port } = await start()
    // Connections that are kept alive, without a handshake, within a body, held by a fault, and not reading.
    await api.get(path)
    await connected(port)
    const half = connectTls({ port, ca: server.ca! })
    closing.push(() => half.destroy())
    half.on('error', () => {})
    await new Promise((resolve) => half.once('secureConnect', resolve))
    half.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{`)
    const fault = server.api.faults.add({ on: { name: 'held' }, effect: { type: 'delay', delayMs: 1_000_000 } })
    const held = api.get(`${path}/held`).catch((error: Error & { code?: string }) => error.code)
    await eventually(async () => expect(fault.hits).toBe(1))
    expect(await timeOf(() => server.stop())).toBeLessThan(soonMs)
    expect(await held).toBe('ECONNRESET')
  })

  test('stopping a server twice is the same as once', async () => {
    const { server } = await start(open)
    await Promise.all([server.stop(), server.stop()])
    await server.stop()
    await expect(connected(Number(new URL(server.url).port))).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('stopping one listener does not affect another listener of the same ApiServer', async () => {
    const api = new ApiServer()
    const one = await start({ api })
    const other = await start({ api })
    const watch = await other.api.watch(path)
    await one.server.stop()
    expectStatus(await other.api.post(path, configMap('a')), 201)
    expect((await watch.next()).type).toBe('ADDED')
    watch.close()
  })
})

describe('starting the server', () => {
  test('two servers at once share no state', async () => {
    const one = await start()
    const other = await start()
    expectStatus(await one.api.post(path, configMap('a')), 201)
    expect((await other.api.get(`${path}/a`)).status).toBe(404)
    expect(one.server.token).not.toBe(other.server.token)
  })

  test('a server that is started with an ApiServer serves that one', async () => {
    const own = new ApiServer()
    await own.send({ method: 'POST', path, body: JSON.stringify(configMap('a')) })
    const { api, server } = await start({ api: own })
    expect(server.api).toBe(own)
    expectStatus(await api.get(`${path}/a`), 200)
  })

  test('an open server needs no credentials and no TLS', async () => {
    const { server } = await start(open)
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(server.token).toBeUndefined()
    expect(server.ca).toBeUndefined()
    const answer = await fetch(`${server.url}${path}`)
    expect(answer.status).toBe(200)
  })

  test.each(['0.0.0.0', '::', '192.0.2.1', 'example.com'])('an open server is refused at %s', async (host) => {
    const message = `Cannot start an open API server on "${host}": everybody could change everything`
    await expect(startServer({ open: true, host })).rejects.toThrow(message)
    await expect(startServer({ api: new ApiServer({ open: true }), host })).rejects.toThrow(message)
  })

  test('a server with plain HTTP is open in process and needs credentials on its port', async () => {
    const { api, server } = await start({ insecure: true })
    expect(server.url).toMatch(/^http:/)
    expectStatus(await api.get(path), 200)
    expect((await fetch(`${server.url}${path}`)).status).toBe(403)
  })

  test('starting on a used port fails with a clear error', async () => {
    const taken = createTcpServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    closing.push(() => taken.close())
    const { port } = taken.address() as { port: number }
    await expect(startServer({ port })).rejects.toMatchObject({
      name: 'KopfError',
      code: 'KOPF_SERVER_LISTEN',
      message: `Cannot listen on 127.0.0.1:${port}: the port is taken by another program; choose another one, or 0 for any that is free`,
    })
  })

  test('starting at an address of another machine fails with a clear error', async () => {
    await expect(startServer({ host: '192.0.2.1' })).rejects.toThrow(
      'Cannot listen on 192.0.2.1:0: this machine has no such address; listen on 127.0.0.1',
    )
  })

  const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))

  test.skipIf(!hasIpv6)('a server at an IPv6 address has a usable URL', async () => {
    const { server } = await start({ ...open, host: '::1' })
    expect(server.url).toMatch(/^http:\/\/\[::1\]:\d+$/)
    expect((await fetch(`${server.url}/version`)).status).toBe(200)
  })
})
