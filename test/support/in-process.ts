/** Short calls of the embedded server without a socket. */
import type { ApiServer } from 'kopf/server'
import type { Tree } from './answers.ts'

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly text: string
  /** The body parsed as JSON; its text if it is not JSON. */
  readonly body: Tree
}

export interface Question {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Sends a request and reads the response to its end. */
export async function ask(api: ApiServer, method: string, path: string, question: Question = {}): Promise<Reply> {
  const { body, headers, signal } = question
  const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const payload = isRaw ? body : JSON.stringify(body)
  const defaults = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}
  const request = {
    method,
    path,
    headers: { ...defaults, ...headers },
    ...(payload === undefined ? {} : { body: payload }),
  }
  const answer = await api.send(request, signal)
  const chunks: Uint8Array[] = []
  for await (const chunk of answer.body) chunks.push(chunk)
  // After an abort the body may end without an error although it is incomplete.
  signal?.throwIfAborted()
  const text = Buffer.concat(chunks).toString('utf8')
  const isJson = String(answer.headers['content-type']).startsWith('application/json')
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    body: isJson ? JSON.parse(text) : (text as unknown as Tree),
  }
}

/** A watch whose events are read one by one. */
export class InProcessWatch {
  readonly #chunks: AsyncIterator<Uint8Array>
  #text = ''

  private constructor(body: AsyncIterable<Uint8Array>) {
    this.#chunks = body[Symbol.asyncIterator]()
  }

  static async open(api: ApiServer, path: string, signal?: AbortSignal): Promise<InProcessWatch> {
    const { body } = await api.send(
      { method: 'GET', path: `${path}${path.includes('?') ? '&' : '?'}watch=true` },
      signal,
    )
    return new InProcessWatch(body)
  }

  /** The next chunk of the body; undefined at its end. */
  async chunk(): Promise<Uint8Array | undefined> {
    const { done, value } = await this.#chunks.next()
    return done ? undefined : value
  }

  /** The next event as `ADDED name`; undefined at the end. */
  async next(): Promise<string | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n')
      if (end >= 0) {
        const { type, object } = JSON.parse(this.#text.slice(0, end))
        this.#text = this.#text.slice(end + 1)
        return `${type} ${object.metadata.name ?? object.code}`
      }
      const chunk = await this.chunk()
      if (chunk === undefined) return undefined
      this.#text += Buffer.from(chunk).toString('utf8')
    }
  }

  async leave(): Promise<void> {
    await this.#chunks.return?.()
  }
}
