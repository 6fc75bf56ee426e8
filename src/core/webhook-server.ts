/**
 * Between the operator and what listens for requests of the API server: `settings.admission.server` is such a server, and
 * the operator gives it the function to call. The lowest file of core: settings name these types. Types only.
 */
import type { Client } from '../client/client.ts'
import type { ClusterSigns } from '../client/cluster-signs.ts'
import type { Clock } from '../util/clock.ts'
import type { Logger } from '../util/log.ts'

/** Where the API server finds the webhooks; the path of each is appended to it. Either `url` or `service`. */
export interface WebhookClientConfig {
  readonly url?: string
  readonly service?: {
    readonly namespace: string
    readonly name: string
    readonly path?: string
    readonly port?: number
  }
  /** Certificates in PEM, in base64; without it, what the API server trusts anyway. */
  readonly caBundle?: string
}

/** The client certificate of who calls, if it was verified: mostly an API server, never the user of the request. */
export interface SslPeer {
  readonly subject: Readonly<Record<string, string | readonly string[]>>
  readonly issuer: Readonly<Record<string, string | readonly string[]>>
  readonly subjectAltName: string | undefined
  readonly serialNumber: string
  readonly notBefore: string
  readonly notAfter: string
  readonly fingerprint256: string
}

/** What a server knows of a request beside its body. */
export interface WebhookRequestInfo {
  /** The id of the handler, from the path: decoded, without the slash. Without it, all handlers are called. */
  readonly webhook?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly sslpeer?: SslPeer | undefined
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal
}

/**
 * Takes a review as it was posted, parsed, and answers with the review to send back: of admission, or of conversion.
 * Rejects with a `WebhookError` where the request itself is bad: its `status` is the one to answer with.
 */
export type WebhookFn = (review: unknown, info?: WebhookRequestInfo) => Promise<object>

/** What a server can make use of. */
export interface WebhookContext {
  /** Aborted when the operator stops: the server stops listening then, and ends. */
  readonly signal: AbortSignal
  readonly logger: Logger
  readonly clock: Clock
  readonly client: Client
  /** Where the operator itself lives, if that is known. */
  readonly namespace: string | undefined
  /** What the API server tells of the cluster it belongs to. */
  readonly readSigns: () => Promise<ClusterSigns>
}

/** Listens, and yields how it is reached: at first, and whenever that changes. */
export type WebhookServe = (fn: WebhookFn, context: WebhookContext) => AsyncIterable<WebhookClientConfig>

/** The Service in front of a server that listens in the pods of the operator: for `kopf manifests`. */
export interface WebhookService {
  readonly name: string
  /** Undefined for where the operator itself runs. */
  readonly namespace: string | undefined
  readonly port: number
  /** What the server listens on. */
  readonly targetPort: number
  /** The Secret that the server keeps, if any. */
  readonly secret: string | undefined
}

/** A function that serves, or an object that has one; it is disposed of at the end if it can be. */
export type WebhookServerLike =
  | WebhookServe
  | {
      readonly serve: WebhookServe
      readonly service?: WebhookService | undefined
      [Symbol.asyncDispose]?(): PromiseLike<void>
    }
