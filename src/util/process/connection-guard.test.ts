/** The order in which the connection guard closes connections. The sockets are event emitters, so that thousands are cheap. */
import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import { expect, test } from 'vitest'
import { expectLinearGrowth } from '../../../test/support/growth.ts'
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
  /** Sends the head of a request; `complete` ends its body, `answer` ends its response. */
  const ask = (socket: FakeSocket, headers: object = { 'content-length': '5' }) => {
    const request = Object.assign(new EventEmitter(), { socket, headers })
    const response = new EventEmitter()
    server.emit('request', request, response)
    return { complete: () => void request.emit('end'), answer: () => void response.emit('close') }
  }
  const shake = (socket: FakeSocket) => void server.emit('secureConnection', socket)
  return { guard, open, ask, shake, served: () => served }
}

/** Returns the names of the closed sockets. */
function closedOf(sockets: Readonly<Record<string, FakeSocket>>): string[] {
  return Object.keys(sockets).filter((name) => sockets[name]!.destroyed)
}

test('the connection guard closes the oldest unfinished connection before idle ones', () => {
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

test('the connection guard counts a handshake, a complete head and a large part of a body as progress', () => {
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

test('the connection guard keeps busy connections, and refuses a new one if all are busy', () => {
  const { open, ask, guard } = start({ maxConnections: 2, maxPerAddress: 2 })
  const busy = [open(), open()]
  for (const socket of busy) ask(socket, {})
  const refused = open()
  expect([refused.destroyed, ...busy.map(({ destroyed }) => destroyed)]).toEqual([true, false, false])
  expect({ count: guard.count, closed: guard.closed }).toEqual({ count: 2, closed: 1 })
})

test('the connection guard closes connections of the address that exceeds its share, not of other addresses', () => {
  const { open } = start({ maxConnections: 10, maxPerAddress: 4 })
  const others = [open('10.0.0.2'), open('10.0.0.3')]
  const own = Array.from({ length: 6 }, () => open('10.0.0.1'))
  expect(others.map(({ destroyed }) => destroyed)).toEqual([false, false])
  expect(own.map(({ destroyed }) => destroyed)).toEqual([true, true, false, false, false, false])
})

test('the connection guard closes the idle connection that was unused for longest first', () => {
  const { open, ask } = start({ maxConnections: 2, maxPerAddress: 2 })
  const [first, second] = [open(), open()]
  for (const socket of [first, second, first]) ask(socket, {}).answer()
  open()
  expect(closedOf({ first, second })).toEqual(['second'])
})

test('the connection guard protects new connections for a while, even if idle connections take all places', () => {
  const { open, ask } = start({ maxConnections: 100, maxPerAddress: 100 })
  for (let count = 0; count < 100; count += 1) ask(open(), {}).answer()
  const first = open()
  const others = Array.from({ length: 24 }, () => open())
  expect([first, ...others].filter(({ destroyed }) => destroyed)).toEqual([])
  for (let count = 0; count < 2; count += 1) open()
  expect(first.destroyed).toBe(true)
})

test('the connection guard closes a connection with the fifth pipelined request, and serves no more of them', () => {
  const { open, ask, served } = start({ maxConnections: 2, maxPerAddress: 2 })
  const socket = open()
  for (let count = 0; count < 10; count += 1) ask(socket, {})
  expect({ served: served(), destroyed: socket.destroyed }).toEqual({ served: 4, destroyed: true })
})

test('the connection guard forgets connections that were closed by others', () => {
  const { open, guard } = start({ maxConnections: 2, maxPerAddress: 2 })
  for (let count = 0; count < 100; count += 1) open().destroy()
  expect({ count: guard.count, closed: guard.closed }).toEqual({ count: 0, closed: 0 })
  open()
  guard.closeAll()
  expect(guard.count).toBe(0)
})

test('the connection guard takes linear time for n connections that stay, make progress or are closed', async () => {
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
