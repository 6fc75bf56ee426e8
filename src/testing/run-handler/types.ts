/** Option and result types of `runHandler`. */
import type { Diff, HandlerReason } from '../../causation/cause.ts'
import type { Body, UserInfo } from '../../handlers/args/args.ts'
import type { HandlerType } from '../../handlers/handler-types.ts'
import type { AdmissionOperation } from '../../handlers/options.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import type { ObjectOf, ResourceLike } from '../../kube/resources/resources.ts'
import type { SslPeer } from '../../settings/webhook-server.ts'
import type { LogLevel } from '../../util/log/log.ts'
import type { Duration } from '../../util/text/duration.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { NewObject } from '../cluster/cluster-options.ts'

/** Selects the handler, and describes the object and the call. Everything except `id` has a default. */
interface TestCallOptions<R extends ResourceLike, M> {
  /**
   * The id of the handler; the suffix with its field can be omitted. With the id of a sub-handler, such as `users/alice`, its
   * parent is called.
   */
  readonly id: string
  /** The resource of the handler, if several handlers have the id. It also types the other options and the result. */
  readonly resource?: R
  /** The type of the handler, such as `create` or `timer`, if several handlers have the id. */
  readonly kind?: HandlerType
  /** The whole object, instead of its single fields. */
  readonly body?: Body<ObjectOf<R>>

  /** Fields of the previous state that differ from the object: `{ spec: { … } }`. Required for update handlers. */
  readonly old?: Partial<Body<ObjectOf<R>>>
  /**
   * The reason of the change. Default: the reason of the handler; for field handlers `update` if `old` is given, otherwise
   * `create`.
   */
  readonly reason?: HandlerReason
  /** The number of earlier attempts. Default: 0. */
  readonly retry?: number
  /** The time of the first attempt. Default: now. */
  readonly started?: Date
  /** The memo of the object. Default: a new one from the operator. */
  readonly memo?: M
  /** For event handlers: the event type; `null` for an object of the initial list. Default: `ADDED`. */
  readonly event?: 'ADDED' | 'MODIFIED' | 'DELETED' | null

  /** For reconcilers: the existing children of the object. Default: none. */
  readonly children?: readonly object[]

  /** For daemons: the waiting time after which the daemon is stopped. Default: it is stopped at its first wait. Timers are never stopped by default. */
  readonly stopAfter?: Duration

  /** For admission handlers: the operation. Default: `UPDATE` if `old` is given, otherwise `CREATE`. */
  readonly operation?: AdmissionOperation
  /** For admission handlers: the requested subresource. Default: none. */
  readonly subresource?: string
  /** For admission handlers: whether the request is a dry run. Default: false. */
  readonly dryrun?: boolean
  /** For admission handlers: the user of the request. Default: empty. */
  readonly userinfo?: UserInfo
  /** For admission handlers: the HTTP headers of the request. Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  /** For admission handlers: the client certificate of the request. Default: none. */
  readonly sslpeer?: SslPeer

  /** Passed to the handler as `signal`. Default: a signal that is never aborted. */
  readonly signal?: AbortSignal
  /** A cluster for the handler's `client`. Default: an empty embedded server that has only the CRDs of the operator's resources. */
  readonly cluster?: Cluster
}

/** Options of `runHandler`: the handler to call, and the object to call it for. */
export type RunHandlerOptions<R extends ResourceLike, M> = TestCallOptions<R, M> & NewObject<ObjectOf<R>>

/** The outcome of a handler: it succeeded (`done`), would be retried, has failed permanently, or was not called (`skipped`). */
export type HandlerOutcome =
  | {
      readonly type: 'done'
      readonly result: unknown
      /** Set if the handler has thrown and its option `errors` is `ignored`. */
      readonly ignoredError?: unknown
      /** For reconcilers: the children that would be applied, and the seconds until the next call. */
      readonly children?: readonly KubeObject[] | undefined
      readonly requeueAfter?: number | undefined
    }
  /** The handler would be called again after `delay` seconds. */
  | { readonly type: 'retry'; readonly delay: number; readonly error: unknown }
  | { readonly type: 'failed'; readonly error: unknown }
  /** The handler was not called: its filters do not match. */
  | { readonly type: 'skipped'; readonly reason: string }

/** A log line of the handler. */
export interface LoggedLine {
  readonly level: LogLevel
  readonly message: string
}

/** A Kubernetes event that the handler has posted. */
export interface RecordedEvent {
  readonly type: string
  readonly reason: string
  readonly message: string
  /** The name of the object of the event. */
  readonly name: string | null
}

/** The result of `runHandler`: the outcome and all effects of the call. */
export interface HandlerRun<T, M> {
  readonly outcome: HandlerOutcome
  /** The return value of the handler; undefined if it did not succeed. */
  readonly result: unknown
  /**
   * The patch that would be written to the object, including results under `status.<id>`. Edits by `patch.fns` are only in
   * `object`.
   */
  readonly patch: JsonObject
  /** The object after the patch. */
  readonly object: T
  /** The diff that the handler received. */
  readonly diff: Diff
  /** The outcomes of sub-handlers, by id. */
  readonly subhandlers: Readonly<Record<string, HandlerOutcome>>
  /** The log lines of the handler. */
  readonly logs: readonly LoggedLine[]
  /** The Kubernetes events that would be posted. */
  readonly events: readonly RecordedEvent[]
  /** The warnings of an admission handler. */
  readonly warnings: readonly string[]
  /** The memo after the call. */
  readonly memo: M
}
