/**
 * The interface between the operator and a webhook server: `settings.admission.server` is such a server, and the operator passes it
 * the function to call for each request. Types only, since the settings refer to them.
 */
import type { Client } from '../client/client.ts'
import type { ClusterFlavour } from '../client/cluster-flavour.ts'
import type { Clock } from '../util/async/clock.ts'
import type { Logger } from '../util/log/log.ts'

/** Where the API server reaches the webhooks: either `url` or `service`. The operator appends the path of each webhook. */
export interface WebhookClientConfig {
  /** The address of a server outside the cluster: `https://host:port/path`. */
  readonly url?: string
  /** The Service in front of a server inside the cluster. */
  readonly service?: {
    /** The namespace of the Service. */
    readonly namespace: string
    /** The name of the Service. */
    readonly name: string
    /** The path prefix of the webhooks. Default: none. */
    readonly path?: string
    /** The port of the Service. Default: 443. */
    readonly port?: number
  }
  /** The CA certificates as PEM in base64. Default: the system's trusted CAs on the API server. */
  readonly caBundle?: string
}

/** The verified client certificate of the caller of a webhook: usually the API server, never the user of the request. */
export interface SslPeer {
  /** The subject, by attribute: `{ CN: 'kube-apiserver' }`. */
  readonly subject: Readonly<Record<string, string | readonly string[]>>
  /** The issuer, by attribute. */
  readonly issuer: Readonly<Record<string, string | readonly string[]>>
  /** The alternative names, such as `DNS:example.com`. */
  readonly subjectAltName: string | undefined
  /** The serial number of the certificate, in hexadecimal. */
  readonly serialNumber: string
  /** The beginning of the validity, as text: `Nov 18 09:00:00 2026 GMT`. */
  readonly notBefore: string
  /** The end of the validity, as text. */
  readonly notAfter: string
  /** The SHA-256 fingerprint of the certificate. */
  readonly fingerprint256: string
}

/** The parts of a webhook request other than its body. All are optional. */
export interface WebhookRequestInfo {
  /** The id of the handler, from the path of the request: decoded, without the leading slash. Default: all handlers are called. */
  readonly webhook?: string
  /** The HTTP headers; handlers get them as `headers`. */
  readonly headers?: Readonly<Record<string, string>>
  /** The client certificate; handlers get it as `sslpeer`. */
  readonly sslpeer?: SslPeer | undefined
  /** Aborted when the caller no longer waits for the response. */
  readonly signal?: AbortSignal
}

/**
 * Handles one request of the API server. Takes the parsed AdmissionReview or ConversionReview and resolves to the review to send back.
 * Rejects with a `WebhookError` if the request is malformed: respond with its `status`.
 */
export type WebhookFn = (review: unknown, info?: WebhookRequestInfo) => Promise<object>

/** The objects that the operator passes to a webhook server. */
export interface WebhookContext {
  /** Aborted when the operator stops: the server must then stop listening and return. */
  readonly signal: AbortSignal
  /** Writes to the log of the operator. */
  readonly logger: Logger
  /** The clock of the operator. Use it instead of `setTimeout`, so that tests can skip the waiting. */
  readonly clock: Clock
  /** The client of the operator. */
  readonly client: Client
  /** The namespace in which the operator runs; undefined if it is not known. */
  readonly namespace: string | undefined
  /** Reads the certificate and the version of the API server, by which a server can guess how the cluster reaches this machine. */
  readonly readSigns: () => Promise<ClusterFlavour>
}

/**
 * Listens for requests, calls `fn` for each, and yields the address of the server: first when it listens, then whenever the address
 * changes. Returns when `context.signal` is aborted.
 */
export type WebhookServe = (fn: WebhookFn, context: WebhookContext) => AsyncIterable<WebhookClientConfig>

/** The Service in front of a webhook server that listens in the pods of the operator. `kopf manifests` writes it. */
export interface WebhookService {
  /** The name of the Service. */
  readonly name: string
  /** The namespace of the Service. Undefined: the namespace in which the operator runs. */
  readonly namespace: string | undefined
  /** The port of the Service. */
  readonly port: number
  /** The port on which the server listens. */
  readonly targetPort: number
  /** The name of the Secret in which the server keeps its certificate; undefined if it keeps none. */
  readonly secret: string | undefined
}

/**
 * A webhook server for `settings.admission.server`: a function, or an object with the method `serve`. The operator disposes of an object
 * with `Symbol.asyncDispose` when it stops.
 */
export type WebhookServerLike =
  | WebhookServe
  | {
      /** Listens for requests until the operator stops. */
      readonly serve: WebhookServe
      /** The Service in front of the server, for `kopf manifests`. Default: none. */
      readonly service?: WebhookService | undefined
      /** Releases the resources of the server. Called when the operator has stopped. */
      [Symbol.asyncDispose]?(): PromiseLike<void>
    }
