/**
 * The webhook server of an operator that runs in the cluster, behind a Service. Users make it for
 * `settings.admission.server`. Made of serve-reviews.ts, and of the certificates in a Secret (shared-secret.ts).
 */

import { KopfError } from '../errors.ts'
import type { WebhookClientConfig, WebhookContext, WebhookFn, WebhookService } from '../settings/webhook-server.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import { toRoot } from './addresses.ts'
import type { Keyring } from './certificates/keyring.ts'
import { overlapMs } from './certificates/rotation.ts'
import { CertificateSecret } from './certificates/shared-secret.ts'
import type { Certificates } from './certificates/source.ts'
import { checkOptions, durationCheck, pathCheck, portCheck, textCheck, throwOptionsError } from './option-checks.ts'
import { serveReviews } from './serve-reviews.ts'

/** Which Service is in front of the operator, and where its certificates are kept. */
export interface WebhookServiceServerOptions {
  /** The name of the Service in front of the operator's pods. */
  readonly service: string
  /** Where the Service and the Secret are. Default: where the operator itself runs. */
  readonly namespace?: string
  /** The port of the Service. Default: 443. */
  readonly servicePort?: number
  /** The address to listen on. Default: all interfaces. */
  readonly addr?: string
  /** The port to listen on: the `targetPort` of the Service. Default: 9443. */
  readonly port?: number
  /** What the paths of all webhooks begin with, such as `/hooks`. Default: nothing. */
  readonly path?: string
  /** The name of the Secret that the certificates are kept in. Default: that of the Service and `-certificates`. */
  readonly secret?: string
  /** How long an authority is valid; after two thirds of it comes a new one. Default: a year, `'8760h'`. */
  readonly caLifetime?: Duration
  /** How long a certificate is valid; after two thirds of it comes a new one. Default: 90 days, `'2160h'`. */
  readonly certLifetime?: Duration
}

const nameCheck = {
  expected: 'the name of an object, such as "my-operator"',
  isValid: (value: unknown) => typeof value === 'string' && /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(value),
}
const labelCheck = {
  expected: 'a name of at most 63 lower-case letters, digits and dashes, such as "my-operator"',
  isValid: (value: unknown) => typeof value === 'string' && /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(value),
}

/** In the last third of its life there is time for all steps of a rotation, and for a few hours without an operator. */
const minLifetimeMs = 12 * overlapMs

/**
 * Listens behind a Service, with certificates of an authority of its own. They are kept in a Secret that all replicas of the
 * operator share, and renewed in time without a request being lost.
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
    this.#options = checkOptions<WebhookServiceServerOptions>(options, {
      service: labelCheck,
      namespace: labelCheck,
      servicePort: portCheck,
      addr: textCheck,
      port: portCheck,
      path: pathCheck,
      secret: nameCheck,
      caLifetime: durationCheck,
      certLifetime: durationCheck,
    })
    if (this.#options.service === undefined)
      throwOptionsError('the name of the Service is missing; give it as "service"')
    const { caLifetimeMs, certLifetimeMs } = this.#lifetimes
    if (certLifetimeMs < minLifetimeMs) throwOptionsError('"certLifetime" is to be 12 hours at least')
    if (caLifetimeMs < certLifetimeMs) throwOptionsError('"caLifetime" is to be as long as "certLifetime" at least')
  }

  /** What has to be there in front of it, for `kopf manifests`. */
  get service(): WebhookService & { readonly secret: string } {
    const { service: name, namespace, servicePort: port = 443, port: targetPort = 9443 } = this.#options
    const { secret = `${name}-certificates` } = this.#options
    return { name, namespace, port, targetPort, secret }
  }

  /** Called by the operator: listens, and yields how it is reached, anew when the authority is another one. */
  async *serve(fn: WebhookFn, context: WebhookContext): AsyncGenerator<WebhookClientConfig, void, undefined> {
    const { name, port, targetPort: listened } = this.service
    const { addr } = this.#options
    const namespace = this.#options.namespace ?? context.namespace ?? throwNoNamespace(name)
    const path = toRoot(this.#options.path)
    const service = { namespace, name, port, ...(path === '' ? {} : { path }) }
    const certificates = () => this.#certificates(namespace, context)
    const toClientConfig = (actual: number) => {
      context.logger.debug(`Listening for webhooks of the Service "${namespace}/${name}" at port ${actual}`)
      return { service }
    }
    yield* serveReviews({ addr, port: listened, path, verifyMode: 'none', certificates, toClientConfig }, fn, context)
  }

  /** Those of the Secret, and whenever there are others. */
  async *#certificates(namespace: string, context: WebhookContext): AsyncIterable<Certificates> {
    const { name: service, secret: name } = this.service
    const qualified = `${service}.${namespace}`
    const hosts = [`${qualified}.svc`, `${qualified}.svc.cluster.local`, qualified, service]
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
    `Cannot tell in which namespace the Service ${JSON.stringify(service)} is: the operator does not run in a pod; give it as "namespace"`,
  )
}
