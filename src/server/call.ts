/** One request to a resource on its way through the verbs, and the parts of the server that the verbs work with. */
import type { Clock } from '../util/clock.ts'
import type { Logger } from '../util/log.ts'
import type { Authorizer } from './authorization/authorizer.ts'
import type { AccountTokens } from './identity/account-tokens.ts'
import type { User } from './identity/authentication.ts'
import type { Registry } from './registry.ts'
import type { ResourcePath } from './request.ts'
import type { ServedResource } from './resource.ts'
import type { Keepsakes } from './storage/keepsakes.ts'
import type { Store } from './storage/store.ts'
import type { Watches } from './watches.ts'
import type { WebhookCaller } from './webhooks/call.ts'
import type { Hooks } from './webhooks/hooks.ts'

export interface Parts {
  readonly store: Store
  readonly registry: Registry
  readonly watches: Watches
  readonly clock: Clock
  readonly webhooks: WebhookCaller
  readonly hooks: Hooks
  readonly authorizer: Authorizer
  readonly tokens: AccountTokens
  /** What the server has to know again in its next life, beside the objects. */
  readonly keepsakes: Keepsakes
  /** Aborted when the server is closed: nobody is asked any more in its own name. */
  readonly closing: AbortSignal
  /** For bugs of the server: requests and controllers that fail for no reason of the client's. */
  readonly log: Logger
}

export interface Call extends Parts {
  readonly resource: ServedResource
  readonly path: ResourcePath
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The body as it was sent, which for protobuf is no text. */
  readonly sent: string | Uint8Array
  readonly user: User
  /** Each becomes a `Warning` header of the answer. */
  readonly warnings: string[]
  /** Aborted when the client is gone or the server stops: open watches end with it. */
  readonly signal: AbortSignal
  /** The version that reads are served from; undefined for the present, which is always so but under a fault. */
  readonly readAt: number | undefined
}

/** What is sent back. Text is sent whole; chunks are sent as they come, and only as fast as the client reads. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string | AsyncIterable<Uint8Array>
}

export function jsonAnswer(status: number, body: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: `${JSON.stringify(body)}\n` }
}
