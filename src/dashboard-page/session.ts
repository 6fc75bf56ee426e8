/** The session of the user: the login, its end, and the requests that need it. The session itself is a cookie that scripts cannot read. */
import { signal } from '@preact/signals'
import type { ActionRequest, ActionResult, ApiProblem, SessionInfo } from '../dashboard/protocol.ts'

export type SessionState =
  | { readonly type: 'loading' }
  /** `reason`: why the user has to log in. */
  | { readonly type: 'login'; readonly reason: 'first' | 'expired' | 'logged-out' | 'code'; readonly message?: string }
  | { readonly type: 'open'; readonly info: SessionInfo }
  /** The operator does not answer. The page tries again. */
  | { readonly type: 'gone' }

export const session = signal<SessionState>({ type: 'loading' })

/** The clock of the operator minus the clock of the browser. */
export const skewMs = signal(0)

/** A response with a status that is not 2xx, with the message of the operator. */
export class RefusedError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Resolves with the JSON of the response. Throws a RefusedError, or a TypeError if the operator does not answer. */
export async function fetchJson<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await fetch(path, { ...init, cache: 'no-store', credentials: 'same-origin', redirect: 'error' })
  readClock(response)
  if (!response.ok) throw new RefusedError(response.status, await readProblem(response))
  return response.status === 204 ? (undefined as T) : ((await response.json()) as T)
}

/** The header has a resolution of a second. Smaller differences are not corrected. */
function readClock(response: Response): void {
  const difference = Date.parse(response.headers.get('date') ?? '') - Date.now()
  if (!Number.isNaN(difference)) skewMs.value = Math.abs(difference) > 3000 ? difference : 0
}

async function readProblem(response: Response): Promise<string> {
  try {
    return ((await response.json()) as ApiProblem).message
  } catch {
    return `The operator answered with the HTTP status ${response.status}.`
  }
}

function post<T>(path: string, body: unknown, csrf?: string): Promise<T> {
  const headers = { 'content-type': 'application/json', ...(csrf !== undefined && { 'x-kopf-csrf': csrf }) }
  return fetchJson<T>(path, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** Uses the code of the login URL, if there is one, and removes it from the address bar; otherwise the cookie. */
export async function startSession(): Promise<void> {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1]
  if (code === undefined) return resumeSession()
  history.replaceState(null, '', location.pathname + location.search)
  try {
    await logIn({ code: decodeURIComponent(code) })
  } catch (error) {
    // A reload with a used code: the cookie of the first login is still valid.
    await resumeSession({ type: 'login', reason: 'code', message: toMessage(error) })
  }
}

async function resumeSession(fallback: SessionState = { type: 'login', reason: 'first' }): Promise<void> {
  try {
    session.value = { type: 'open', info: await fetchJson<SessionInfo>('api/session') }
  } catch (error) {
    if (error instanceof RefusedError) session.value = fallback
    else {
      session.value = { type: 'gone' }
      setTimeout(() => void resumeSession(fallback), 2000)
    }
  }
}

export async function logIn(credentials: { token: string } | { code: string }): Promise<void> {
  session.value = { type: 'open', info: await post<SessionInfo>('api/login', credentials) }
}

export async function logOut(): Promise<void> {
  try {
    await post('api/logout', {}, csrf())
  } finally {
    session.value = { type: 'login', reason: 'logged-out' }
  }
}

export function expireSession(): void {
  session.value = { type: 'login', reason: 'expired' }
}

export async function runAction(request: ActionRequest): Promise<ActionResult> {
  try {
    return await post<ActionResult>('api/actions', request, csrf())
  } catch (error) {
    if (error instanceof RefusedError && error.status === 401) expireSession()
    throw error
  }
}

function csrf(): string {
  return session.value.type === 'open' ? session.value.info.csrf : ''
}

export function toMessage(error: unknown): string {
  if (error instanceof RefusedError) return error.message
  return 'The operator does not answer. It may be restarting; try again.'
}
