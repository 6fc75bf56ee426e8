/**
 * A server on this machine that clusters elsewhere reach through a tunnel of ngrok: for development. The program is run for
 * as long as the operator is, and started again when it ends.
 */
import type { WebhookClientConfig, WebhookContext, WebhookFn } from '../../settings/webhook-server.ts'
import { Backoff, exponential } from '../../util/async/backoff.ts'
import { trySleep } from '../../util/async/clock.ts'
import { toRoot } from '../addresses.ts'
import { checkOptions, pathCheck, portCheck, textCheck } from '../option-checks.ts'
import { WebhookServer } from '../server.ts'
import { runNgrok, toNgrokError } from './process.ts'

/** How `ngrok` is run, and which tunnel it opens. */
export interface WebhookNgrokTunnelOptions {
  /** Where the tunnel ends on this machine. Default: `127.0.0.1`, which is reached from nowhere else. */
  readonly addr?: string
  /** Default: any that is free. */
  readonly port?: number
  /** What the paths of all webhooks begin with, such as a random word that nobody guesses. Default: nothing. */
  readonly path?: string
  /** The authtoken of an account. Default: the one that ngrok is configured with. */
  readonly token?: string
  /** Where the tunnel begins, such as `eu`. Default: ngrok chooses. */
  readonly region?: string
  /** The path of the program. Default: `ngrok`, found as all programs are. */
  readonly binary?: string
}

/** Delays before ngrok is started again; they start over once it has opened a tunnel. */
const restartDelays = exponential({ firstMs: 1000, maxMs: 60_000 })

/**
 * Reached through a tunnel of ngrok. Anybody who knows its address can send requests to it: only for development.
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
    this.#options = checkOptions<WebhookNgrokTunnelOptions>(options, {
      addr: textCheck,
      port: portCheck,
      path: pathCheck,
      token: textCheck,
      region: textCheck,
      binary: textCheck,
    })
  }

  /** Called by the operator: listens, opens the tunnel, and yields how it is reached. */
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

  /** The address of the tunnel, and each further one: it may come back under another. */
  async *#tunnels(target: string, context: WebhookContext): AsyncGenerator<string, void, undefined> {
    const { token, region, binary = 'ngrok' } = this.#options
    let lastUrl: string | undefined
    const backoff = new Backoff(restartDelays)
    for (;;) {
      let why = 'it does not say why'
      for await (const { url, error } of runNgrok({ target, token, region, binary }, context)) {
        why = error ?? why
        if (url === undefined) continue
        backoff.reset()
        if (url !== lastUrl) yield url
        lastUrl = url
      }
      if (context.signal.aborted) return
      if (lastUrl === undefined) throw toNgrokError(`it has ended before there was a tunnel: ${why}`)
      const delayMs = backoff.next()
      context.logger.warn(`ngrok has ended and is started again in ${delayMs / 1000} seconds: ${why}`)
      if (!(await trySleep(context.clock, delayMs, context.signal))) return
    }
  }
}
