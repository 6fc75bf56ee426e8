/** Helpers for the tests of webhook servers: servers run as by an operator, and clients for them. */
import { mkdtempSync } from 'node:fs'
import { type Agent, request as requestPlainly } from 'node:http'
import { request as requestSecurely, type Agent as SecureAgent } from 'node:https'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import type { WebhookClientConfig, WebhookContext, WebhookFn, WebhookServer } from 'kopf/webhooks'
import { type Clock, systemClock } from '../../src/util/async/clock.ts'
import { createLogger, createLogSink } from '../../src/util/log/log.ts'

export interface Serving {
  /** All client configs that the server has yielded, in order. */
  readonly configs: WebhookClientConfig[]
  /** Resolves when the server has yielded this number of configs. */
  untilConfigs(count: number): Promise<void>
  readonly url: URL
  /** The CA bundle of the first config as PEM; empty without TLS. */
  readonly ca: string
  readonly logs: string[]
  /** Stops the server like an operator; resolves when the server has ended. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Allows everything. */
export const allow: WebhookFn = async (review) => {
  const { request } = review as { request: { uid: string } }
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid: request.uid, allowed: true } }
}

export function reviewOf(object: object = {}, more: object = {}): object {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { uid: 'u-1', operation: 'CREATE', object, ...more },
  }
}

export async function serve(
  server: WebhookServer,
  fn: WebhookFn = allow,
  clock: Clock = systemClock,
): Promise<Serving> {
  const stopping = new AbortController()
  const logs: string[] = []
  const logger = createLogger(createLogSink({ debug: true, write: (line) => logs.push(line) }), 'kopf.webhooks')
  const configs: WebhookClientConfig[] = []
  let wake = () => {}
  // A server that listens on this machine needs nothing from the cluster.
  const context = { signal: stopping.signal, logger, clock } as WebhookContext
  const ended = follow(server.serve(fn, context), (config) => {
    configs.push(config)
    wake()
  })
  const untilConfigs = async (count: number) => {
    while (configs.length < count) await Promise.race([new Promise<void>((resolve) => (wake = resolve)), failed(ended)])
  }
  await untilConfigs(1)
  const stop = async () => {
    stopping.abort()
    await ended
  }
  const { url, caBundle = '' } = configs[0]!
  const ca = Buffer.from(caBundle, 'base64').toString()
  return { configs, untilConfigs, url: new URL(url!), ca, logs, stop, [Symbol.asyncDispose]: stop }
}

async function follow(configs: AsyncIterable<WebhookClientConfig>, take: (config: WebhookClientConfig) => void) {
  for await (const config of configs) take(config)
}

async function failed(ended: Promise<void>): Promise<never> {
  await ended
  throw new Error('The server has ended')
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface CallOptions {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly agent?: SecureAgent | Agent
  readonly cert?: string
  readonly key?: string
  readonly ca?: string
}

/** Posts a string or bytes unchanged, and any other value as JSON. Uses a new connection unless an agent is given. */
export function post(serving: Serving, body: unknown, options: CallOptions = {}): Promise<Reply> {
  const payload = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  return call(serving, options, (request) => request.end(payload))
}

type Request = ReturnType<typeof requestSecurely>

export function call(serving: Serving, options: CallOptions, write: (request: Request) => void): Promise<Reply> {
  const { url, ca } = serving
  const { path = '/fn', method = 'POST', ...others } = options
  const start = url.protocol === 'https:' ? requestSecurely : requestPlainly
  return new Promise((resolve, reject) => {
    const target = { host: url.hostname, port: url.port, path: url.pathname.replace(/\/$/, '') + path }
    const request = start({ ca, method, agent: false, ...target, ...others }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode = 0, headers } = response
        resolve({ status: statusCode, headers, text: Buffer.concat(chunks).toString() })
      })
    })
    request.on('error', reject)
    write(request)
  })
}

/** A connection after the TLS handshake, for arbitrary bytes. */
export async function connectRaw({ url, ca }: Serving): Promise<TLSSocket> {
  const socket = connect({ host: url.hostname, port: Number(url.port), ca, servername: 'localhost' })
  socket.on('error', () => {})
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('close', reject))
  return socket
}

/** Reads a connection until either side closes it. */
export async function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  await new Promise<void>((resolve) => socket.on('close', () => resolve()))
  return text
}

export function makeFolder(): string {
  return mkdtempSync(join(tmpdir(), 'kopf-webhooks-'))
}
