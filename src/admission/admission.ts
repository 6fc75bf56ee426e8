/**
 * Runs the webhook server in `settings.admission.server`, passes its requests to `review`, and keeps the webhook configurations up to date with its
 * address. Created by run/bootstrap.ts. create-review.ts handles the requests.
 */
import type { ClusterFlavour } from '../client/cluster-flavour.ts'
import type { DiscoveryCache } from '../client/discovery/discovery-cache.ts'
import { KopfError, WebhookError } from '../errors.ts'
import type { Registry } from '../handlers/registry.ts'
import type { Context } from '../objects/context.ts'
import type { Settings } from '../settings/settings.ts'
import type { WebhookClientConfig, WebhookFn, WebhookServerLike } from '../settings/webhook-server.ts'
import { Latch } from '../util/async/latch.ts'
import { TaskGroup } from '../util/async/task-group.ts'
import { isPlainObject } from '../util/json/json.ts'
import { describeError } from '../util/log/describe-error.ts'
import { LimitedWarnings } from '../util/log/limited-warnings.ts'
import { WebhookConfigurations } from './webhook-configurations.ts'

export interface AdmissionServiceOptions {
  readonly registry: Registry
  readonly discovery: DiscoveryCache
  /** Handles an AdmissionReview or a ConversionReview. */
  readonly review: WebhookFn
  /** The namespace in which the operator runs; undefined if it is not known. */
  readonly namespace: string | undefined
  readonly readSigns: () => Promise<ClusterFlavour>
  readonly onFailure: (error: unknown) => void
}

/** Throws if there are webhook handlers but no webhook server. Called after the startup handlers, which may set the server. */
export function checkAdmission(registry: Registry, { admission }: Settings): void {
  if (registry.webhookHandlers.length === 0 || admission.server !== null) return
  throw new KopfError(
    'KOPF_WEBHOOK_SERVER',
    'Admission handlers exist, but no admission server/tunnel is configured in `settings.admission.server`: ' +
      'set one in a startup handler, such as `new WebhookServer()` of kopf/webhooks',
  )
}

export class AdmissionService {
  readonly #context: Context
  readonly #options: AdmissionServiceOptions
  readonly #configurations: WebhookConfigurations
  readonly #tasks: TaskGroup
  /** The task of the server, which is stopped after the webhooks are removed from the configurations. */
  readonly #serving: TaskGroup
  /** Open when the configurations have their first desired content. */
  readonly #configured = new Latch()
  /** Warnings about malformed reviews, limited: any client that reaches the port can cause them. */
  readonly #malformed: LimitedWarnings
  #isServing = false
  #clientConfig: WebhookClientConfig | undefined
  /** Whether the served resources are known. Before that, all webhooks would be removed from the configurations. */
  #hasDiscovered = false

  constructor(context: Context, options: AdmissionServiceOptions) {
    this.#context = context
    this.#options = options
    this.#malformed = new LimitedWarnings(context.clock, context.logger)
    this.#tasks = new TaskGroup(options.onFailure)
    this.#serving = new TaskGroup(options.onFailure)
    this.#configurations = new WebhookConfigurations(context, { ...options, tasks: this.#tasks })
  }

  /** Whether there are webhooks to serve, or configurations to manage. */
  get isNeeded(): boolean {
    return this.#options.registry.webhookHandlers.length > 0 || this.#context.settings.admission.managed !== null
  }

  /** Whether the webhook server runs. */
  get isServing(): boolean {
    return this.#isServing
  }

