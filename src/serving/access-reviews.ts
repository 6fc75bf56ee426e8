/**
 * Asks the API server who the client of an endpoint is (TokenReview) and what it may do (SubjectAccessReview), with the times of controller-runtime's
 * `WithAuthenticationAndAuthorization`. Fails closed: without an answer, a client gets an error. Used by the metrics endpoint and by the dashboard.
 */
import { createHash } from 'node:crypto'
import { ApiError } from '../client/api-error.ts'
import { ConnectionError } from '../client/connection-error.ts'
import type { Session } from '../client/session.ts'
import { KopfError } from '../errors.ts'
import type { JsonObject } from '../kube/objects.ts'
import { withAnySignal } from '../util/async/any-signal.ts'
import { LimitedBackoff } from '../util/async/backoff.ts'
import { type Clock, noLongerNeeded } from '../util/async/clock.ts'
import { getObject, getOwn, getString, getStrings } from '../util/json/json.ts'
import { AnswerCache } from './answer-cache.ts'

/** The user that a TokenReview names. */
export interface ReviewedUser {
  readonly name: string
  readonly uid: string | undefined
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** What a user wants to do with a path of the endpoint. */
export interface ReviewedPath {
  readonly path: string
  /** The HTTP method in lower case. */
  readonly verb: string
}

/** What a user wants to do with objects of the cluster. */
export interface ReviewedResource {
  readonly verb: string
  /** Empty for the core group. */
  readonly group: string
  /** The plural name. */
  readonly resource: string
  readonly subresource?: string | undefined
  /** Undefined for all namespaces, and for cluster-scoped resources. */
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

export interface AccessReviewsOptions {
  /** A session whose requests every replica may send, also one that is not the leader. */
  readonly session: () => Session
  readonly clock: Clock
  /** Aborted when the operator ends. */
  readonly signal: AbortSignal
}

/** The API server gave no answer. `status` is that of the response to the client: 503 if a later request can succeed, otherwise 500. */
export class AccessReviewError extends KopfError {
  readonly status: 500 | 503

  constructor(status: 500 | 503, message: string, options?: ErrorOptions) {
    super('KOPF_ACCESS_REVIEW', message, options)
    this.status = status
  }
}

const timeoutMs = 10_000
/** 500 ms and half as much again for each further attempt: five attempts. */
const backoffsMs = [500, 750, 1125, 1688]
const tokenMs = 60_000
const allowedMs = 300_000
const deniedMs = 30_000
/** Of each type; a cluster has a few scrapers and some viewers of the dashboard. */
const maxAnswers = 1024
const maxRunning = 32
/** A review names one user. */
const maxReviewBytes = 256 * 1024
/** RFC 6750; the limit is that of the headers of an endpoint. */
const tokenPattern = /^[\w.~+/-]{1,8192}={0,2}$/

export class AccessReviews {
  readonly #options: AccessReviewsOptions
  readonly #users: AnswerCache<ReviewedUser | undefined>
  readonly #permissions: AnswerCache<boolean>

  constructor(options: AccessReviewsOptions) {
    const { clock } = options
    this.#options = options
    const common = { clock, maxAnswers, maxRunning, onBusy: throwBusy }
    const isUser = (user: ReviewedUser | undefined) => user !== undefined
    this.#users = new AnswerCache({ ...common, isPositive: isUser, positiveMs: tokenMs, negativeMs: tokenMs })
    const isAllowed = (allowed: boolean) => allowed
    this.#permissions = new AnswerCache({
      ...common,
      isPositive: isAllowed,
      positiveMs: allowedMs,
      negativeMs: deniedMs,
    })
  }

  /** The user of a bearer token; undefined if the API server does not accept it. Throws an `AccessReviewError` without an answer. */
  async authenticate(token: string): Promise<ReviewedUser | undefined> {
    if (!tokenPattern.test(token)) return undefined
    return this.#users.get(hash(token), async () => toUser(await this.#review(tokenReview, { token })))
  }

