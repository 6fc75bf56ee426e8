/** The embedded server as the client reaches it: without a socket, and over HTTPS. The same tests run on both. */
import { type RunningServer, startServer } from 'kopf/server'
import { afterEach } from 'vitest'
import { ConnectionInfo } from '../../src/client/auth/connection-info.ts'
import { createHttpsTransport, type HttpsTransport } from '../../src/client/http/transport.ts'
import {
  type ApiCall,
  createSession,
  type Networking,
  type Session,
  type SessionOptions,
} from '../../src/client/session.ts'
import { systemClock } from '../../src/util/async/clock.ts'
import type { Transport } from '../../src/util/transport.ts'

export interface Target {
  readonly server: RunningServer
  readonly transport: Transport
}

export type Reach = 'in process' | 'over HTTPS'
export const reaches: readonly Reach[] = ['in process', 'over HTTPS']

const closing: Array<() => unknown> = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Calls it after the test, in reverse order. */
export function defer(close: () => unknown): void {
  closing.push(close)
}

export async function startTarget(reach: Reach): Promise<Target> {
  const server = await startServer()
  defer(() => server.stop())
  return { server, transport: reach === 'in process' ? server.api : connect(server) }
}

export function connect(server: RunningServer): HttpsTransport {
  const transport = createHttpsTransport(
    new ConnectionInfo({ server: server.url, token: server.token, caData: server.ca }),
  )
  defer(() => transport.close())
  return transport
}

export const networking: Networking = {
  requestTimeout: 300,
  connectTimeout: null,
  errorBackoffs: [1, 2, 3],
  enforceRetryAfter: false,
}

export function sessionOn(transport: Transport, options: Partial<SessionOptions> = {}): Session {
  return createSession({
    transport,
    networking,
    clock: systemClock,
    userAgent: 'kopf-test/1',
    random: () => 0,
    ...options,
  })
}

export const configMaps = '/api/v1/namespaces/default/configmaps'

export function creation(name: string, rest: object = {}): ApiCall {
  return {
    method: 'POST',
    path: configMaps,
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...rest },
  }
}

/** The reason with which the promise was rejected. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`Succeeded: ${JSON.stringify(value)}`)
    },
    (error) => error,
  )
}
