/** Thousands of connections to an HTTPS endpoint: a client that behaves is answered meanwhile, and the number of open connections is limited. */
import https from 'node:https'
import net from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveCertificates } from '../../src/serving/certificates.ts'
import { defaultLimits, type Endpoint, respond, startEndpoint } from '../../src/serving/endpoint.ts'
import { systemClock } from '../../src/util/async/clock.ts'
import { createLogger, createLogSink } from '../../src/util/log/log.ts'

let endpoint: Endpoint
/** Connections that the endpoint has now, counted by the events of its own sockets. */
let answered = 0

beforeAll(async () => {
  const logger = createLogger(createLogSink({ format: 'plain', write: () => {} }), 'test')
  const host = '127.0.0.1'
  const fail = (why: string): never => {
    throw new Error(why)
  }
  const files = { certFile: null, keyFile: null, host, name: 'a test', clock: systemClock, logger, fail }
  endpoint = await startEndpoint({
    address: { scheme: 'https', host, port: 0, path: '/' },
    name: 'a test',
    code: 'KOPF_TEST',
    certificates: (signal) => serveCertificates(files, signal),
    onRequest: (request, response) => {
      answered += 1
      respond(request, response, { status: 200, body: 'well' })
    },
  })
})

afterAll(() => endpoint.close())

function ask(): Promise<number> {
  return new Promise((resolve, reject) => {
    const { port } = endpoint.address
    const request = https.get({ port, host: '127.0.0.1', agent: false, rejectUnauthorized: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode!))
    })
    request.on('error', reject)
  })
}

function connect(bytes: string): Promise<net.Socket> {
  return new Promise((resolve) => {
    const socket = net.connect(endpoint.address.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.once('close', () => resolve(socket))
    socket.once('connect', () => (bytes === '' ? resolve(socket) : socket.write(bytes, () => resolve(socket))))
  })
}

test.each([
  ['say nothing', ''],
  ['send what is no TLS handshake', 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'],
  ['begin a handshake and stop', '\x16\x03\x01\x02\x00\x01'],
])('an endpoint answers while 3000 connections %s', { timeout: 120_000 }, async (_, bytes) => {
  const before = answered
  const sockets: net.Socket[] = []
  for (let batch = 0; batch < 30; batch += 1) {
    sockets.push(...(await Promise.all(Array.from({ length: 100 }, () => connect(bytes)))))
    expect(await ask()).toBe(200)
  }
  expect(answered - before).toBe(30)
  // Those beyond the limit were closed by the endpoint.
  await expect
    .poll(() => sockets.filter(({ destroyed, readyState }) => !destroyed && readyState === 'open').length)
    .toBeLessThanOrEqual(defaultLimits.maxConnections)
  for (const socket of sockets) socket.destroy()
})
