/**
 * The sessions of the dashboard: a random id in a cookie, of which only a digest is kept, and a CSRF token. A session ends when it was not used for 15 minutes,
 * after 12 hours, by a logout, or when its token is not accepted any more (server.ts checks it).
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../util/async/clock.ts'

/** Who has logged in. `token` is undefined for a login with a code: a developer on the same machine. */
export interface SessionOwner {
  readonly user: string
  readonly token: string | undefined
}

export interface UserSession extends SessionOwner {
  /** The value of the header `x-kopf-csrf`. */
  readonly csrf: string
  /** When the session ends if it is not used before. */
  readonly expiresAtMs: number
  /** Open streams of the session. */
  streams: number
}

const idleMs = 15 * 60_000
const maxAgeMs = 12 * 3_600_000
const maxSessions = 500
const maxPerUser = 20

interface StoredSession extends UserSession {
  expiresAtMs: number
  readonly endsAtMs: number
}

export class DashboardSessions {
  readonly #clock: Clock
  /** By the digest of the id, in the order of the last use. */
  readonly #sessions = new Map<string, StoredSession>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The id, for the cookie, and the session. */
  create(owner: SessionOwner): { readonly id: string; readonly session: UserSession } {
    const id = randomBytes(32).toString('base64url')
    const nowMs = this.#clock.now()
    const session: StoredSession = {
      ...owner,
      csrf: randomBytes(32).toString('base64url'),
      expiresAtMs: nowMs + idleMs,
      endsAtMs: nowMs + maxAgeMs,
      streams: 0,
    }
    this.#makeRoom(owner.user)
    this.#sessions.set(digest(id), session)
    return { id, session }
  }

  /** The session of a cookie, whose time begins again. */
  use(id: string): UserSession | undefined {
    const key = digest(id)
    const session = this.#sessions.get(key)
    if (session === undefined) return undefined
    const nowMs = this.#clock.now()
    this.#sessions.delete(key)
    if (session.expiresAtMs <= nowMs) return undefined
    session.expiresAtMs = Math.min(nowMs + idleMs, session.endsAtMs)
    this.#sessions.set(key, session)
    return session
  }

  end(id: string): void {
    this.#sessions.delete(digest(id))
  }

  /** Drops the oldest session of a user with many, and the session that was not used for longest of all. */
  #makeRoom(user: string): void {
    const nowMs = this.#clock.now()
    const own: string[] = []
    for (const [key, session] of this.#sessions) {
      if (session.expiresAtMs <= nowMs) this.#sessions.delete(key)
      else if (session.user === user) own.push(key)
    }
    if (own.length >= maxPerUser) this.#sessions.delete(own[0]!)
    if (this.#sessions.size < maxSessions) return
    const [oldest] = this.#sessions.keys()
    this.#sessions.delete(oldest!)
  }
}

export function isCsrf({ csrf }: UserSession, given: string | undefined): boolean {
  return (
    given !== undefined &&
    given.length === csrf.length &&
    timingSafeEqual(Buffer.from(digest(given)), Buffer.from(digest(csrf)))
  )
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}
