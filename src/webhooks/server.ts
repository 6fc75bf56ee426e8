/**
 * The webhook server that listens on this machine, and those of local clusters, which differ in the name they are reached
 * by. Users make them for `settings.admission.server`; the operator calls `serve`. Made of serve-reviews.ts and renewal.ts.
 */

import { KopfError } from '../errors.ts'
import type { WebhookClientConfig, WebhookContext, WebhookFn } from '../settings/webhook-server.ts'
import { replaceFile } from '../util/process/replace-file.ts'
import { dockerDesktopHost, k3dHost, minikubeHost, toAccessibleAddr, toRoot, toUrl } from './addresses.ts'
import { readCertificateTexts } from './certificates/files.ts'
import { renewCertificates } from './certificates/renewal.ts'
import { type Certificates, type CertificatesContext, constantCertificates } from './certificates/source.ts'
import { serveReviews } from './serve-reviews.ts'
import { checkServerOptions, verifyModeOf, type WebhookServerOptions } from './server-options.ts'

/**
 * Listens for requests of API servers over HTTPS, with a certificate from files, or of an authority of its own.
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
  readonly #options: WebhookServerOptions

  constructor(options: WebhookServerOptions = {}) {
    this.#options = checkServerOptions(options)
  }

  /** Called by the operator: listens, and yields how it is reached, anew when the certificate is another one. */
  async *serve(fn: WebhookFn, context: WebhookContext): AsyncGenerator<WebhookClientConfig, void, undefined> {
    const { addr, port, insecure = false } = this.#options
    const path = toRoot(this.#options.path)
    const own = toAccessibleAddr(addr)
    const host = this.#options.host ?? (await this.findHost(context)) ?? own
    const names = [host, own, ...(this.#options.extraSans ?? [])]
    const scheme = insecure ? 'http' : 'https'
    yield* serveReviews(
      {
        addr,
        port,
        path,
        verifyMode: verifyModeOf(this.#options),
        certificates: (part) => this.#certificates(names, part),
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

  /** By which name the cluster reaches this machine, where `host` does not say it and it is not that of `addr`. */
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

/** For clusters of k3d, in which this machine is known as `host.k3d.internal`. */
export class WebhookK3dServer extends WebhookServer {
  protected override async findHost(): Promise<string> {
    return k3dHost
  }
}

/** For clusters of Minikube, in which this machine is known as `host.minikube.internal`. */
export class WebhookMinikubeServer extends WebhookServer {
  protected override async findHost(): Promise<string> {
    return minikubeHost
  }
}

/** For the cluster of Docker Desktop, in which this machine is known as `host.docker.internal`. */
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
