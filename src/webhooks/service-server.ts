/**
 * `WebhookServiceServer`: the webhook server of an operator that runs in the cluster, behind a Service. Users create it for
 * `settings.admission.server`; the operator calls `serve`. The listener is in serve-reviews.ts, the certificates are in certificates/shared-secret.ts.
 */

import { KopfError } from '../errors.ts'
import type { WebhookClientConfig, WebhookContext, WebhookFn, WebhookService } from '../settings/webhook-server.ts'
import { checkOptions, createCheck, text } from '../util/option-checks.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import { toRoot } from './addresses.ts'
import type { Keyring } from './certificates/keyring.ts'
import { overlapMs } from './certificates/rotation.ts'
import { CertificateSecret } from './certificates/shared-secret.ts'
import type { Certificates } from './certificates/source.ts'
import { port, positiveDuration, throwOptionsError, urlPath } from './option-checks.ts'
import { serveReviews } from './serve-reviews.ts'

/** The options of `WebhookServiceServer`: the Service in front of the operator, and the Secret for its certificates. */
export interface WebhookServiceServerOptions {
  /** The name of the Service in front of the operator's pods. Required. */
  readonly service: string
  /** The namespace of the Service and the Secret. Default: the namespace in which the operator runs. */
  readonly namespace?: string
  /** The port of the Service. Default: 443. */
  readonly servicePort?: number
  /** The IP address to listen on. Default: all interfaces. */
  readonly addr?: string
  /** The port to listen on: the `targetPort` of the Service. Default: 9443. */
  readonly port?: number
  /** The common prefix of all webhook paths, such as `/hooks`. Default: none. */
  readonly path?: string
  /** The name of the Secret with the certificates, which the server creates. Default: the name of the Service with the suffix `-certificates`. */
  readonly secret?: string
  /** The validity of the CA certificate. It is renewed after two thirds of this time. Default: one year, `'8760h'`. */
  readonly caLifetime?: Duration
  /** The validity of the server certificate; at least 12 hours. It is renewed after two thirds of this time. Default: 90 days, `'2160h'`. */
  readonly certLifetime?: Duration
}

const nameCheck = createCheck(
  'the name of an object, such as "my-operator"',
  (value): value is string => typeof value === 'string' && /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(value),
)
const labelCheck = createCheck(
  'a name of at most 63 lower-case letters, digits and dashes, such as "my-operator"',
  (value): value is string => typeof value === 'string' && /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(value),
)

/** The last third of this lifetime is long enough for all steps of a rotation, even if the operator is down for a few hours. */
const minLifetimeMs = 12 * overlapMs

/**
 * The webhook server for operators that run in the cluster, behind a Service. It generates its CA and its certificate, keeps them in a Secret that all
 * replicas of the operator share, and renews them without a failed request. `kopf manifests` writes the Service and the RBAC rules.
 *
 * @example
 * ```ts
 * import { Operator } from 'kopf'
 * import { WebhookServiceServer } from 'kopf/webhooks'
 *
 * const kopf = new Operator()
 * kopf.settings.admission.server = new WebhookServiceServer({ service: 'my-operator' })
 * ```
 */
export class WebhookServiceServer {
  readonly #options: WebhookServiceServerOptions

  constructor(options: WebhookServiceServerOptions) {
    this.#options = checkOptions<WebhookServiceServerOptions>(
      options,
      {
        service: labelCheck,
        namespace: labelCheck,
        servicePort: port,
        addr: text,
        port,
        path: urlPath,
        secret: nameCheck,
        caLifetime: positiveDuration,
        certLifetime: positiveDuration,
      },
      throwOptionsError,
    )
    if (this.#options.service === undefined)
      throwOptionsError('the name of the Service is missing; give it as "service"')
    const { caLifetimeMs, certLifetimeMs } = this.#lifetimes
    if (certLifetimeMs < minLifetimeMs) throwOptionsError('"certLifetime" must be at least 12 hours')
    if (caLifetimeMs < certLifetimeMs) throwOptionsError('"caLifetime" must be at least as long as "certLifetime"')
  }

  /** The Service and the Secret of this server. `kopf manifests` reads them. */
  get service(): WebhookService & { readonly secret: string } {
    const { service: name, namespace, servicePort: port = 443, port: targetPort = 9443 } = this.#options
    const { secret = `${name}-certificates` } = this.#options
    return { name, namespace, port, targetPort, secret }
  }

  /** Called by the operator: listens until the signal is aborted. Yields the Service and the CA certificates, and again whenever these change. */
  async *serve(fn: WebhookFn, context: WebhookContext): AsyncGenerator<WebhookClientConfig, void, undefined> {
    const { name, port, targetPort } = this.service
    const { addr } = this.#options
    const namespace = this.#options.namespace ?? context.namespace ?? throwNoNamespace(name)
    const path = toRoot(this.#options.path)
    const service = { namespace, name, port, ...(path === '' ? {} : { path }) }
    const certificates = () => this.#certificates(namespace, context)
    const toClientConfig = (boundPort: number) => {
      context.logger.debug(`Listening for webhooks of the Service "${namespace}/${name}" at port ${boundPort}`)
      return { service }
    }
    yield* serveReviews({ addr, port: targetPort, path, verifyMode: 'none', certificates, toClientConfig }, fn, context)
  }

  /** Yields the certificates of the Secret, and again whenever they change. */
  async *#certificates(namespace: string, context: WebhookContext): AsyncIterable<Certificates> {
    const { name: service, secret: name } = this.service
    const qualifiedName = `${service}.${namespace}`
    const hosts = [`${qualifiedName}.svc`, `${qualifiedName}.svc.cluster.local`, qualifiedName, service]
    const secret = new CertificateSecret(
      { service, namespace, name, hosts, commonName: service, ...this.#lifetimes },
      context,
    )
    try {
      yield toCertificates(await secret.open())
      for (;;) yield toCertificates(await secret.next())
    } catch (error) {
      if (!context.signal.aborted) throw error
    }
  }

  get #lifetimes(): { readonly caLifetimeMs: number; readonly certLifetimeMs: number } {
    const { caLifetime = '8760h', certLifetime = '2160h' } = this.#options
    return { caLifetimeMs: toMs(caLifetime, '"caLifetime"'), certLifetimeMs: toMs(certLifetime, '"certLifetime"') }
  }
}

function toCertificates({ authorities, serving }: Keyring): Certificates {
  const { certPem: cert, keyPem: key } = serving!
  return { tls: { cert, key }, ca: authorities.map(({ certPem }) => `${certPem.trim()}\n`).join('') }
}

function throwNoNamespace(service: string): never {
  throw new KopfError(
    'KOPF_WEBHOOK_SERVER',
    `Cannot find the namespace of the Service ${JSON.stringify(service)}: the operator does not run in a pod; give it as "namespace"`,
  )
}
