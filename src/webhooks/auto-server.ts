/**
 * Servers that find out by themselves how the cluster reaches this machine: for development with whatever cluster there is.
 * They look at the signs of the API server, and need no permissions for it.
 */
import type { WebhookClientConfig, WebhookContext, WebhookFn } from '../settings/webhook-server.ts'
import { guessHost } from './addresses.ts'
import { WebhookNgrokTunnel } from './ngrok/tunnel.ts'
import { checkOptions, pathCheck, portCheck, textCheck } from './option-checks.ts'
import { WebhookServer } from './server.ts'

/**
 * Guesses under which name a cluster of k3d, Minikube or Docker Desktop reaches this machine; for any other it is a
 * `WebhookServer`. Takes the same options.
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

/** Where to listen, whichever way the API server then comes. */
export interface WebhookAutoTunnelOptions {
  /** Where to listen. Default: all interfaces; with a tunnel, only this machine. */
  readonly addr?: string
  /** Default: any that is free. */
  readonly port?: number
  /** What the paths of all webhooks begin with. Default: nothing. */
  readonly path?: string
}

/**
 * As `WebhookAutoServer`, but where nothing tells how the cluster reaches this machine, a tunnel of ngrok is opened: it may
 * be anywhere.
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
    this.#options = checkOptions<WebhookAutoTunnelOptions>(options, {
      addr: textCheck,
      port: portCheck,
      path: pathCheck,
    })
  }

  /** Called by the operator: listens, and yields how it is reached. */
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
