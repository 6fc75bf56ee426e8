/**
 * The requests that the server itself sends: JSON to a webhook over verified TLS, the answer as JSON. Used for admission
 * and for conversion, which know what is in it. Rejects with a plain Error in the words of Go's client, as the real server
 * shows them to its own clients. Deadlines are of real time: at the other end is a socket. Follows no redirects.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import { Agent, request as sendRequest } from 'node:https'
import { isIP } from 'node:net'
import { posix } from 'node:path'
import { noLongerNeeded, systemClock } from '../../util/clock.ts'
import { toJsonText } from '../../util/json-text.ts'
import { parseYaml } from '../../util/yaml.ts'
import { quote } from '../field-errors.ts'
import { parseJsonText } from '../json-text.ts'
import { readAuthorities } from './authorities.ts'
import { explainAnswer, explainFailure, type Place } from './go-errors.ts'

interface WebhookService {
  readonly namespace: string
  readonly name: string
  readonly path?: string
  readonly port?: number
}

/** Where a webhook is: `clientConfig` of its configuration. Exactly one of `url` and `service` is there. */
export interface WebhookClientConfig {
  readonly url?: string
  readonly service?: WebhookService
  /** PEM, in base64, as the API has it. Absent: the authorities that the platform trusts. */
  readonly caBundle?: string
}

export interface WebhookCallOptions {
  readonly timeoutMs: number
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

/** Where a service can be reached; throws an Error where it cannot. */
export type ResolveService = (service: {
  readonly namespace: string
  readonly name: string
  readonly port: number
}) => Place

/** As much as the largest object takes, twice over, in base64. */
const maxAnswerBytes = 16 * 1024 * 1024

/** Connections that stay open for later calls, for each webhook; what is idle for longer than this is closed. */
const maxIdleSockets = 10
const idleMs = 90_000

interface Target {
  /** As the certificate has to have it: the name of the service, or the host of the URL. */
  readonly host: string
  /** As in the URL, with its port. */
  readonly authority: string
  readonly path: string
  /** The authorities that are trusted, in PEM; absent for those of the platform. */
  readonly ca: string | undefined
}

interface Received {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

export class WebhookCaller {
  readonly #resolve: ResolveService
  // Sessions are not taken up again: every connection verifies the certificate.
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

  /** How many calls are under way. */
  get pending(): number {
    return this.#pending
  }

  /** Breaks off what is under way, and closes what is kept open. */
  close(): void {
    this.#agent.destroy()
  }

  /** The answer, whatever is in it. */
  async call(config: WebhookClientConfig, body: unknown, options: WebhookCallOptions): Promise<unknown> {
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

  async #post(config: WebhookClientConfig, payload: string, options: WebhookCallOptions): Promise<Received> {
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

  /** A connection that was kept open may be closed by the other end just then: such a call is made again, on another. */
  async #send(
    service: WebhookService | undefined,
    target: Target,
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

  #open({ host, port }: Place, target: Target, payload: string): ClientRequest {
    return sendRequest({
      agent: this.#agent,
      method: 'POST',
      host,
      port,
      path: target.path,
      // Addresses are not sent as names, but verified all the same.
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

/** The webhook is told how long the server waits; paths are cleaned of empty segments and of the slash at their end. */
function targetOf({ url, service, caBundle }: WebhookClientConfig, seconds: number): Target {
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

function placeOf({ host, authority }: Target): Place {
  const [, port = '443'] = /:(\d+)$/.exec(authority) ?? []
  return { host, port: Number(port) }
}

/** Aborted when the time is over or nobody waits any more, with Go's words for it. */
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

/** JSON; and, as the real server would, YAML where it cannot be JSON. */
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
