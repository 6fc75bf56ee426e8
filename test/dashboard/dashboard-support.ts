/** Shared by the tests of the dashboard's API: a browser without a page, which keeps the cookie and the CSRF token of its session. */
import http from 'node:http'
import https from 'node:https'
import type { RunningOperator } from 'kopf'
import type { Views } from '../../src/dashboard/protocol.ts'
import { dashboardOf } from '../../src/run/options.ts'

export interface DashboardReply {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any shape.
  readonly body: any
}

export interface DashboardRequest {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export class Browser {
  readonly url: URL
  cookie: string | undefined
  csrf: string | undefined

  constructor(url: string) {
    this.url = new URL(url)
  }

  send(path: string, { method = 'GET', body, headers = {} }: DashboardRequest = {}): Promise<DashboardReply> {
    return new Promise((resolve, reject) => {
      const sent = this.#open(path, { method, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const isJson = String(response.headers['content-type']).startsWith('application/json')
          const parsed = isJson ? JSON.parse(text) : undefined
          resolve({ status: response.statusCode!, headers: response.headers, text, body: parsed })
        })
      })
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body))
    })
  }

  #open(
    path: string,
    options: http.RequestOptions,
    onResponse: (response: http.IncomingMessage) => void,
  ): http.ClientRequest {
    const url = new URL(path, this.url)
    const headers = { ...(this.cookie && { cookie: this.cookie }), ...(options.headers as object) }
    const common = { agent: false as const, ...options, headers }
    return url.protocol === 'https:'
      ? https.request(url, { ...common, rejectUnauthorized: false }, onResponse)
      : http.request(url, common, onResponse)
  }

  async post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<DashboardReply> {
    const csrf: Record<string, string> = this.csrf === undefined ? {} : { 'x-kopf-csrf': this.csrf }
    return this.send(path, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...csrf, ...headers },
    })
  }

  async login(credentials: { readonly token: string } | { readonly code: string }): Promise<DashboardReply> {
    const reply = await this.post('api/login', credentials)
    if (reply.status !== 200) return reply
    this.cookie = String(reply.headers['set-cookie']?.[0]).split(';')[0]
    this.csrf = reply.body.csrf
    return reply
  }

  async view<N extends keyof Views>(name: N, query: Readonly<Record<string, string>> = {}): Promise<Views[N]> {
    const reply = await this.send(`api/views/${name}?${new URLSearchParams(query)}`)
    if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.text}`)
    return reply.body
  }

  /** Opens a stream, and returns its events as they arrive. */
  stream(query: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}): EventReader {
    const reader = new EventReader()
    const request = this.#open(`api/stream?${new URLSearchParams(query)}`, { headers }, (response) =>
      reader.read(response),
    )
    request.on('error', () => reader.end())
    request.end()
    reader.close = () => request.destroy()
    return reader
  }
}

export interface StreamEvent {
  readonly event: string
  readonly id: string
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any shape.
  readonly data: any
}

export class EventReader {
  readonly events: StreamEvent[] = []
  status: number | undefined
  isEnded = false
  close: () => void = () => {}
  #text = ''
  #wake: () => void = () => {}

  read(response: http.IncomingMessage): void {
    this.status = response.statusCode
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      this.#text += chunk
      for (let end = this.#text.indexOf('\n\n'); end >= 0; end = this.#text.indexOf('\n\n')) {
        this.#add(this.#text.slice(0, end))
        this.#text = this.#text.slice(end + 2)
      }
      this.#wake()
    })
    response.on('error', () => {})
    response.on('close', () => this.end())
  }

  end(): void {
    this.isEnded = true
    this.#wake()
  }

  /** Resolves with the first event for which the function returns true, among those that have arrived or will. */
  async next(isExpected: (event: StreamEvent) => boolean = () => true): Promise<StreamEvent> {
    for (;;) {
      const found = this.events.find(isExpected)
      if (found !== undefined) return found
      if (this.isEnded) throw new Error('The stream has ended')
      await this.#more()
    }
  }

  async ended(): Promise<void> {
    while (!this.isEnded) await this.#more()
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #add(block: string): void {
    const fields = new Map(
      block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    )
    if (fields.has('data')) {
      this.events.push({ event: fields.get('event')!, id: fields.get('id')!, data: JSON.parse(fields.get('data')!) })
    }
  }
}

/** Any free port of this machine. */
export const anywhere = 'http://127.0.0.1:0'

/** A browser without a session. */
export function browserOf(running: RunningOperator): Browser {
  return new Browser(dashboardOf(running)!.url)
}

export function codeOf(running: RunningOperator): string {
  return new URL(dashboardOf(running)!.createLoginUrl()!).hash.slice('#code='.length)
}

/** A browser in which a developer is logged in. */
export async function openDashboard(running: RunningOperator): Promise<Browser> {
  const browser = browserOf(running)
  await browser.login({ code: codeOf(running) })
  return browser
}
