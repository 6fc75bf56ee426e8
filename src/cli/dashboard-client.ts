/**
 * Reads the views of the dashboard of a running operator: logs in, keeps the session, and explains errors. Used by `kopf top`. Does not know how the
 * operator is reached: directly, or through the API server.
 */

import { toConnectionError } from '../client/connection-error.ts'
import type { ViewName, Views } from '../dashboard/protocol.ts'
import { KopfError } from '../errors.ts'
import { withAnySignal } from '../util/async/any-signal.ts'
import { type Clock, noLongerNeeded, trySleep } from '../util/async/clock.ts'
import { getString, isPlainObject } from '../util/json/json.ts'
import { tryParseJsonText } from '../util/json/json-text.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Transport, TransportRequest, TransportResponse } from '../util/transport.ts'

/** What the operator is told at the login: a bearer token of its cluster, or the code of a login URL. */
export type DashboardLogin = { readonly token: string } | { readonly code: string }

export interface DashboardClientOptions {
  /** Sends requests to the operator. Their paths begin with `/api/`. */
  readonly transport: Transport
  /** Called for each login: tokens expire. */
  readonly login: () => Promise<DashboardLogin>
  readonly clock: Clock
}

const code = 'KOPF_DASHBOARD_UNREACHABLE'
const requestTimeoutMs = 15_000
/** Answers are not read further: a view has at most 200 rows. */
const maxAnswerBytes = 8 * 1024 * 1024

export interface OperatorSession {
  readonly cookie: string
  readonly csrf: string
  readonly user: string
}

export class DashboardClient {
  readonly #options: DashboardClientOptions
  #session: Promise<OperatorSession> | undefined

  constructor(options: DashboardClientOptions) {
    this.#options = options
  }

  /** One view. */
  async view<N extends ViewName>(
    name: N,
    query: Readonly<Record<string, string | number>>,
    signal: AbortSignal,
  ): Promise<Views[N]> {
    const path = `/api/views/${name}?${toText(query)}`
    const answer = await this.#inTime(signal, async (any) => readAnswer(await this.send({ method: 'GET', path }, any)))
    if (answer.status === 200) return answer.value as unknown as Views[N]
    throw toError('read the state of the operator', answer)
  }

  /** Sends a request in the session, and returns the response as it arrives. Logs in first, and again if the session has ended. */
  async send(request: TransportRequest, signal: AbortSignal): Promise<TransportResponse> {
    for (let attempt = 1; ; attempt += 1) {
      const pending = this.session(signal)
      const session = await pending
      const headers = { ...request.headers, cookie: session.cookie, 'x-kopf-csrf': session.csrf }
      const response = await this.#options.transport.send({ ...request, headers }, signal)
      if (response.status !== 401 || attempt > 1) return response
      await readAnswer(response)
      // Another request may have logged in again in the meantime.
      if (this.#session === pending) this.#session = undefined
    }
  }

  /** The session of the operator: all requests share one login. */
  session(signal: AbortSignal): Promise<OperatorSession> {
    if (this.#session !== undefined) return this.#session
    const pending = this.#logIn(signal)
    this.#session = pending
    pending.catch(() => {
      if (this.#session === pending) this.#session = undefined
    })
    return pending
  }

  async #logIn(signal: AbortSignal): Promise<OperatorSession> {
    const body = JSON.stringify(await this.#options.login())
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', path: '/api/login', headers, body }
    const answer = await this.#inTime(signal, async (any) =>
      readAnswer(await this.#options.transport.send(request, any)),
    )
    if (answer.status !== 200 || answer.cookie === '') throw toError('log in to the operator', answer)
    const { value, cookie } = answer
    return { cookie, csrf: getString(value, 'csrf') ?? '', user: getString(value, 'user') ?? '' }
  }

  /** Rejects with a reason for the user, also if there is no answer in time. */
  async #inTime<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const [done, late] = [new AbortController(), new AbortController()]
    const reason = new KopfError(code, `Cannot reach the operator: no answer within ${requestTimeoutMs / 1000} seconds`)
    void trySleep(this.#options.clock, requestTimeoutMs, done.signal).then((isLate) => isLate && late.abort(reason))
    try {
      return await withAnySignal([signal, late.signal], async (any) => work(any()))
    } catch (error) {
      signal.throwIfAborted()
      throw error instanceof KopfError ? error : toUnreachable(error)
    } finally {
      done.abort(noLongerNeeded)
    }
  }
}

/** The error of a connection in words. */
export function toUnreachable(cause: unknown): KopfError {
  const { problem } = toConnectionError({ method: 'GET', path: '/' }, cause)
  const advice =
    problem === 'certificate'
      ? 'name the CA of its certificate with --certificate-authority'
      : 'check the address, and that the operator runs with --dashboard'
  return new KopfError(code, `Cannot reach the operator: ${describeError(cause)}; ${advice}`, { cause })
}

function toText(query: Readonly<Record<string, string | number>>): string {
  return new URLSearchParams(
    Object.entries(query).map(([key, value]): [string, string] => [key, `${value}`]),
  ).toString()
}

interface Answer {
  readonly status: number
  /** Empty if the answer is no JSON object. */
  readonly value: { readonly [key: string]: unknown }
  /** The cookies of the answer, as a header of the next requests. */
  readonly cookie: string
}

async function readAnswer({ status, headers, body }: TransportResponse): Promise<Answer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxAnswerBytes) throw new KopfError(code, notADashboard)
    chunks.push(chunk)
  }
  const value = tryParseJsonText(Buffer.concat(chunks).toString('utf8'))
  if (status === 200 && !isPlainObject(value)) throw new KopfError(code, notADashboard)
  return { status, value: isPlainObject(value) ? value : {}, cookie: toCookie(headers['set-cookie']) }
}

const notADashboard =
  'Cannot read the state of the operator: the answer is not that of a dashboard; check the address, and that the operator runs with --dashboard'

/** `name=value` of each cookie. */
function toCookie(header: string | readonly string[] | undefined): string {
  return [header ?? []]
    .flat()
    .map((one) => one.split(';', 1)[0]!.trim())
    .join('; ')
}

function toError(what: string, { status, value }: Answer): KopfError {
  const message = typeof value['message'] === 'string' ? value['message'] : `the answer has the status ${status}`
  const isKnown = typeof value['code'] === 'string' && typeof value['message'] === 'string'
  return new KopfError(
    code,
    isKnown ? message : `Cannot ${what}: ${message}; check the address, and that the operator runs with --dashboard`,
  )
}
