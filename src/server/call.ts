/** One request to a resource as the verbs see it, and the parts of the server that they use. */
import type { Clock } from '../util/async/clock.ts'
import type { Logger } from '../util/log/log.ts'
import type { Authorizer } from './authorization/authorizer.ts'
import type { AccountTokens } from './identity/account-tokens.ts'
import type { User } from './identity/authentication.ts'
import type { ResourceRegistry } from './registry.ts'
import type { ResourcePath } from './request.ts'
import type { ApiResource } from './resource.ts'
import type { ServerState } from './storage/server-state.ts'
import type { ServerStore } from './storage/store.ts'
import type { Watches } from './watches.ts'
import type { WebhookCaller } from './webhooks/call.ts'
import type { Hooks } from './webhooks/hooks.ts'

export interface ServerContext {
  readonly store: ServerStore
  readonly registry: ResourceRegistry
  readonly watches: Watches
  readonly clock: Clock
  readonly webhooks: WebhookCaller
  readonly hooks: Hooks
  readonly authorizer: Authorizer
  readonly tokens: AccountTokens
  /** Keys, certificates and tokens that survive a restart. */
  readonly serverState: ServerState
  /** Aborted when the server closes; ends the server's own calls to webhooks. */
  readonly closing: AbortSignal
  /** For bugs of the server: failed requests and controllers. */
  readonly log: Logger
}

export interface ResourceCall extends ServerContext {
  readonly resource: ApiResource
  readonly path: ResourcePath
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The body as bytes, since protobuf is not text. */
  readonly sent: string | Uint8Array
  readonly user: User
  /** Each becomes a `Warning` header of the response. */
  readonly warnings: string[]
  /** Aborted when the client disconnects or the server stops; open watches end then. */
  readonly signal: AbortSignal
  /** The version that reads are served from; undefined (the current version) unless a `stale` fault is active. */
  readonly readAt: number | undefined
}

/** The response to a request. A string is sent as a whole; chunks are sent as the client reads them. */
export interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string | AsyncIterable<Uint8Array>
}

export function jsonAnswer(status: number, body: unknown): ApiResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: `${JSON.stringify(body)}\n` }
}
