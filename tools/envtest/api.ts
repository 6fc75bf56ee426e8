/**
 * Sends one request to the control plane with plain node:https, without retries and without our client.
 * Used by control-plane.ts to check readiness, and by tests that need the unmodified response.
 */
import { request } from 'node:https'
import type { Credentials } from './certificates.ts'

export interface ApiTarget {
  readonly url: string
  readonly caPem: string
  /** Absent: the request is anonymous. */
  readonly user?: Credentials
}

export interface ApiCall {
  readonly method?: string
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly contentType?: string
}

export interface ApiAnswer {
  readonly status: number
  readonly text: string
  /** The text parsed as JSON; undefined if it is not JSON. */
  readonly body: unknown
}

const timeoutMs = 10_000

export function callApi(target: ApiTarget, call: ApiCall): Promise<ApiAnswer> {
  const payload = call.body === undefined ? undefined : JSON.stringify(call.body)
  const headers = payload === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' }
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(call.path, target.url), {
      method: call.method ?? 'GET',
      headers,
      ca: target.caPem,
      ...(target.user && { cert: target.user.certPem, key: target.user.keyPem }),
      // No connection pool: a request after a restart must not use a connection from before it.
      agent: false,
      timeout: timeoutMs,
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error(`No answer to ${call.path} within ${timeoutMs} ms`)))
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => resolve(toAnswer(incoming.statusCode ?? 0, Buffer.concat(chunks).toString())))
    })
    outgoing.end(payload)
  })
}

function toAnswer(status: number, text: string): ApiAnswer {
  try {
    return { status, text, body: JSON.parse(text) }
  } catch {
    return { status, text, body: undefined }
  }
}
