/**
 * The JSON of the dashboard's API, as the page in the browser, `kopf top` and `kopf explain --history` read it. Types only: it is imported by the server
 * and by the page. All paths are relative to the address of the dashboard, so that it works behind a proxy with a path prefix.
 *
 *   GET  api/session               -> SessionInfo, or 401
 *   POST api/login                 {token} or {code} -> SessionInfo, and the session cookie
 *   POST api/logout                -> 204
 *   GET  api/views/<view>?<query>  -> one View
 *   GET  api/stream?view=<view>&<query>
 *                                  -> server-sent events: `view` with the same JSON each time it changes, at most 4 a second
 *   POST api/actions               ActionRequest -> ActionResult
 *
 * A POST has `content-type: application/json` and the header `x-kopf-csrf` with the value of `SessionInfo.csrf` (not for the login). Errors are
 * `ApiProblem` with the status 400, 401, 403, 404, 413, 415, 429 or 503.
 */

import type { ActionName, JournalEntry, ObjectRef } from '../journal/entries.ts'

export type { ActionName, FieldChange, JournalEntry, ObjectRef } from '../journal/entries.ts'

/** The views that `api/views` and `api/stream` serve. */
export interface Views {
  readonly overview: OverviewView
  readonly objects: ObjectsView
  readonly object: ObjectView
  readonly handlers: HandlersView
  readonly requests: RequestsView
  readonly webhooks: WebhooksView
  readonly problems: ProblemsView
}

export type ViewName = keyof Views

export interface ApiProblem {
  /** A sentence for the user: what was attempted, what is the case, what to do. */
  readonly message: string
  readonly code: string
}

export interface SessionInfo {
  /** The name of the user, from the TokenReview. For a login with a code of `kopf dev` or `kopf run`: "developer". */
  readonly user: string
  /** The value of the header `x-kopf-csrf`. */
  readonly csrf: string
  /** When the session ends if nothing is requested before, in milliseconds since 1970. */
  readonly expiresAtMs: number
}

/**
 * The state of an object, in the order of urgency.
 * - `failed`: a handler has failed permanently for its present state.
 * - `retrying`: a handler or the framework will try again.
 * - `handling`: a worker processes it now.
 * - `waiting`: it waits for a worker.
 * - `deleting`: it is being deleted and waits for handlers, daemons or other finalizers.
 * - `handled`: nothing is left to do.
 */
export type ObjectState = 'failed' | 'retrying' | 'handling' | 'waiting' | 'deleting' | 'handled'

/** One point of the history: taken every 5 seconds, 120 are kept. Rates are per second. */
export interface Sample {
  readonly atMs: number
  readonly events: number
  readonly handlerCalls: number
  readonly handlerErrors: number
  readonly requests: number
  readonly queue: number
  readonly lagMs: number
}

export interface ResourceSummary {
  readonly resource: string
  readonly kind: string
  /** The number of objects that the user may see; absent if the user may not list the resource. */
  readonly states?: Readonly<Record<ObjectState, number>>
  readonly handlers: readonly { readonly id: string; readonly type: string }[]
  /** The watches of the resource. `silenceSeconds`: since the last data of the quietest one. */
  readonly streams: {
    readonly open: number
    readonly down: number
    readonly restarts: number
    readonly silenceSeconds?: number
  }
}

export interface OverviewView {
  readonly operator: {
    readonly name?: string
    readonly version: string
    readonly node: string
    readonly server?: string
    readonly startedAtMs: number
    readonly phase: 'starting' | 'running' | 'stopping' | 'stopped'
    /** `none`: without leader election. */
    readonly leader: 'none' | 'awaited' | 'candidate' | 'leading' | 'lost'
    readonly isPaused: boolean
    /** The namespaces in which the operator is paused. */
    readonly pausedNamespaces: readonly string[]
  }
  /** The checks of /readyz. */
  readonly readiness: { readonly ready: boolean; readonly checks: Readonly<Record<string, { readonly ok: boolean }>> }
  readonly resources: readonly ResourceSummary[]
  readonly queue: { readonly waiting: number; readonly active: number; readonly longestWaitSeconds: number }
  readonly eventLoop: { readonly lagMs: number }
  readonly memory: { readonly rssBytes: number; readonly heapBytes: number }
  readonly daemons: number
  readonly webhooks?: { readonly state: 'starting' | 'serving'; readonly reviews: number; readonly denials: number }
  readonly problems: number
  readonly history: readonly Sample[]
}

