/**
 * Keeps a server that listens on a port answering while others open more connections than it can keep. Used by the health
 * endpoint and by the webhook servers. A connection is *unfinished* until it has delivered a complete request (TLS handshakes
 * count as unfinished), *busy* until the request is answered, then *idle*. There is a limit of connections in all, and one for each
 * address, so that one address leaves room for others. Where a limit is reached, a new connection takes the place of the unfinished
 * connection whose last progress is longest ago. Where few are unfinished, it takes the place of the connection that is idle for
 * longest: otherwise a client could fill the places with idle connections, and those of others would be closed while they
 * ask. Busy connections are never closed.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionLimits {
  readonly maxConnections: number
  /** Kubelets, API servers and other pods may share an address, so this is most of `maxConnections`. */
  readonly maxPerAddress: number
}

/** Progress beside a finished handshake or a complete head: enough that pretending costs about as much as asking. */
const progressBytes = 64 * 1024
/** The share of the places that unfinished connections can have before they are closed rather than idle ones. */
const unfinishedShare = 1 / 4
/** Neither API servers nor kubelets send a request before the last one is answered. */
const maxRequestsAtOnce = 4

interface Connection {
  /** Of TCP, also where TLS is spoken on it. */
  readonly socket: Socket
  readonly name: string
  readonly address: string
  /** In the lists of all connections and of its address. */
  readonly links: readonly [Link, Link]
  /** Requests that are not answered yet. */
  requests: number
  /** `socket.bytesRead` when progress was last noticed. */
  bytes: number
}

/** Connections that can be closed, in the order in which they would be, and the number of all. */
class Pool {
  readonly unfinished: List = new List()
  readonly idle: List = new List()
  count = 0
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void

export class ConnectionGuard {
  readonly #limits: ConnectionLimits
  readonly #all = new Pool()
  readonly #byAddress = new Map<string, Pool>()
  /** By address and port, which a socket of TLS has in common with the one it is made of. */
  readonly #byName = new Map<string, Connection>()
  #closed = 0

  /** `serve` answers the requests; the server itself must not. */
  constructor(server: Server, limits: ConnectionLimits, serve: Serve) {
    this.#limits = limits
    server.on('connection', (socket: Socket) => this.#admit(socket))
    server.on('secureConnection', (socket: Socket) => this.#progress(socket))
    server.on('request', (request, response) => {
      if (this.#begin(request, response)) serve(request, response)
    })
  }

  get count(): number {
    return this.#all.count
  }

  /** How many connections were closed to make room, new ones that found none included. */
  get closed(): number {
    return this.#closed
  }

  closeAll(): void {
    for (const { socket } of [...this.#byName.values()]) socket.destroy()
  }

  #admit(socket: Socket): void {
    const address = socket.remoteAddress ?? ''
    const connection: Connection = {
      socket,
      address,
      name: nameOf(socket),
      links: [new Link(), new Link()],
      requests: 0,
      bytes: 0,
    }
    for (const link of connection.links) link.connection = connection
    if (!this.#makeRoom(address)) {
      this.#closed += 1
      socket.destroy()
      return
    }
    this.#add(connection)
    socket.once('close', () => this.#remove(connection))
  }

  #makeRoom(address: string): boolean {
    const { maxConnections, maxPerAddress } = this.#limits
    const own = this.#byAddress.get(address)
    if (own !== undefined && own.count >= maxPerAddress && !this.#evict(own)) return false
    // An address that has closed a connection of its own has thereby made room among all.
    return this.#all.count < maxConnections || this.#evict(this.#all)
  }

  #evict(pool: Pool): boolean {
    const isCrowded = pool.unfinished.size > pool.count * unfinishedShare
    const victim = (isCrowded ? undefined : pool.idle.first) ?? this.#findStalled(pool) ?? pool.idle.first
    if (victim === undefined) return false
    this.#closed += 1
    this.#remove(victim)
    victim.socket.destroy()
    return true
  }

  /** The first unfinished connection without progress since it was put there. Others go to the end, and count as put there now. */
  #findStalled(pool: Pool): Connection | undefined {
    for (let first = pool.unfinished.first; first !== undefined; first = pool.unfinished.first) {
      if (first.socket.bytesRead - first.bytes < progressBytes) return first
      this.#file(first, 'unfinished')
    }
    return undefined
  }

  #add(connection: Connection): void {
    const { address, name } = connection
    this.#byName.set(name, connection)
    if (!this.#byAddress.has(address)) this.#byAddress.set(address, new Pool())
    for (const pool of this.#poolsOf(connection)) pool.count += 1
    this.#file(connection, 'unfinished')
  }

  #remove(connection: Connection): void {
    const { address, name } = connection
    if (this.#byName.get(name) !== connection) return
    this.#byName.delete(name)
    for (const link of connection.links) link.leave()
    for (const pool of this.#poolsOf(connection)) pool.count -= 1
    if (this.#byAddress.get(address)!.count === 0) this.#byAddress.delete(address)
  }

  #poolsOf({ address }: Connection): readonly [Pool, Pool] {
    return [this.#all, this.#byAddress.get(address)!]
  }

  /** Puts the connection at the end of a list; nowhere where it is busy. */
  #file(connection: Connection, state: 'unfinished' | 'idle' | 'busy'): void {
    const { links, socket } = connection
    connection.bytes = socket.bytesRead
    this.#poolsOf(connection).forEach((pool, index) => {
      links[index]!.leave()
      if (state !== 'busy') pool[state].append(links[index]!)
    })
  }

  #progress(socket: Socket): Connection | undefined {
    const connection = this.#byName.get(nameOf(socket))
    if (connection !== undefined) this.#file(connection, 'unfinished')
    return connection
  }

  /** False where the connection is closed: what was read of it before may hold more requests. */
  #begin(request: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#progress(request.socket)
    if (connection === undefined || connection.requests === maxRequestsAtOnce) {
      connection?.socket.destroy()
      return false
    }
    connection.requests += 1
    const isKept = () => this.#byName.get(connection.name) === connection
    if (hasBody(request)) request.once('end', () => isKept() && this.#file(connection, 'busy'))
    else this.#file(connection, 'busy')
    response.once('close', () => {
      connection.requests -= 1
      if (isKept() && connection.requests === 0) this.#file(connection, 'idle')
    })
    return true
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** A place in at most one list. */
class Link {
  connection: Connection | undefined
  list: List | undefined
  previous: Link = this
  next: Link = this

  leave(): void {
    if (this.list !== undefined) this.list.size -= 1
    this.list = undefined
    this.previous.next = this.next
    this.next.previous = this.previous
    this.previous = this
    this.next = this
  }
}

/** In a circle around a link of no connection: adding, and leaving from anywhere, take the same few steps at any length. */
class List {
  readonly #end = new Link()
  size = 0

  get first(): Connection | undefined {
    return this.#end.next.connection
  }

  append(link: Link): void {
    this.size += 1
    link.list = this
    link.previous = this.#end.previous
    link.next = this.#end
    link.previous.next = link
    this.#end.previous = link
  }
}
