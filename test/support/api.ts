/**
 * A plain HTTP client for the suites about API servers. It uses neither this package nor a client library, so that a bug of the
 * client cannot hide a bug of the server. Paths are sent unchanged.
 */
import http from 'node:http'
import https from 'node:https'
import { type Answer, type RequestOptions, withoutManagedFields } from './answers.ts'
import { Watch } from './watch.ts'

/** The credentials of a request. Without any, the user is anonymous. */
export interface Credentials {
  readonly certPem?: string
  readonly keyPem?: string
  readonly token?: string
  /** The impersonated user. */
  readonly impersonated?: { readonly user: string; readonly groups: readonly string[] }
}

export interface ApiOptions {
  readonly url: string
  readonly caPem?: string
  readonly credentials: Credentials
  /** Whether bodies and events keep their managed fields. Default false. */
  readonly keepsManagedFields?: boolean
}

export type WatchQuery = Exclude<RequestOptions['query'], string | undefined>

export class Api {
  readonly #url: URL
  readonly #options: ApiOptions
  readonly #agent: http.Agent

  constructor(options: ApiOptions) {
    this.#options = options
    this.#url = new URL(options.url)
    const { certPem, keyPem } = options.credentials
    const tls = {
      ...(options.caPem === undefined ? {} : { ca: options.caPem }),
      ...(certPem === undefined ? {} : { cert: certPem }),
      ...(keyPem === undefined ? {} : { key: keyPem }),
    }
    this.#agent = this.#isSecure ? new https.Agent({ keepAlive: true, ...tls }) : new http.Agent({ keepAlive: true })
  }

  /** A client with other credentials for the same server. The caller closes it. */
  as(credentials: Credentials): Api {
    return new Api({ ...this.#options, credentials })
  }

  get(path: string, query?: RequestOptions['query'], options?: RequestOptions): Promise<Answer> {
    return this.request('GET', path, { ...options, ...(query === undefined ? {} : { query }) })
  }

  post(path: string, body: unknown, options?: RequestOptions): Promise<Answer> {
    return this.request('POST', path, { ...options, body })
  }

  put(path: string, body: unknown, options?: RequestOptions): Promise<Answer> {
    return this.request('PUT', path, { ...options, body })
  }

  mergePatch(path: string, body: unknown, options?: RequestOptions): Promise<Answer> {
    return this.request('PATCH', path, { ...options, body, contentType: 'application/merge-patch+json' })
  }

  jsonPatch(path: string, body: unknown, options?: RequestOptions): Promise<Answer> {
    return this.request('PATCH', path, { ...options, body, contentType: 'application/json-patch+json' })
  }

  strategicPatch(path: string, body: unknown, options?: RequestOptions): Promise<Answer> {
    return this.request('PATCH', path, { ...options, body, contentType: 'application/strategic-merge-patch+json' })
  }

  delete(path: string, options?: RequestOptions): Promise<Answer> {
    return this.request('DELETE', path, options)
  }

  /** Resolves with the response whatever its status; rejects only if there is no response. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const response = await this.#send(method, path, options)
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const body = this.#read(parseBody(response, text))
    return { status: response.statusCode ?? 0, headers: response.headers, text, body }
  }

  /** Starts a watch. Resolves when the response headers have arrived, so the watch sees all later changes. */
  async watch(path: string, query: WatchQuery = {}, options: RequestOptions = {}): Promise<Watch> {
    const response = await this.#send('GET', path, { ...options, query: { watch: true, ...query } })
    return new Watch(response, (value) => this.#read(value))
  }

  #read(value: unknown): Answer['body'] {
    return this.#options.keepsManagedFields ? (value as Answer['body']) : withoutManagedFields(value)
  }

  close(): void {
    this.#agent.destroy()
  }

  get #isSecure(): boolean {
    return this.#url.protocol === 'https:'
  }

  #send(method: string, path: string, options: RequestOptions): Promise<http.IncomingMessage> {
    const payload = toPayload(options.body)
    const request = (this.#isSecure ? https : http).request({
      agent: this.#agent,
      host: this.#url.hostname,
      port: this.#url.port,
      method,
      path: path + toQuery(options.query),
      headers: this.#headers(options, payload),
    })
    return new Promise((resolve, reject) => {
      // A server may refuse a request before it has read the whole body; the write then fails after the response.
      request.on('error', reject)
      request.on('response', resolve)
      request.end(payload)
    })
  }

  #headers(options: RequestOptions, payload: Buffer | undefined): http.OutgoingHttpHeaders {
    const { token, impersonated } = this.#options.credentials
    return {
      accept: options.accept ?? 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(impersonated === undefined ? {} : { 'impersonate-user': impersonated.user }),
      ...(impersonated?.groups.length ? { 'impersonate-group': [...impersonated.groups] } : {}),
      ...(payload === undefined ? {} : { 'content-type': options.contentType ?? 'application/json' }),
      ...(payload === undefined ? {} : { 'content-length': payload.length }),
      ...options.headers,
    }
  }
}

function toPayload(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

function toQuery(query: RequestOptions['query']): string {
  if (query === undefined) return ''
  if (typeof query === 'string') return `?${query}`
  const pairs = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`)
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

function parseBody(response: http.IncomingMessage, text: string): unknown {
  const isJson = response.headers['content-type']?.startsWith('application/json') ?? false
  return isJson && text !== '' ? JSON.parse(text) : text
}
