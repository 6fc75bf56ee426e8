/**
 * `WebhookServer`, and its variants for local clusters, which differ only in the default of `host`. Users create them for
 * `settings.admission.server`; the operator calls `serve`. The listener is in serve-reviews.ts, the certificates are in certificates/renewal.ts.
 */

import { KopfError } from '../errors.ts'
import type { WebhookClientConfig, WebhookContext, WebhookFn } from '../settings/webhook-server.ts'
import { replaceFile } from '../util/process/replace-file.ts'
import { dockerDesktopHost, k3dHost, minikubeHost, toAccessibleAddr, toRoot, toUrl } from './addresses.ts'
import { readCertificateTexts } from './certificates/files.ts'
import { renewCertificates } from './certificates/renewal.ts'
import { type Certificates, type CertificatesContext, constantCertificates } from './certificates/source.ts'
import { serveReviews } from './serve-reviews.ts'
import {
  type CheckedServerOptions,
  checkServerOptions,
  verifyModeOf,
  type WebhookServerOptions,
} from './server-options.ts'

/**
 * A webhook server with an address and certificates of your choice. It listens on HTTPS, with a certificate from files, or with a generated one of its
 * own CA. Certificates are renewed without a restart.
 *
 * Use it if the API server reaches your process directly. In a cluster, use `WebhookServiceServer`; for development, `WebhookAutoServer`.
 *
 * @example
 * ```ts
 * import { Operator } from 'kopf'
 * import { WebhookServer } from 'kopf/webhooks'
 *
 * const kopf = new Operator()
 * kopf.settings.admission.server = new WebhookServer({ port: 9443 })
 * ```
 */
export class WebhookServer {
  readonly #options: CheckedServerOptions

  constructor(options: WebhookServerOptions = {}) {
    this.#options = checkServerOptions(options)
  }

  /** Called by the operator: listens until the signal is aborted. Yields the address and the CA certificates, and again whenever they change. */
  async *serve(fn: WebhookFn, context: WebhookContext): AsyncGenerator<WebhookClientConfig, void, undefined> {
    const { addr, port, insecure = false } = this.#options
    const path = toRoot(this.#options.path)
    const localAddr = toAccessibleAddr(addr)
    const host = this.#options.host ?? (await this.findHost(context)) ?? localAddr
    const names = [host, localAddr, ...(this.#options.extraSans ?? [])]
    const scheme = insecure ? 'http' : 'https'
    yield* serveReviews(
      {
        addr,
        port,
        path,
        verifyMode: verifyModeOf(this.#options),
        certificates: (certificatesContext) => this.#certificates(names, certificatesContext),
        toClientConfig: (actual) => {
          context.logger.debug(`Listening for webhooks at ${toUrl({ scheme, host: addr ?? '*', port: actual, path })}`)
          const url = toUrl({ scheme, host, port: actual, path })
          context.logger.debug(`Accessing the webhooks at ${url}`)
          return { url }
        },
      },
      fn,
      context,
    )
  }

  /** The default of `host`: the name by which the cluster reaches this machine. Undefined: `addr`. Override it in your own subclass. */
  protected async findHost(_context: WebhookContext): Promise<string | undefined> {
    return undefined
  }

  async *#certificates(names: readonly string[], context: CertificatesContext): AsyncIterable<Certificates> {
    const source =
      this.#options.insecure === true
        ? constantCertificates({ tls: undefined, ca: (await readCertificateTexts(this.#options)).ca }, context)
        : renewCertificates(this.#options, names, context)
    let dumped: string | undefined
    for await (const certificates of source) {
      if (certificates.ca !== undefined && certificates.ca !== dumped)
        await writeCaDump(this.#options.cadump, certificates.ca)
      dumped = certificates.ca
      yield certificates
    }
  }
}

/**
 * A `WebhookServer` for development with a k3d cluster, which reaches this machine as `host.k3d.internal`. Takes the same options.
 *
 * @example
 * ```ts
 * kopf.settings.admission.server = new WebhookK3dServer()
 * ```
 */
export class WebhookK3dServer extends WebhookServer {
  protected override async findHost(): Promise<string> {
    return k3dHost
  }
}

/**
 * A `WebhookServer` for development with a Minikube cluster, which reaches this machine as `host.minikube.internal`. Takes the same options.
 *
 * @example
 * ```ts
 * kopf.settings.admission.server = new WebhookMinikubeServer()
 * ```
 */
export class WebhookMinikubeServer extends WebhookServer {
  protected override async findHost(): Promise<string> {
    return minikubeHost
  }
}

/**
 * A `WebhookServer` for development with the cluster of Docker Desktop, which reaches this machine as `host.docker.internal`. Takes the same options.
 *
 * @example
 * ```ts
 * kopf.settings.admission.server = new WebhookDockerDesktopServer()
 * ```
 */
export class WebhookDockerDesktopServer extends WebhookServer {
  protected override async findHost(): Promise<string> {
    return dockerDesktopHost
  }
}

async function writeCaDump(path: string | undefined, ca: string): Promise<void> {
  if (path === undefined) return
  await replaceFile(path, { text: ca, mode: 0o644 }).catch((cause: NodeJS.ErrnoException) => {
    const why = `the file "${path}" of "cadump" cannot be written (${cause.code ?? cause.message})`
    throw new KopfError('KOPF_WEBHOOK_SERVER', `Cannot serve webhooks: ${why}; choose another one`, { cause })
  })
}
