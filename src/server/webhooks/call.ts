/**
 * Sends JSON to webhooks over verified TLS and parses their JSON responses. Used for admission and conversion. Rejects with an Error
 * in the words of Go's client, as kube-apiserver shows them to its clients. Deadlines are in real time, because the other end is a
 * socket. Does not follow redirects.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import { Agent, request as sendRequest } from 'node:https'
import { isIP } from 'node:net'
import { posix } from 'node:path'
import { noLongerNeeded, systemClock } from '../../util/async/clock.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import { parseYaml } from '../../util/yaml.ts'
import { quote } from '../field-errors.ts'
import { parseJsonText } from '../json-text.ts'
import { readAuthorities } from './authorities.ts'
import { explainAnswer, explainFailure, type NetworkAddress } from './go-errors.ts'

interface WebhookEndpointService {
  readonly namespace: string
  readonly name: string
  readonly path?: string
  readonly port?: number
}

/** The `clientConfig` of a webhook configuration. Exactly one of `url` and `service` is set. */
export interface WebhookEndpoint {
  readonly url?: string
  readonly service?: WebhookEndpointService
  /** PEM in base64, as in the API. Default: the platform's CAs. */
  readonly caBundle?: string
}

export interface WebhookCallOptions {
  readonly timeoutMs: number
  /** Aborted when the response is no longer needed. */
  readonly signal: AbortSignal
}

/** Resolves the address of a service; throws an Error if there is none. */
export type ResolveService = (service: {
  readonly namespace: string
  readonly name: string
  readonly port: number
}) => NetworkAddress

/** Twice the size of the largest object in base64. */
const maxAnswerBytes = 16 * 1024 * 1024

/** Connections per webhook that are kept open for later calls, and the idle time after which they are closed. */
const maxIdleSockets = 10
const idleMs = 90_000

interface WebhookTarget {
  /** The name that the certificate must be valid for: the service name or the host of the URL. */
  readonly host: string
  /** Host and port as in the URL. */
  readonly authority: string
  readonly path: string
  /** The trusted CAs in PEM; undefined for the platform's. */
  readonly ca: string | undefined
}

interface Received {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

export class WebhookCaller {
  readonly #resolve: ResolveService
  // TLS sessions are not resumed, so that every connection verifies the certificate.
  readonly #agent = new Agent({
    keepAlive: true,
    maxFreeSockets: maxIdleSockets,
    timeout: idleMs,
    maxCachedSessions: 0,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
  })
  #pending = 0

  constructor(resolveService: ResolveService) {
    this.#resolve = resolveService
  }

  /** The number of calls in progress. */
  get pending(): number {
    return this.#pending
  }

  /** Aborts calls in progress and closes idle connections. */
  close(): void {
    this.#agent.destroy()
  }

  /** Returns the parsed response without interpreting it. */
  async call(config: WebhookEndpoint, body: unknown, options: WebhookCallOptions): Promise<unknown> {
    this.#pending += 1
    try {
      const { status, contentType, text } = await this.#post(config, toJsonText(body), options)
      if (status < 200 || status > 206) throw new Error(explainAnswer(status, contentType, text))
      if (text === '') {
        throw new Error(`0-length response with status code: ${status} and content type: ${contentType}`)
      }
      return await readAnswer(text)
    } finally {
      this.#pending -= 1
    }
  }

  async #post(config: WebhookEndpoint, payload: string, options: WebhookCallOptions): Promise<Received> {
    const target = targetOf(config, Math.ceil(options.timeoutMs / 1000))
    const deadline = startDeadline(options)
    try {
      return await this.#send(config.service, target, payload, deadline.signal)
    } catch (error) {
      throw new Error(`Post ${quote(`https://${target.authority}${target.path}`)}: ${(error as Error).message}`)
    } finally {
      deadline.clear()
    }
  }

  /** A reused connection may be closed by the other end at that moment: the call is repeated on another one. */
  async #send(
    service: WebhookEndpointService | undefined,
    target: WebhookTarget,
    payload: string,
    signal: AbortSignal,
  ): Promise<Received> {
    for (;;) {
      if (signal.aborted) throw signal.reason
      const place = service === undefined ? placeOf(target) : this.#resolve({ port: 443, ...service })
      const request = this.#open(place, target, payload)
      try {
        return await receive(request, payload, signal)
      } catch (error) {
        if (signal.aborted) throw signal.reason
        if (request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET') continue
        throw new Error(explainFailure(error as Error, place, target.host))
      }
    }
  }

  #open({ host, port }: NetworkAddress, target: WebhookTarget, payload: string): ClientRequest {
    return sendRequest({
      agent: this.#agent,
      method: 'POST',
      host,
      port,
      path: target.path,
      // IP addresses are not sent as server name, but are verified.
      ...(isIP(target.host) === 0 ? { servername: target.host } : {}),
      ...(target.ca === undefined ? {} : { ca: target.ca }),
      headers: {
        host: target.authority,
        accept: 'application/json, */*',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(payload),
        'user-agent': 'kube-apiserver-admission',
      },
    })
  }
}

