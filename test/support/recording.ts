/** A transport between an operator and its cluster that records the requests, and lets a test intercept them. */
import type { Transport, TransportRequest, TransportResponse } from 'kopf/testing'
import type { Tree } from './answers.ts'

export interface Recorded {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly contentType: string
  readonly accept: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** The body parsed as JSON; undefined if there is none. */
  readonly body: Tree | undefined
}

/** Answers a request itself, or calls `send`, optionally with another body. */
export type Interceptor = (
  request: Recorded,
  send: (text?: string) => Promise<TransportResponse>,
) => Promise<TransportResponse>

export class Recording implements Transport {
  readonly requests: Recorded[] = []
  /** Called for every request. The default only sends it. */
  meddle: Interceptor = (_request, send) => send()
  readonly #inner: Transport
  #unanswered = 0

  constructor(inner: Transport) {
    this.#inner = inner
  }

  /** The number of requests without a response. */
  get unanswered(): number {
    return this.#unanswered
  }

  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    const [path = '', query] = request.path.split('?')
    const text = request.body === undefined ? '' : Buffer.from(request.body as string).toString()
    const recorded: Recorded = {
      method: request.method,
      path,
      query: new URLSearchParams(query),
      contentType: request.headers?.['content-type'] ?? '',
      accept: request.headers?.['accept'] ?? '',
      headers: request.headers ?? {},
      text,
      body: text === '' ? undefined : JSON.parse(text),
    }
    this.requests.push(recorded)
    this.#unanswered += 1
    try {
      return await this.meddle(recorded, (other) =>
        this.#inner.send(other === undefined ? request : { ...request, body: other }, signal),
      )
    } finally {
      this.#unanswered -= 1
    }
  }

  /** The write requests whose path contains `part`, without events and access reviews. */
  writes(part: string = ''): Recorded[] {
    const isAside = (path: string) => path.endsWith('/events') || path.startsWith('/apis/authorization.k8s.io/')
    const isWrite = ({ method, path }: Recorded) => method !== 'GET' && !isAside(path) && path.includes(part)
    return this.requests.filter(isWrite)
  }

  watches(part: string = ''): Recorded[] {
    return this.requests.filter(({ path, query }) => query.get('watch') === 'true' && path.includes(part))
  }
}

/** An error response made by the test. */
export function refusal(code: number): TransportResponse {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'refused by the test', code }
  const body = (async function* () {
    yield Buffer.from(JSON.stringify(status))
  })()
  return { status: code, headers: { 'content-type': 'application/json' }, body }
}

/** A body that ends without an error as soon as the promise resolves. */
export async function* cutBy(body: AsyncIterable<Uint8Array>, end: Promise<void>): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  for (;;) {
    const next = await Promise.race([chunks.next(), end])
    if (next === undefined || next.done) break
    yield next.value
  }
  void chunks.return?.()
}

/** A latch: a promise, and the function that resolves it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
