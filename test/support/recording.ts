/** Between an operator and its cluster: what is asked, in order, and the place where a test can meddle with it. */
import type { Transport, TransportRequest, TransportResponse } from '../../src/util/transport.ts'
import type { Tree } from './answers.ts'

export interface Recorded {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly contentType: string
  readonly accept: string
  readonly text: string
  /** The body as JSON; undefined where there is none. */
  readonly body: Tree | undefined
}

/** `send` takes another body, where that is to be changed on the way. */
export type Meddler = (
  request: Recorded,
  send: (text?: string) => Promise<TransportResponse>,
) => Promise<TransportResponse>

export class Recording implements Transport {
  readonly requests: Recorded[] = []
  /** Stands in for what would be sent, or calls `send`. */
  meddle: Meddler = (_request, send) => send()
  readonly #inner: Transport
  #unanswered = 0

  constructor(inner: Transport) {
    this.#inner = inner
  }

  /** How many requests have no answer yet: a slow server may take its time. */
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

  /** What would change something, on paths with this in them; events aside, and so are questions that are posted. */
  writes(part: string = ''): Recorded[] {
    const isAside = (path: string) => path.endsWith('/events') || path.startsWith('/apis/authorization.k8s.io/')
    const isWrite = ({ method, path }: Recorded) => method !== 'GET' && !isAside(path) && path.includes(part)
    return this.requests.filter(isWrite)
  }

  watches(part: string = ''): Recorded[] {
    return this.requests.filter(({ path, query }) => query.get('watch') === 'true' && path.includes(part))
  }
}

/** An answer that the server never gave. */
export function refusal(code: number): TransportResponse {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'refused by the test', code }
  const body = (async function* () {
    yield Buffer.from(JSON.stringify(status))
  })()
  return { status: code, headers: { 'content-type': 'application/json' }, body }
}

/** A body that ends in good order as soon as the promise resolves. */
export async function* cutBy(body: AsyncIterable<Uint8Array>, end: Promise<void>): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  for (;;) {
    const next = await Promise.race([chunks.next(), end])
    if (next === undefined || next.done) break
    yield next.value
  }
  void chunks.return?.()
}

/** Something to wait for, and whoever lets it happen. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
