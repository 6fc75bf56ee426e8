/** Clients that open more connections than the server keeps, or hold idle connections, do not block other clients. */
import { Agent } from 'node:https'
import { connect, type Socket } from 'node:net'
import { type WebhookFn, WebhookServer } from 'kopf/webhooks'
import { expect, test } from 'vitest'
import { ManualClock, settle } from '../support/manual-clock.ts'
import { connectRaw, post, readToEnd, reviewOf, type Serving, serve } from './webhook-support.ts'

/** More connections than the server keeps, both per address and in total. */
const many = 1100
const head = 'POST /fn HTTP/1.1\r\nhost: localhost\r\n'
const text = JSON.stringify(reviewOf())

/** Opens connections from one address that all send `write`. Resolves when all are connected or closed. */
async function connectMany({ url }: Serving, count: number, write?: string): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: count }, () => connect({ host: '127.0.0.1', port: Number(url.port) }))
  await Promise.all(
    sockets.map((socket) => {
      socket.on('error', () => {})
      return new Promise<void>((resolve) => {
        socket.once('close', () => resolve())
        socket.once('connect', () => (write === undefined ? resolve() : socket.write(write, () => resolve())))
      })
    }),
  )
  return sockets
}

function closeAll(sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.destroy()
}

test.each<[string, WebhookServer, string | undefined]>([
  ['silent in the handshake', new WebhookServer(), undefined],
  ['silent', new WebhookServer({ insecure: true }), undefined],
  ['in the middle of a head', new WebhookServer({ insecure: true }), `${head}x-one:`],
  ['in the middle of a body', new WebhookServer({ insecure: true }), `${head}content-length: 1000\r\n\r\n{`],
])(
  'webhook requests are answered while hundreds of connections of the same address are %s',
  async (_name, server, write) => {
    await using serving = await serve(server)
    const sockets = await connectMany(serving, many, write)
    for (let count = 0; count < 5; count += 1) expect((await post(serving, reviewOf())).status).toBe(200)
    closeAll(sockets)
  },
)

test('a webhook connection that is kept alive outlives connections that never send a request', async () => {
  await using serving = await serve(new WebhookServer())
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let opened = 0
  const create = agent.createConnection.bind(agent)
  agent.createConnection = ((...args: Parameters<typeof create>) => {
    opened += 1
    return create(...args)
  }) as never
  expect((await post(serving, reviewOf(), { agent })).status).toBe(200)
  const sockets = await connectMany(serving, many)
  expect((await post(serving, reviewOf(), { agent })).status).toBe(200)
  expect(opened).toBe(1)
  closeAll(sockets)
  agent.destroy()
})

test('a running webhook request is answered, however many clients connect meanwhile', async () => {
  let called!: () => void
  let answer!: () => void
  const begun = new Promise<void>((resolve) => (called = resolve))
  const opened = new Promise<void>((resolve) => (answer = resolve))
  const fn: WebhookFn = async () => {
    called()
    await opened
    return { response: { allowed: true } }
  }
  await using serving = await serve(new WebhookServer(), fn)
  const reply = post(serving, reviewOf())
  await begun
  const sockets = await connectMany(serving, many)
  answer()
  expect((await reply).status).toBe(200)
  closeAll(sockets)
})

test('idle webhook connections make room for new ones', async () => {
  await using serving = await serve(new WebhookServer({ insecure: true }))
  const sockets = await connectMany(serving, many, `${head}content-length: ${text.length}\r\n\r\n${text}`)
  expect((await post(serving, reviewOf())).status).toBe(200)
  closeAll(sockets)
})

test('a webhook client that pipelines requests without reading responses is disconnected', async () => {
  let calls = 0
  await using serving = await serve(new WebhookServer(), () => {
    calls += 1
    return new Promise(() => {})
  })
  const socket = await connectRaw(serving)
  const ended = readToEnd(socket)
  socket.write(`${head}content-length: ${text.length}\r\n\r\n${text}`.repeat(1000))
  await ended
  expect(calls).toBeLessThanOrEqual(4)
})

test('a webhook request body that is too slow is refused after six seconds, and a fast one is not', async () => {
  const clock = new ManualClock()
  let received = () => {}
  const seen: unknown[] = []
  await using serving = await serve(
    new WebhookServer({ insecure: true }),
    async (review) => ({ n: seen.push(review) }),
    clock,
  )
  const start = async (length: number, part: string) => {
    const [socket] = await connectMany(serving, 1, `${head}content-length: ${length}\r\n\r\n${part}`)
    return { socket: socket!, ended: readToEnd(socket!) }
  }
  const slow = await start(1000, '{')
  const fast = await start(200_002, `"${'x'.repeat(100_000)}`)
  // The server reads the sent bytes before the clock advances.
  while (clock.sleeping === 0) await settle()
  for (let turn = 0; turn < 50; turn += 1) await settle()
  await clock.advance(5000)
  await clock.advance(1000)
  expect(await slow.ended).toMatch(/^HTTP\/1\.1 408 .*the body is sent too slowly/s)
  fast.socket.on('data', () => received())
  const answered = new Promise<void>((resolve) => (received = resolve))
  fast.socket.write(`${'x'.repeat(100_000)}"`)
  await answered
  expect(seen).toEqual(['x'.repeat(200_000)])
  fast.socket.destroy()
})

test('a large webhook response that is not read does not stay in memory', async () => {
  const clock = new ManualClock()
  const large = { text: 'x'.repeat(16 * 1024 * 1024) }
  await using serving = await serve(new WebhookServer({ insecure: true }), async () => large, clock)
  const [socket] = await connectMany(serving, 1)
  socket!.pause()
  const ended = new Promise<void>((resolve) => socket!.once('close', () => resolve()))
  socket!.write(`${head}content-length: ${text.length}\r\n\r\n${text}`)
  while (clock.sleeping === 0) await settle()
  for (let turn = 0; turn < 50; turn += 1) await settle()
  await clock.advance(5000)
  socket!.resume()
  let bytes = 0
  socket!.on('data', (chunk) => (bytes += chunk.length))
  await ended
  expect(bytes).toBeLessThan(large.text.length)
})
