/**
 * A way through an HTTP proxy to one server: a connection to the proxy that it was told to hand on (CONNECT). What is
 * encrypted stays so: the proxy sees the name of the server, and nothing of the requests.
 */
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import { noLongerNeeded, systemClock } from '../util/clock.ts'
import { toBasic } from './auth-headers.ts'
import { ConnectionError } from './connection-error.ts'

/** A proxy that is silent for so long is a failure. */
const patienceMs = 30_000

export interface TunnelTarget {
  /** Without the brackets of an IPv6 address. */
  readonly host: string
  readonly port: number
}

/** Rejects where the proxy cannot be reached or refuses, and when the signal is aborted. */
export async function openTunnel(proxy: URL, target: TunnelTarget, signal: AbortSignal): Promise<Socket> {
  const attempt = new AbortController()
  const stop = () => attempt.abort(signal.reason)
  const done = new AbortController()
  signal.throwIfAborted()
  signal.addEventListener('abort', stop, { once: true })
  systemClock.sleep(patienceMs, done.signal).then(
    () => attempt.abort(silence(proxy)),
    () => {},
  )
  try {
    return await ask(proxy, target, attempt.signal)
  } catch (error) {
    // Of a request that is broken off, Node tells that, and the reason only beside it.
    attempt.signal.throwIfAborted()
    throw error
  } finally {
    done.abort(noLongerNeeded)
    signal.removeEventListener('abort', stop)
  }
}

function ask(proxy: URL, { host, port }: TunnelTarget, signal: AbortSignal): Promise<Socket> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  return new Promise((resolve, reject) => {
    const asking = (proxy.protocol === 'https:' ? requestHttps : requestHttp)({
      hostname: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port,
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...authorizationOf(proxy) },
      agent: false,
      signal,
    })
    asking.on('connect', ({ statusCode = 0 }, socket: Socket) => {
      if (statusCode >= 200 && statusCode < 300) return resolve(socket)
      socket.destroy()
      reject(refusal(proxy, statusCode))
    })
    asking.on('error', reject)
    asking.end()
  })
}

function authorizationOf({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  return { 'proxy-authorization': toBasic(decodeURIComponent(username), decodeURIComponent(password)) }
}

/** The host of the proxy alone is shown: there may be a password before it. */
function refusal({ host }: URL, status: number): ConnectionError {
  const advice = status === 407 ? 'put the right username and password into its address' : 'check its rules'
  return new ConnectionError(`Cannot connect through the proxy ${host}: it answered ${status}; ${advice}`, 'refused')
}

function silence({ host }: URL): ConnectionError {
  const message = `Cannot connect through the proxy ${host}: no answer within ${patienceMs / 1000} s; check its address`
  return new ConnectionError(message, 'unreachable')
}
