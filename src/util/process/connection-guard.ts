/**
 * Limits the connections of an HTTP server, in total and per address, so that a client with many connections cannot block others.
 * Used by the health endpoint and the webhook servers.
 *
 * A connection is *unfinished* until it has delivered a complete request (including the TLS handshake), *busy* until the request is
 * answered, then *idle*. At a limit, a new connection evicts the unfinished connection whose last progress is oldest; if few are
 * unfinished, the connection that has been idle for longest. Otherwise a client could fill the limit with idle connections and evict
 * those of others during their requests. Busy connections are never evicted.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionLimits {
  readonly maxConnections: number
  /** Most of `maxConnections`, since kubelets, API servers and other pods may share an address. */
  readonly maxPerAddress: number
}

/** Received bytes that count as progress, beside a finished handshake or head: so many that faking progress costs as much as a request. */
const progressBytes = 64 * 1024
/** If more than this share of the connections is unfinished, unfinished ones are evicted rather than idle ones. */
const unfinishedShare = 1 / 4
/** Maximum number of pipelined requests per connection. API servers and kubelets do not pipeline. */
const maxRequestsAtOnce = 4

interface GuardedConnection {
  /** The TCP socket, also for TLS. */
  readonly socket: Socket
  readonly name: string
  readonly address: string
  /** Its entries in the lists of all connections and of its address. */
  readonly links: readonly [Link, Link]
  /** Number of unanswered requests. */
  requests: number
  /** `socket.bytesRead` at the last progress. */
  bytes: number
}

/** The connections that can be evicted, in that order, and the number of all connections. */
class Pool {
  readonly unfinished: ConnectionList = new ConnectionList()
  readonly idle: ConnectionList = new ConnectionList()
  count = 0
}

type ServeRequest = (request: IncomingMessage, response: ServerResponse) => void

export class ConnectionGuard {
  readonly #limits: ConnectionLimits
  readonly #all = new Pool()
  readonly #byAddress = new Map<string, Pool>()
  /** By remote address and port, which are the same for a TLS socket and its TCP socket. */
  readonly #byName = new Map<string, GuardedConnection>()
  #closed = 0

  /** `serve` answers the requests; the server must have no request listener of its own. */
  constructor(server: Server, limits: ConnectionLimits, serve: ServeRequest) {
    this.#limits = limits
    server.on('connection', (socket: Socket) => this.#admit(socket))
    server.on('secureConnection', (socket: Socket) => this.#progress(socket))
    server.on('request', (request, response) => {
      if (this.#startRequest(request, response)) serve(request, response)
    })
  }

  get count(): number {
    return this.#all.count
  }

  /** Number of connections closed because of a limit, including rejected new ones. */
  get closed(): number {
    return this.#closed
  }

  closeAll(): void {
    for (const { socket } of [...this.#byName.values()]) socket.destroy()
  }

  #admit(socket: Socket): void {
    const address = socket.remoteAddress ?? ''
    const connection: GuardedConnection = {
      socket,
      address,
      name: peerName(socket),
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
    // After an eviction for the address, there is room in total as well.
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

  /** The first unfinished connection without progress since it was added to the list. Connections with progress move to the end. */
  #findStalled(pool: Pool): GuardedConnection | undefined {
    for (let first = pool.unfinished.first; first !== undefined; first = pool.unfinished.first) {
      if (first.socket.bytesRead - first.bytes < progressBytes) return first
      this.#moveTo(first, 'unfinished')
    }
    return undefined
  }

  #add(connection: GuardedConnection): void {
    const { address, name } = connection
    this.#byName.set(name, connection)
    if (!this.#byAddress.has(address)) this.#byAddress.set(address, new Pool())
    for (const pool of this.#poolsOf(connection)) pool.count += 1
    this.#moveTo(connection, 'unfinished')
  }

  #remove(connection: GuardedConnection): void {
    const { address, name } = connection
    if (this.#byName.get(name) !== connection) return
    this.#byName.delete(name)
    for (const link of connection.links) link.unlink()
    for (const pool of this.#poolsOf(connection)) pool.count -= 1
    if (this.#byAddress.get(address)!.count === 0) this.#byAddress.delete(address)
  }

  #poolsOf({ address }: GuardedConnection): readonly [Pool, Pool] {
    return [this.#all, this.#byAddress.get(address)!]
  }

  /** Moves the connection to the end of a list; a busy connection is in no list. */
  #moveTo(connection: GuardedConnection, state: 'unfinished' | 'idle' | 'busy'): void {
    const { links, socket } = connection
    connection.bytes = socket.bytesRead
    this.#poolsOf(connection).forEach((pool, index) => {
      links[index]!.unlink()
      if (state !== 'busy') pool[state].append(links[index]!)
    })
  }

  #progress(socket: Socket): GuardedConnection | undefined {
    const connection = this.#byName.get(peerName(socket))
    if (connection !== undefined) this.#moveTo(connection, 'unfinished')
    return connection
  }

  /** False if the connection was closed: data that was read before may contain further requests. */
  #startRequest(request: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#progress(request.socket)
    if (connection === undefined || connection.requests === maxRequestsAtOnce) {
      connection?.socket.destroy()
      return false
    }
    connection.requests += 1
    const isKept = () => this.#byName.get(connection.name) === connection
    if (hasBody(request)) request.once('end', () => isKept() && this.#moveTo(connection, 'busy'))
    else this.#moveTo(connection, 'busy')
    response.once('close', () => {
      connection.requests -= 1
      if (isKept() && connection.requests === 0) this.#moveTo(connection, 'idle')
    })
    return true
  }
}

function peerName({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** An entry of at most one list. */
class Link {
  connection: GuardedConnection | undefined
  list: ConnectionList | undefined
  previous: Link = this
  next: Link = this

  unlink(): void {
    if (this.list !== undefined) this.list.size -= 1
    this.list = undefined
    this.previous.next = this.next
    this.next.previous = this.previous
    this.previous = this
    this.next = this
  }
}

/** A circular doubly linked list with a sentinel: adding and removing take constant time. */
class ConnectionList {
  readonly #end = new Link()
  size = 0

  get first(): GuardedConnection | undefined {
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