/** The query tells the webhook how long the server waits. Empty segments and a trailing slash are removed from the path. */
function targetOf({ url, service, caBundle }: WebhookEndpoint, seconds: number): WebhookTarget {
  const ca = readAuthorities(caBundle)
  if (service !== undefined) {
    const host = `${service.name}.${service.namespace}.svc`
    const path = `${cleaned(service.path ?? '')}?timeout=${seconds}s`
    return { host, authority: `${host}:${service.port ?? 443}`, path, ca }
  }
  const parsed = new URL(url ?? '')
  const [, authority = ''] = /^[^:]+:\/\/([^/?#]*)/.exec(url!) ?? []
  return {
    host: parsed.hostname.replace(/^\[|\]$/g, ''),
    authority,
    path: `${cleaned(parsed.pathname)}?timeout=${seconds}s`,
    ca,
  }
}

function cleaned(path: string): string {
  return posix.join('/', path).replace(/(?<=.)\/$/, '')
}

function placeOf({ host, authority }: WebhookTarget): NetworkAddress {
  const [, port = '443'] = /:(\d+)$/.exec(authority) ?? []
  return { host, port: Number(port) }
}

/** Aborted at the deadline or when the caller's signal is, with Go's messages. */
function startDeadline({ timeoutMs, signal }: WebhookCallOptions): { signal: AbortSignal; clear: () => void } {
  const end = new AbortController()
  const timer = new AbortController()
  const stop = () => end.abort(new Error('context canceled'))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  systemClock.sleep(timeoutMs, timer.signal).then(
    () => end.abort(new Error('context deadline exceeded')),
    () => {},
  )
  const clear = () => {
    signal.removeEventListener('abort', stop)
    timer.abort(noLongerNeeded)
  }
  return { signal: end.signal, clear }
}

function receive(request: ClientRequest, payload: string, signal: AbortSignal): Promise<Received> {
  return new Promise((resolve, reject) => {
    const stop = () => request.destroy(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    request.on('close', () => signal.removeEventListener('abort', stop))
    request.on('error', reject)
    request.on('response', (response) => read(response).then(resolve, reject))
    request.end(payload)
  })
}

async function read(response: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxAnswerBytes) throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`)
    chunks.push(chunk)
  }
  const contentType = response.headers['content-type'] ?? ''
  return { status: response.statusCode!, contentType, text: Buffer.concat(chunks).toString('utf8') }
}

/** JSON, or YAML if it cannot be JSON, as in kube-apiserver. */
async function readAnswer(text: string): Promise<unknown> {
  try {
    return parseJsonText(text, { exact: true })
  } catch (error) {
    if (!/^\s*\{/.test(text)) return readYaml(text)
    throw new Error(`couldn't get version/kind; json parse error: ${(error as Error).message}`)
  }
}

function readYaml(text: string): unknown {
  try {
    const [value = null] = parseYaml(text)
    return value
  } catch (error) {
    throw new Error(`error converting YAML to JSON: yaml: ${(error as Error).message}`)
  }
}
