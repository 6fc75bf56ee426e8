/**
 * A webhook server for tests: answers each path as configured, and records the reviews.
 * It uses plain node:https, so that a test sees the requests of the API server unchanged.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { CertificateAuthority } from '../../src/util/certificates.ts'
import type { Tree } from './answers.ts'

export interface Review extends Tree {
  readonly apiVersion: string
  readonly kind: string
  readonly request: Tree & { readonly uid: string }
}

export interface Asked {
  readonly url: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly review: Review
}

/** The response to a review. A string body is sent unchanged, other values as JSON. */
export interface Reply {
  readonly status?: number
  readonly contentType?: string
  readonly body?: unknown
  /** Closes the connection, or never answers. */
  readonly instead?: 'break' | 'hang'
}

type Answer = (asked: Asked) => Reply | Promise<Reply>

export class WebhookServer {
  /** In base64, as in webhook configurations. */
  readonly caBundle: string
  readonly #server: Server
  readonly #answers = new Map<string, Answer>()
  readonly #asked: Array<Asked & { readonly path: string }> = []

  private constructor(server: Server, caPem: string) {
    this.#server = server
    this.caBundle = Buffer.from(caPem).toString('base64')
    server.on('request', (request, response) => void this.#serve(request, response))
  }

  static async start(hosts: readonly string[] = ['127.0.0.1', 'localhost']): Promise<WebhookServer> {
    const authority = await CertificateAuthority.create('webhooks')
    const { certPem, keyPem } = await authority.issue({ commonName: 'webhook', hosts })
    const server = createServer({ cert: certPem, key: keyPem })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new WebhookServer(server, authority.caPem)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  url(path: string): string {
    return `https://127.0.0.1:${this.port}${path}`
  }

  /** `clientConfig` of a webhook. */
  at(path: string): { url: string; caBundle: string } {
    return { url: this.url(path), caBundle: this.caBundle }
  }

  /** Sets the response of a path, and forgets its earlier reviews. */
  on(path: string, answer: Answer): void {
    this.#answers.set(path, answer)
    this.forget(path)
  }

  /** The requests in the order of arrival. */
  asked(path: string): readonly Asked[] {
    return this.#asked.filter((one) => one.path === path)
  }

  reviews(path: string): readonly Review[] {
    return this.asked(path).map(({ review }) => review)
  }

  forget(path: string): void {
    const others = this.#asked.filter((one) => one.path !== path)
    this.#asked.splice(0, this.#asked.length, ...others)
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const path = request.url!.replace(/\?.*/, '')
    const review = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Review
    const asked = { path, url: request.url!, headers: request.headers, review }
    this.#asked.push(asked)
    const {
      status = 200,
      contentType = 'application/json',
      body = '',
      instead,
    } = (await this.#answers.get(path)?.(asked)) ?? { status: 404 }
    if (instead === 'hang') return
    if (instead === 'break') {
      request.socket.destroy()
      return
    }
    response.writeHead(status, contentType === '' ? {} : { 'content-type': contentType })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

/** A response to a review, allowed by default. */
export function reviewed({ apiVersion, request }: Review, response: Tree = {}): Reply {
  return { body: { apiVersion, kind: 'AdmissionReview', response: { uid: request.uid, allowed: true, ...response } } }
}

/** The fields of a response that patch the object. */
export function patching(...operations: readonly Tree[]): Tree {
  return { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') }
}
