/** What `runHandler` takes, and what comes of it. Types only. */
import type { Diff, HandlerReason } from '../../causation/cause.ts'
import type { Body, UserInfo } from '../../handlers/args/args.ts'
import type { HandlerType } from '../../handlers/definition.ts'
import type { AdmissionOperation } from '../../handlers/handler.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import type { ObjectOf, ResourceLike } from '../../kube/resources/resources.ts'
import type { SslPeer } from '../../settings/webhook-server.ts'
import type { LogLevel } from '../../util/log/log.ts'
import type { Duration } from '../../util/text/duration.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { NewObject } from '../cluster/cluster-options.ts'

/** Which handler is called, and what for; all but the id has a default. */
interface Situated<R extends ResourceLike, M> {
  /** Of the handler, without its field too; of a sub-handler, such as `users/alice`: then its parent is called. */
  readonly id: string
  /** Whose handler it is, where several have the id. With it, everything else is typed. */
  readonly resource?: R
  /** Likewise. */
  readonly kind?: HandlerType
  /** The whole object, instead of its parts. */
  readonly body?: Body<ObjectOf<R>>

  /** What the object was before, as far as it was different: `{ spec: { … } }`. */
  readonly old?: Partial<Body<ObjectOf<R>>>
  /** What has happened. Default: what the handler is for; for fields, `update` where there is an `old`, else `create`. */
  readonly reason?: HandlerReason
  /** How many attempts were made before. Default: 0. */
  readonly retry?: number
  /** When the first of them was. Default: now. */
  readonly started?: Date
  /** Default: as the operator makes it. */
  readonly memo?: M
  /** Of event handlers: what has happened. Default: `ADDED`. */
  readonly event?: 'ADDED' | 'MODIFIED' | 'DELETED' | null

  /** Of reconcilers: the children that the object has. Default: none. */
  readonly children?: readonly object[]

  /** Of daemons: when they are told to stop, by how long they have waited. Default: when they first wait. */
  readonly stopAfter?: Duration

  /** Of admission handlers. Default: `UPDATE` where there is an `old`, else `CREATE`. */
  readonly operation?: AdmissionOperation
  readonly subresource?: string
  readonly dryrun?: boolean
  readonly userinfo?: UserInfo
  readonly headers?: Readonly<Record<string, string>>
  readonly sslpeer?: SslPeer

  /** Aborted when the handler has no more time. */
  readonly signal?: AbortSignal
  /** Whose `client` it gets. Default: that of an empty cluster, which has only the definitions of the operator's resources. */
  readonly cluster?: Cluster
}

/** Which handler is called, and the object that it is called for. */
export type RunHandlerOptions<R extends ResourceLike, M> = Situated<R, M> & NewObject<ObjectOf<R>>

/** What became of a handler: it is done, would be called again, has failed, or was not called. */
export type HandlerOutcome =
  | {
      readonly type: 'done'
      readonly result: unknown
      /** There where the handler has thrown, and its option `errors` is `ignored`. */
      readonly ignoredError?: unknown
      /** Of reconcilers: the children as they would be applied, and after how many seconds it would be called again. */
      readonly children?: readonly KubeObject[] | undefined
      readonly requeueAfter?: number | undefined
    }
  /** It would be called again, after so many seconds. */
  | { readonly type: 'retry'; readonly delay: number; readonly error: unknown }
  | { readonly type: 'failed'; readonly error: unknown }
  /** It was not called: its filters do not match. */
  | { readonly type: 'skipped'; readonly reason: string }

/** A line that the handler has logged. */
export interface LoggedLine {
  readonly level: LogLevel
  readonly message: string
}

/** A Kubernetes event that the handler has posted. */
export interface RecordedEvent {
  readonly type: string
  readonly reason: string
  readonly message: string
  /** The name of the object that it is about. */
  readonly name: string | null
}

/** Everything that came of the call of one handler. */
export interface HandlerRun<T, M> {
  readonly outcome: HandlerOutcome
  /** What it returned; undefined where it did not come so far. */
  readonly result: unknown
  /** What would be written to the object: the patch, and results under `status.<id>`; `patch.fns` are only in `object`. */
  readonly patch: JsonObject
  /** The object as it would be then. */
  readonly object: T
  /** What it was told of the change. */
  readonly diff: Diff
  /** What became of the sub-handlers, by id. */
  readonly subhandlers: Readonly<Record<string, HandlerOutcome>>
  readonly logs: readonly LoggedLine[]
  /** The Kubernetes events that would be posted by `recorder`. */
  readonly events: readonly RecordedEvent[]
  /** Of admission handlers. */
  readonly warnings: readonly string[]
  readonly memo: M
}
