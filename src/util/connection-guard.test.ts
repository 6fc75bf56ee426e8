/** By the order in which connections are closed; with sockets that are only events, so that there can be very many. */
import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import { expect, test } from 'vitest'
import { expectLinearGrowth } from '../../test/support/growth.ts'
import { ConnectionGuard, type ConnectionLimits } from './connection-guard.ts'

let ports = 0

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string
  readonly remotePort: number
  bytesRead = 0
  destroyed = false

  constructor(remoteAddress: string) {
    super()
    this.remoteAddress = remoteAddress
    ports += 1
    this.remotePort = ports
  }

  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.emit('close')
  }
}

function start(limits: ConnectionLimits) {
  const server = new EventEmitter()
  let served = 0
  const guard = new ConnectionGuard(server as Server, limits, () => {
    served += 1
  })
  const open = (address = '10.0.0.1') => {
    const socket = new FakeSocket(address)
    server.emit('connection', socket)
    return socket
  }
  /** A request with its head; what is returned completes it, and then answers it. */
  const ask = (socket: FakeSocket, headers: object = { 'content-length': '5' }) => {
    const request = Object.assign(new EventEmitter(), { socket, headers })
    const response = new EventEmitter()
    server.emit('request', request, response)
    return { complete: () => void request.emit('end'), answer: () => void response.emit('close') }
  }
  const shake = (socket: FakeSocket) => void server.emit('secureConnection', socket)
  return { guard, open, ask, shake, served: () => served }
}

/** Of the sockets by name, those that are closed. */
function closedOf(sockets: Readonly<Record<string, FakeSocket>>): string[] {
  return Object.keys(sockets).filter((name) => sockets[name]!.destroyed)
}

test('the oldest unfinished connection goes first, before those that are idle', () => {
  const { open, ask } = start({ maxConnections: 4, maxPerAddress: 4 })
  const idle = open()
  const { complete, answer } = ask(idle)
  complete()
  answer()
  const [first, second, third] = [open(), open(), open()]
  open()
  expect(closedOf({ idle, first, second, third })).toEqual(['first'])
  open()
  expect(closedOf({ idle, first, second, third })).toEqual(['first', 'second'])
})

test('progress counts: a handshake, a complete head, and a good part of a body', () => {
  const { open, ask, shake } = start({ maxConnections: 4, maxPerAddress: 4 })
  const [shaken, headed, sending, silent] = [open(), open(), open(), open()]
  shake(shaken)
  ask(headed)
  sending.bytesRead = 64 * 1024
  open()
  expect(closedOf({ shaken, headed, sending, silent })).toEqual(['silent'])
  const trickling = shaken
  trickling.bytesRead = 1000
  open()
  expect(closedOf({ shaken, headed, sending })).toEqual(['shaken'])
})

test('busy connections stay, and where all are busy, a new one is turned away', () => {
  const { open, ask, guard } = start({ maxConnections: 2, maxPerAddress: 2 })
  const busy = [open(), open()]
  for (const socket of busy) ask(socket, {})
  const refused = open()
  expect([refused.destroyed, ...busy.map(({ destroyed }) => destroyed)]).toEqual([true, false, false])
  expect({ count: guard.count, closed: guard.closed }).toEqual({ count: 2, closed: 1 })
})

test('an address that has its share closes its own connections, not those of others', () => {
  const { open } = start({ maxConnections: 10, maxPerAddress: 4 })
  const others = [open('10.0.0.2'), open('10.0.0.3')]
  const own = Array.from({ length: 6 }, () => open('10.0.0.1'))
  expect(others.map(({ destroyed }) => destroyed)).toEqual([false, false])
  expect(own.map(({ destroyed }) => destroyed)).toEqual([true, true, false, false, false, false])
})

test('of idle connections the one that was not used for longest goes first', () => {
  const { open, ask } = start({ maxConnections: 2, maxPerAddress: 2 })
  const [first, second] = [open(), open()]
  for (const socket of [first, second, first]) ask(socket, {}).answer()
  open()
  expect(closedOf({ first, second })).toEqual(['second'])
})

test('those that connect are safe for a while, also where all places are taken by idle connections', () => {
  const { open, ask } = start({ maxConnections: 100, maxPerAddress: 100 })
  for (let count = 0; count < 100; count += 1) ask(open(), {}).answer()
  const first = open()
  const others = Array.from({ length: 24 }, () => open())
  expect([first, ...others].filter(({ destroyed }) => destroyed)).toEqual([])
  for (let count = 0; count < 2; count += 1) open()
  expect(first.destroyed).toBe(true)
})

test('the fifth request that comes before the first is answered closes the connection, and no more are served', () => {
  const { open, ask, served } = start({ maxConnections: 2, maxPerAddress: 2 })
  const socket = open()
  for (let count = 0; count < 10; count += 1) ask(socket, {})
  expect({ served: served(), destroyed: socket.destroyed }).toEqual({ served: 4, destroyed: true })
})

test('connections that are closed by others are forgotten', () => {
  const { open, guard } = start({ maxConnections: 2, maxPerAddress: 2 })
  for (let count = 0; count < 100; count += 1) open().destroy()
  expect({ count: guard.count, closed: guard.closed }).toEqual({ count: 0, closed: 0 })
  open()
  guard.closeAll()
  expect(guard.count).toBe(0)
})

test('the time that n connections take is linear, whether they stay, make progress or are closed for others', async () => {
  await expectLinearGrowth({
    n: 400,
    prepare: (n) => ({ n, ...start({ maxConnections: n, maxPerAddress: n / 2 }) }),
    run: ({ n, open, ask, shake }) => {
      for (let count = 0; count < 3 * n; count += 1) {
        const socket = open(`10.0.0.${count % 3}`)
        if (count % 2 === 0) shake(socket)
        if (count % 5 === 0) ask(socket, {}).answer()
        if (count % 7 === 0) socket.bytesRead = 1e6
      }
    },
  })
})