  /** Whether the user may do this. Throws an `AccessReviewError` without an answer. */
  async isAllowed(user: ReviewedUser, attributes: ReviewedPath | ReviewedResource): Promise<boolean> {
    const spec = {
      user: user.name,
      groups: user.groups,
      uid: user.uid,
      extra: user.extra,
      ...('path' in attributes ? { nonResourceAttributes: attributes } : { resourceAttributes: attributes }),
    }
    return this.#permissions.get(hash(JSON.stringify(spec)), async () => {
      const status = await this.#review(accessReview, spec)
      return getOwn(status, 'allowed') === true && getOwn(status, 'denied') !== true
    })
  }

  async #review({ path, kind, group }: ReviewType, spec: object): Promise<JsonObject> {
    const { clock, signal } = this.#options
    const timeout = new AbortController()
    const over = new AbortController()
    const timer = clock.sleep(timeoutMs, over.signal, { isBackground: true }).then(
      () => timeout.abort(new ConnectionError(`no answer within ${timeoutMs / 1000} seconds`, 'timeout')),
      () => {},
    )
    const body = { apiVersion: `${group}/v1`, kind, spec }
    try {
      const signals = [signal, timeout.signal]
      const answer = await withAnySignal(signals, (any) => this.#post(path, body, any()))
      return getObject(answer, 'status') ?? {}
    } catch (error) {
      throw toReviewError(error, path.split('/').at(-1)!, group)
    } finally {
      over.abort(noLongerNeeded)
      await timer
    }
  }

  /** A review changes nothing, so it can be repeated after every temporary failure. The attempts are not logged: a client could fill the log. */
  async #post(path: string, body: object, signal: AbortSignal): Promise<JsonObject> {
    const { session, clock } = this.#options
    const backoff = new LimitedBackoff(backoffsMs)
    for (;;) {
      try {
        return await session().request(
          { method: 'POST', path, body, backoffsMs: [], timeoutMs, maxAnswerBytes: maxReviewBytes, purpose: 'review' },
          signal,
        )
      } catch (error) {
        const delayMs = isTemporary(error) ? backoff.next() : undefined
        if (delayMs === undefined) throw error
        await clock.sleep(delayMs, signal)
      }
    }
  }
}

interface ReviewType {
  readonly group: string
  readonly kind: string
  readonly path: string
}

const tokenReview = toReviewType('authentication.k8s.io', 'TokenReview')
const accessReview = toReviewType('authorization.k8s.io', 'SubjectAccessReview')

function toReviewType(group: string, kind: string): ReviewType {
  return { group, kind, path: `/apis/${group}/v1/${kind.toLowerCase()}s` }
}

/** The bearer token of an `Authorization` header; undefined without one. */
export function readBearerToken(header: string | undefined): string | undefined {
  return /^bearer +(?<token>\S+) *$/i.exec(header ?? '')?.groups?.['token']
}

/** The whole digest: an attacker who knew a token with the same digest would be taken for its owner. */
function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

function toUser(status: JsonObject): ReviewedUser | undefined {
  const user = getObject(status, 'user')
  const name = user === undefined ? undefined : getString(user, 'username')
  if (getOwn(status, 'authenticated') !== true || user === undefined || !name) return undefined
  const extra = getObject(user, 'extra') ?? {}
  return {
    name,
    uid: getString(user, 'uid'),
    groups: withAuthenticated(getStrings(user, 'groups')),
    extra: Object.fromEntries(Object.keys(extra).map((key) => [key, getStrings(extra, key)])),
  }
}

/** As the API server does for its own clients. */
function withAuthenticated(groups: readonly string[]): readonly string[] {
  const [all, none] = ['system:authenticated', 'system:unauthenticated']
  return groups.includes(all) || groups.includes(none) ? groups : [...groups, all]
}

function isTemporary(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 429 || error.status >= 500
  return error instanceof ConnectionError && !['certificate', 'protocol', 'too-large'].includes(error.problem)
}

function toReviewError(cause: unknown, resource: string, group: string): AccessReviewError {
  const attempt = 'Cannot check the access of a client'
  if (cause instanceof ApiError && cause.status === 403) {
    const message = `the operator may not create ${resource}.${group}; bind it to the ClusterRole that \`npx kopf manifests --with-metrics\` prints`
    return new AccessReviewError(500, `${attempt}: ${message}`, { cause })
  }
  const isFinal = cause instanceof ApiError && cause.status < 500 && cause.status !== 429 && cause.status !== 401
  const why = cause instanceof Error ? cause.message : String(cause)
  return new AccessReviewError(
    isFinal ? 500 : 503,
    `${attempt}: the API server has not answered a request for ${resource}.${group}, so the access is refused; try again later (${why})`,
    { cause },
  )
}

function throwBusy(): never {
  throw new AccessReviewError(
    503,
    `Cannot check the access of a client: ${maxRunning} other checks wait for the API server; try again later`,
  )
}