/** Query: resource, namespace, state (comma-separated), text, sort (`name`, `state`, `changed`, `errors`), order (`asc`, `desc`), offset, limit (at most 200). */
export interface ObjectsView {
  /** The number of objects that match the query and that the user may see. */
  readonly total: number
  readonly offset: number
  readonly rows: readonly ObjectRow[]
  /** All that the user may filter by; at most 1,000 namespaces. */
  readonly resources: readonly string[]
  readonly namespaces: readonly string[]
}

export interface ObjectRow extends ObjectRef {
  readonly state: ObjectState
  /** Why: the last error, or the delay that it waits for. At most 200 characters. */
  readonly why?: string
  readonly changedAtMs?: number
  /** When the next attempt or tick is due. */
  readonly nextAtMs?: number
  /** Failed attempts since the start of the operator. */
  readonly errors: number
}

/** Query: resource, namespace, name. */
export interface ObjectView {
  readonly object: ObjectRow
  /** `Explanation` of `kopf explain --output json`; absent if the user may not get the object. */
  readonly explanation?: unknown
  /** The object, for a test of a journal entry; secrets are replaced. Absent if the user may not get the object, or if it is large. */
  readonly body?: unknown
  /** Oldest first. */
  readonly timeline: readonly JournalEntry[]
  /** Entries that were dropped because of the limits of the journal. */
  readonly dropped: number
  readonly children: readonly ChildRow[]
  readonly log: readonly LogRow[]
  readonly actions: readonly ActionName[]
}

export interface ChildRow extends ObjectRef {
  readonly isReady: boolean
  readonly deleting?: string
  readonly conditions: readonly {
    readonly type: string
    readonly status: string
    readonly reason?: string
    readonly message?: string
  }[]
}

export interface LogRow {
  readonly atMs: number
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
}

/** Calls since the start of the operator. Durations are of the last 1,000 calls. */
export interface HandlerRow {
  readonly id: string
  readonly type: string
  readonly resource?: string
  readonly calls: number
  readonly succeeded: number
  readonly retrying: number
  readonly failed: number
  readonly running: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  /** At most 5, slowest first; only objects that the user may see. */
  readonly slowest: readonly (ObjectRef & { readonly durationMs: number })[]
  readonly lastError?: string
  readonly lastErrorAtMs?: number
}

export interface HandlersView {
  readonly handlers: readonly HandlerRow[]
}

export interface RequestRow {
  readonly purpose: string
  readonly method: string
  /** The HTTP status; `error` if there was no response. */
  readonly code: string
  readonly count: number
  readonly perSecond: number
  readonly p50Ms?: number
  readonly p99Ms?: number
}

export interface RequestsView {
  readonly total: number
  readonly perSecond: number
  readonly rows: readonly RequestRow[]
}

export interface WebhooksView {
  readonly state: 'none' | 'starting' | 'serving'
  readonly handlers: readonly {
    readonly id: string
    readonly type: string
    readonly reviews: number
    readonly denials: number
    readonly errors: number
    readonly p50Ms?: number
    readonly p99Ms?: number
  }[]
  /** The last 50, newest first. */
  readonly recent: readonly {
    readonly atMs: number
    readonly type: 'admission' | 'conversion'
    readonly handler?: string
    readonly resource?: string
    readonly namespace?: string
    readonly name?: string
    readonly operation?: string
    readonly allowed?: boolean
    readonly message?: string
    readonly durationMs: number
  }[]
}

/** Something that fails now. */
export interface Problem {
  readonly id: string
  readonly severity: 'error' | 'warning'
  /** One sentence: what is the case. */
  readonly title: string
  /** One or two sentences: what to do. */
  readonly remedy: string
  readonly sinceMs?: number
  /** At most 20. */
  readonly objects: readonly ObjectRef[]
  readonly moreObjects: number
}

export interface ProblemsView {
  readonly problems: readonly Problem[]
}

export interface ActionRequest {
  readonly action: ActionName
  readonly object: ObjectRef
}

export interface ActionResult {
  /** A sentence: what was done. */
  readonly message: string
}
