/**
 * Opens a tunnel through an HTTP proxy (CONNECT). Called by transport.ts and cluster-flavour.ts, which speak TLS over it: the proxy
 * sees the name of the server and none of the requests.
 */
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import { noLongerNeeded, systemClock } from '../../util/async/clock.ts'
import { toHost, toUrlHost } from '../../util/text/hosts.ts'
import { ConnectionError } from '../connection-error.ts'
import { toBasic } from './auth-headers.ts'

/** Timeout for the proxy's response. */
const connectTimeoutMs = 30_000

export interface TunnelTarget {
  /** Without the brackets of an IPv6 address. */
  readonly host: string
  readonly port: number
}

/** Rejects if the proxy cannot be reached or responds with an error, and when the signal is aborted. */
export async function openTunnel(proxy: URL, target: TunnelTarget, signal: AbortSignal): Promise<Socket> {
  const attempt = new AbortController()
  const stop = () => attempt.abort(signal.reason)
  const done = new AbortController()
  signal.throwIfAborted()
  signal.addEventListener('abort', stop, { once: true })
  systemClock.sleep(connectTimeoutMs, done.signal).then(
    () => attempt.abort(toTimeoutError(proxy)),
    () => {},
  )
  try {
    return await sendConnect(proxy, target, attempt.signal)
  } catch (error) {
    // Node rejects an aborted request with an AbortError; callers expect the reason of the signal.
    attempt.signal.throwIfAborted()
    throw error
  } finally {
    done.abort(noLongerNeeded)
    signal.removeEventListener('abort', stop)
  }
}

function sendConnect(proxy: URL, { host, port }: TunnelTarget, signal: AbortSignal): Promise<Socket> {
  const authority = `${toUrlHost(host)}:${port}`
  return new Promise((resolve, reject) => {
    const request = (proxy.protocol === 'https:' ? requestHttps : requestHttp)({
      hostname: toHost(proxy),
      port: proxy.port,
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...authorizationOf(proxy) },
      agent: false,
      signal,
    })
    request.on('connect', ({ statusCode = 0 }, socket: Socket) => {
      if (statusCode >= 200 && statusCode < 300) return resolve(socket)
      socket.destroy()
      reject(toRefusedError(proxy, statusCode))
    })
    request.on('error', reject)
    request.end()
  })
}

function authorizationOf({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  return { 'proxy-authorization': toBasic(decodeURIComponent(username), decodeURIComponent(password)) }
}

/** Shows only the host of the proxy, since its URL may contain a password. */
function toRefusedError({ host }: URL, status: number): ConnectionError {
  const advice = status === 407 ? 'put the right username and password into its address' : 'check its rules'
  return new ConnectionError(`Cannot connect through the proxy ${host}: it answered ${status}; ${advice}`, 'refused')
}

function toTimeoutError({ host }: URL): ConnectionError {
  const message = `Cannot connect through the proxy ${host}: no answer within ${connectTimeoutMs / 1000} s; check its address`
  return new ConnectionError(message, 'unreachable')
}
