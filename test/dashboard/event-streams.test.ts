/** The limits of streams, with a real HTTP server: sessions that end, and clients that do not read. */
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { EventStreams } from '../../src/dashboard/http/event-streams.ts'
import { EventReader } from './dashboard-support.ts'

const ending = new Set<() => void>()
afterEach(() => {
  for (const end of ending) end()
  ending.clear()
})

interface Served {
  readonly port: number
  readonly streams: EventStreams
  /** Resolves when the connection of a client is closed. */
  readonly closed: Promise<void>
}

/** Serves one view to every client. */
async function serve(options: {
  compute: () => Promise<object>
  check?: () => Promise<boolean>
  revision?: () => number
}): Promise<Served> {
  const { compute, check = async () => true, revision = () => 0 } = options
  const stop = new AbortController()
  const streams = new EventStreams(revision, stop.signal, { updateMs: 1, checkMs: 1 })
  let close = () => {}
  const closed = new Promise<void>((resolve) => {
    close = resolve
  })
  const server = http.createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    streams.open({ view: { key: 'one', compute }, response, lastId: undefined, check }, close)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ending.add(() => {
    stop.abort()
    streams.close()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, streams, closed }
}

function open(port: number): EventReader {
  const reader = new EventReader()
  const request = http.get({ port, host: '127.0.0.1', agent: false }, (response) => reader.read(response))
  request.on('error', () => reader.end())
  ending.add(() => request.destroy())
  return reader
}

test('a stream ends when its session does: the token was revoked, or has expired', async () => {
  let isValid = true
  const { port, closed } = await serve({ compute: async () => ({ a: 1 }), check: async () => isValid })
  const stream = open(port)
  await stream.next()
  isValid = false
  const last = await stream.next(({ event }) => event === 'problem')
  expect(last.data).toEqual({ message: 'The session has ended', code: 'KOPF_DASHBOARD_LOGIN' })
  await stream.ended()
  await closed
})

test('a stream ends when its session cannot be checked: the API server does not answer', async () => {
  const { port } = await serve({ compute: async () => ({ a: 1 }), check: () => Promise.reject(new Error('down')) })
  const stream = open(port)
  await stream.ended()
  expect(stream.events.at(-1)).toMatchObject({ event: 'problem' })
})

test('a client that does not read is sent no further views, and is disconnected if too much waits for it', async () => {
  let count = 0
  const compute = async () => {
    count += 1
    return { count, filler: 'x'.repeat(12 * 1024 * 1024) }
  }
  const { port, closed, streams } = await serve({ compute, revision: () => count })
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => {})
  ending.add(() => socket.destroy())
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  socket.pause()
  await closed
  expect(streams.count).toBe(0)
})

test('a view is computed once for all clients, and not at all when no client is there', async () => {
  let computed = 0
  let revision = 0
  const compute = async () => {
    computed += 1
    return { computed }
  }
  const { port, closed } = await serve({ compute, revision: () => revision })
  const streams = [open(port), open(port), open(port)]
  for (const stream of streams) await stream.next()
  const before = computed
  revision += 1
  for (const stream of streams) await stream.next(({ data }) => data.computed > before)
  expect(computed).toBe(before + 1)
  for (const end of [...ending].slice(1)) end()
  await closed
})
