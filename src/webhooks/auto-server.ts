/**
 * Webhook servers for development that detect how the cluster reaches this machine, from the certificate and the version of the API server. The
 * detection needs no permissions.
 */
import type { WebhookClientConfig, WebhookContext, WebhookFn } from '../settings/webhook-server.ts'
import { checkOptions, text } from '../util/option-checks.ts'
import { guessHost } from './addresses.ts'
import { WebhookNgrokTunnel } from './ngrok/tunnel.ts'
import { port, throwOptionsError, urlPath } from './option-checks.ts'
import { WebhookServer } from './server.ts'

/**
 * A `WebhookServer` for development with a local cluster: detects k3d, Minikube and Docker Desktop, and uses the name by which that cluster reaches
 * this machine. With any other cluster, it is the same as `WebhookServer`. Takes the same options.
 *
 * @example
 * ```ts
 * import { Operator } from 'kopf'
 * import { WebhookAutoServer } from 'kopf/webhooks'
 *
 * const kopf = new Operator()
 * kopf.settings.admission.server = new WebhookAutoServer()
 * ```
 */
export class WebhookAutoServer extends WebhookServer {
  protected override async findHost({ logger, readSigns }: WebhookContext): Promise<string | undefined> {
    const host = guessHost(await readSigns())
    logger.debug(
      host === undefined
        ? 'Cluster detection failed, running a simple local server'
        : `Cluster detection found the hostname: ${host}`,
    )
    return host
  }
}

/** The options of `WebhookAutoTunnel`: where to listen. */
export interface WebhookAutoTunnelOptions {
  /** The IP address or host name to listen on. Default: all interfaces, or `127.0.0.1` if a tunnel is used. */
  readonly addr?: string
  /** The port to listen on. Default: any free port. */
  readonly port?: number
  /** The common prefix of all webhook paths, such as `/hooks`. Default: none. */
  readonly path?: string
}

/**
 * A webhook server for development with any cluster: like `WebhookAutoServer` with k3d, Minikube and Docker Desktop, and like `WebhookNgrokTunnel` with
 * any other cluster, which may be remote. The tunnel requires the program `ngrok`.
 *
 * @example
 * ```ts
 * import { Operator } from 'kopf'
 * import { WebhookAutoTunnel } from 'kopf/webhooks'
 *
 * const kopf = new Operator()
 * kopf.settings.admission.server = new WebhookAutoTunnel()
 * ```
 */
export class WebhookAutoTunnel {
  readonly #options: WebhookAutoTunnelOptions

  constructor(options: WebhookAutoTunnelOptions = {}) {
    this.#options = checkOptions<WebhookAutoTunnelOptions>(
      options,
      {
        addr: text,
        port,
        path: urlPath,
      },
      throwOptionsError,
    )
  }

  /** Called by the operator: listens until the signal is aborted. Yields the address and the CA certificates, and again whenever they change. */
  async *serve(fn: WebhookFn, context: WebhookContext): AsyncGenerator<WebhookClientConfig, void, undefined> {
    const host = guessHost(await context.readSigns())
    if (host === undefined) {
      context.logger.debug('Cluster detection failed, using an ngrok tunnel')
      yield* new WebhookNgrokTunnel(this.#options).serve(fn, context)
    } else {
      context.logger.debug(`Cluster detection found the hostname: ${host}`)
      yield* new WebhookServer({ ...this.#options, host }).serve(fn, context)
    }
  }
}
