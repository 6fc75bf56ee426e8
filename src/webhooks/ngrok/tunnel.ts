/**
 * `WebhookNgrokTunnel`: a webhook server on this machine that remote clusters reach through an ngrok tunnel. Runs the program `ngrok` (process.ts), and
 * restarts it when it exits.
 */
import type { WebhookClientConfig, WebhookContext, WebhookFn } from '../../settings/webhook-server.ts'
import { Backoff, exponential } from '../../util/async/backoff.ts'
import { trySleep } from '../../util/async/clock.ts'
import { checkOptions, text } from '../../util/option-checks.ts'
import { toRoot } from '../addresses.ts'
import { port, throwOptionsError, urlPath } from '../option-checks.ts'
import { WebhookServer } from '../server.ts'
import { runNgrok, toNgrokError } from './process.ts'

/** The options of `WebhookNgrokTunnel`: where to listen, and how to run `ngrok`. */
export interface WebhookNgrokTunnelOptions {
  /** The local address to listen on, where the tunnel ends. Default: `127.0.0.1`, which other machines cannot reach. */
  readonly addr?: string
  /** The local port to listen on. Default: any free port. */
  readonly port?: number
  /** The common prefix of all webhook paths. A random word protects the webhooks from strangers who find the tunnel. Default: none. */
  readonly path?: string
  /** The authtoken of your ngrok account. Default: the token in ngrok's own configuration. */
  readonly token?: string
  /** The region of the tunnel, such as `eu`. Default: ngrok chooses. */
  readonly region?: string
  /** The path of the program. Default: `ngrok`, from the `PATH`. */
  readonly binary?: string
}

/** Delays before a restart of ngrok. They start over after ngrok has opened a tunnel. */
const restartDelays = exponential({ firstMs: 1000, maxMs: 60_000 })

/**
 * A webhook server for development with a remote cluster: listens on this machine, and opens an ngrok tunnel to it. Requires the program `ngrok`,
 * version 3. Everyone who knows the address of the tunnel can send requests, so do not use it in production.
 *
 * @example
 * ```ts
 * import { Operator } from 'kopf'
 * import { WebhookNgrokTunnel } from 'kopf/webhooks'
 *
 * const kopf = new Operator()
 * kopf.settings.admission.server = new WebhookNgrokTunnel({ path: '/some-random-word' })
 * ```
 */
export class WebhookNgrokTunnel {
  readonly #options: WebhookNgrokTunnelOptions

  constructor(options: WebhookNgrokTunnelOptions = {}) {
    this.#options = checkOptions<WebhookNgrokTunnelOptions>(
      options,
      {
        addr: text,
        port,
        path: urlPath,
        token: text,
        region: text,
        binary: text,
      },
      throwOptionsError,
    )
  }

  /** Called by the operator: listens and keeps the tunnel open until the signal is aborted. Yields the address of the tunnel, and again whenever it changes. */
  async *serve(fn: WebhookFn, context: WebhookContext): AsyncGenerator<WebhookClientConfig, void, undefined> {
    const { addr = '127.0.0.1', port = 0, path = '' } = this.#options
    const local = new WebhookServer({ addr, port, path, insecure: true }).serve(fn, context)
    try {
      const { value, done } = await local.next()
      if (done) return
      for await (const origin of this.#tunnels(new URL(value.url!).origin, context)) {
        const url = `${origin}${toRoot(path)}`
        context.logger.debug(`Accessing the webhooks at ${url}`)
        yield { url }
      }
    } finally {
      await local.return()
    }
  }

  /** Yields the address of the tunnel. After a restart of ngrok, the tunnel may have another address. */
  async *#tunnels(target: string, context: WebhookContext): AsyncGenerator<string, void, undefined> {
    const { token, region, binary = 'ngrok' } = this.#options
    let lastUrl: string | undefined
    const backoff = new Backoff(restartDelays)
    for (;;) {
      let why = 'it gave no reason'
      for await (const { url, error } of runNgrok({ target, token, region, binary }, context)) {
        why = error ?? why
        if (url === undefined) continue
        backoff.reset()
        if (url !== lastUrl) yield url
        lastUrl = url
      }
      if (context.signal.aborted) return
      if (lastUrl === undefined) throw toNgrokError(`it has exited before it opened a tunnel: ${why}`)
      const delayMs = backoff.next()
      context.logger.warn(`ngrok has exited and is restarted in ${delayMs / 1000} seconds: ${why}`)
      if (!(await trySleep(context.clock, delayMs, context.signal))) return
    }
  }
}