  /** Resolves when the server listens and the managed configurations contain its address, or when the signal is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    if (!this.isNeeded) return
    const { server } = this.#context.settings.admission
    if (this.#options.registry.webhookHandlers.length === 0) this.#removeOldWebhooks()
    else this.#serving.run((ending) => this.#serve(server!, ending))
    const ready = this.#configured.opened.then(() => this.#configurations.ready())
    await Promise.race([ready, untilSignalAborted(signal)])
  }

  /** Removes webhooks of an earlier version of the operator, which may have been killed: they have no server any more. */
  #removeOldWebhooks(): void {
    this.#clientConfig = {}
    this.#reconfigure()
  }

  /** Called after each discovery of resources. */
  refresh(): void {
    this.#hasDiscovered = true
    this.#reconfigure()
  }

  #reconfigure(): void {
    if (this.#clientConfig === undefined || !this.#hasDiscovered) return
    this.#configurations.reconfigure(this.#clientConfig)
    this.#configured.open()
  }

  /** Removes the webhooks from the configurations. The server still responds to requests. */
  async withdraw(signal: AbortSignal): Promise<void> {
    await this.#tasks.stop()
    await this.#configurations.withdraw(signal)
  }

  /** Leaves the webhooks in the configurations: other replicas serve them. */
  async leave(): Promise<void> {
    await this.#tasks.stop()
  }

  /** Stops the server. Called after `withdraw` or `leave`, so that no request stays without a response. */
  async close(): Promise<void> {
    await this.#serving.stop()
  }

  async #serve(server: WebhookServerLike, signal: AbortSignal): Promise<void> {
    this.#isServing = true
    try {
      for await (const config of this.#listen(server, signal)) {
        if (signal.aborted) break
        this.#setConfig(config)
      }
    } catch (error) {
      throw this.#explain(error, signal)
    } finally {
      await this.#dispose(server)
      this.#isServing = false
    }
    if (!signal.aborted) {
      throw new KopfError(
        'KOPF_WEBHOOK_SERVER',
        'The webhook server has ended by itself: it must serve until its signal is aborted',
      )
    }
  }

  #listen(server: WebhookServerLike, signal: AbortSignal): AsyncIterable<WebhookClientConfig> {
    const { logger, clock, clientFor } = this.#context
    const { namespace, readSigns } = this.#options
    const context = { signal, logger, clock, client: clientFor(namespace), namespace, readSigns }
    const configs = typeof server === 'function' ? server(this.#review, context) : server.serve(this.#review, context)
    if (typeof configs?.[Symbol.asyncIterator] === 'function') return configs
    throw new KopfError(
      'KOPF_WEBHOOK_SERVER',
      'The webhook server is not an async iterable: use an async generator, such as `async function* (fn, { signal }) {}`',
    )
  }

  #explain(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) {
      // Many servers end with an error when their signal is aborted. It is logged only for debugging.
      this.#context.logger.debug(`The webhook server has ended with an error: ${describeError(error)}`)
      return error
    }
    if (error instanceof KopfError) return error
    return new KopfError('KOPF_WEBHOOK_SERVER', `The webhook server has failed: ${describeError(error)}`, {
      cause: error,
    })
  }

  async #dispose(server: WebhookServerLike): Promise<void> {
    if (typeof server === 'function') return
    try {
      await server[Symbol.asyncDispose]?.()
    } catch (error) {
      this.#context.logger.warn(`The webhook server cannot be disposed of: ${describeError(error)}`)
    }
  }

  #setConfig(config: WebhookClientConfig): void {
    if (!isClientConfig(config)) {
      throw new KopfError(
        'KOPF_WEBHOOK_SERVER',
        'The webhook server has yielded no address: it has to yield { url } or { service }, and { caBundle } if needed',
      )
    }
    this.#clientConfig = config
    this.#reconfigure()
  }

  /** Calls `review`. Malformed requests are logged as limited warnings; any other failure is one of the operator and is logged as an error. */
  readonly #review: WebhookFn = async (review, info) => {
    try {
      return await this.#options.review(review, info)
    } catch (error) {
      const message = describeError(error)
      if (info?.signal?.aborted && error === info.signal.reason) {
        this.#context.logger.debug(`The client no longer waits for the response to a review: ${message}`)
      } else if (error instanceof WebhookError) this.#malformed.warn(message)
      else this.#context.logger.error(`A review has failed: ${message}`, { error })
      throw error
    }
  }
}

function untilSignalAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function isClientConfig(config: unknown): boolean {
  const { url, service, caBundle } = (config ?? {}) as Readonly<Record<string, unknown>>
  if (caBundle !== undefined && typeof caBundle !== 'string') return false
  if (service === undefined) return typeof url === 'string'
  return url === undefined && isPlainObject(service) && typeof service['name'] === 'string'
}
