/** One keep-alive HTTPS connection of the driver: one request at a time. Rejects if the connection breaks; never retries. */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { ResponseReader } from './response-reader.ts'

/** The address of a server, and the credentials: a token or a client certificate. */
export interface Access {
  readonly url: string
  readonly caPem: string
  readonly token?: string
  readonly user?: { readonly certPem: string; readonly keyPem: string }
}

export interface Request {
  readonly method?: string
  readonly path: string
  readonly body?: string
  readonly contentType?: string
}

export interface Response {
  readonly status: number
  readonly body: Buffer
}

export class Connection {
  readonly #socket: TLSSocket
  readonly #head: string
  readonly #reader = new ResponseReader()
  #fail: (error: Error) => void = () => {}

  private constructor(socket: TLSSocket, { url, token }: Access) {
    this.#socket = socket
    this.#head = `host: ${new URL(url).host}\r\n${token === undefined ? '' : `authorization: Bearer ${token}\r\n`}`
    socket.on('data', (bytes: Buffer) => this.#reader.feed(bytes))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('The server closed the connection')))
  }

  static async open(access: Access): Promise<Connection> {
    const { hostname, port } = new URL(access.url)
    const { certPem, keyPem } = access.user ?? {}
    const socket = connect({
      host: hostname,
      port: Number(port),
      ca: access.caPem,
      ...(certPem === undefined || keyPem === undefined ? {} : { cert: certPem, key: keyPem }),
      ALPNProtocols: ['http/1.1'],
    })
    socket.setNoDelay(true)
    await once(socket, 'secureConnect')
    return new Connection(socket, access)
  }

  async send(request: Request): Promise<Response> {
    const pieces: Buffer[] = []
    const status = await this.stream(request, (bytes) => pieces.push(bytes))
    return { status, body: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces) }
  }

  /** Resolves with the status at the end of the body. A watch resolves only when it ends. */
  stream(request: Request, onBytes: (bytes: Buffer) => void): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#fail = reject
      this.#reader.expect({ onBytes, onEnd: resolve })
      this.#socket.write(this.#format(request))
    })
  }

  close(): void {
    this.#fail = () => {}
    this.#socket.destroy()
  }

  #format({ method = 'GET', path, body = '', contentType = 'application/json' }: Request): string {
    const start = `${method} ${path} HTTP/1.1\r\n${this.#head}accept: application/json\r\n`
    if (body === '') return `${start}\r\n`
    return `${start}content-type: ${contentType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  }
}
