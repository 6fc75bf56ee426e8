/**
 * The other door: what the API server asks of us, by way of the server in the settings. Runs that server, has what comes by it
 * answered, and keeps the cluster told where it is reached. Made by run.ts; the answers themselves are of features/admission.
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
  /** Answers a review, whichever it is. */
  readonly review: WebhookFn
  readonly namespace: string | undefined
  readonly readSigns: () => Promise<ClusterFlavour>
  readonly onFailure: (error: unknown) => void
}

/** After the start-up handlers: they may have set the server. */
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
  /** The server ends after the cluster was told not to ask any more. */
  readonly #serving: TaskGroup
  readonly #reached = new Latch()
  /** Refused reviews: anyone who reaches the port can cause them. */
  readonly #refusals: LimitedWarnings
  #isServing = false
  #clientConfig: WebhookClientConfig | undefined
  /** Before it is known what the cluster serves, all that is there would be taken back. */
  #hasLooked = false

  constructor(context: Context, options: AdmissionServiceOptions) {
    this.#context = context
    this.#options = options
    this.#refusals = new LimitedWarnings(context.clock, context.logger)
    this.#tasks = new TaskGroup(options.onFailure)
    this.#serving = new TaskGroup(options.onFailure)
    this.#configurations = new WebhookConfigurations(context, { ...options, tasks: this.#tasks })
  }

  /** Whether anybody is to be told of us: where nobody is, there is nothing to wait for. */
  get isNeeded(): boolean {
    return this.#options.registry.webhookHandlers.length > 0 || this.#context.settings.admission.managed !== null
  }

  /** Whether the server has begun and has not come to its end. */
  get isServing(): boolean {
    return this.#isServing
  }

  /** Resolves when the server listens and the cluster knows of it, as far as that is for us to say. */
  async start(signal: AbortSignal): Promise<void> {
    if (!this.isNeeded) return
    const { server } = this.#context.settings.admission
    if (this.#options.registry.webhookHandlers.length === 0) this.#forgetOthers()
    else this.#serving.run((ending) => this.#serve(server!, ending))
    const ready = this.#reached.opened.then(() => this.#configurations.ready())
    await Promise.race([ready, aborted(signal)])
  }

  /** An earlier version of the operator may have had webhooks, and may have been killed: nobody answers them any more. */
  #forgetOthers(): void {
    this.#clientConfig = {}
    this.#reconfigure()
  }

  /** What the cluster serves has become known, or may have changed. */
  refresh(): void {
    this.#hasLooked = true
    this.#reconfigure()
  }

  #reconfigure(): void {
    if (this.#clientConfig === undefined || !this.#hasLooked) return
    this.#configurations.reconfigure(this.#clientConfig)
    this.#reached.open()
  }

  /** The cluster is told not to ask any more; whoever asks meanwhile is answered. */
  async withdraw(signal: AbortSignal): Promise<void> {
    await this.#tasks.stop()
    await this.#configurations.withdraw(signal)
  }

  /** Where others answer: the cluster goes on asking. */
  async leave(): Promise<void> {
    await this.#tasks.stop()
  }

  /** After that: nobody is left without an answer. */
  async close(): Promise<void> {
    await this.#serving.stop()
  }

  async #serve(server: WebhookServerLike, signal: AbortSignal): Promise<void> {
    this.#isServing = true
    try {
      for await (const config of this.#listen(server, signal)) {
        if (signal.aborted) break
        this.#takeConfig(config)
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
    const { logger, clock, clientFor: clientIn } = this.#context
    const { namespace, readSigns } = this.#options
    const context = { signal, logger, clock, client: clientIn(namespace), namespace, readSigns }
    const configs = typeof server === 'function' ? server(this.#answer, context) : server.serve(this.#answer, context)
    if (typeof configs?.[Symbol.asyncIterator] === 'function') return configs
    throw new KopfError(
      'KOPF_WEBHOOK_SERVER',
      'The webhook server yields nothing: it has to be an async generator, such as `async function* (fn, { signal }) {}`',
    )
  }

  #explain(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) {
      // Many end so when they are told to. What they say of it may still be of use to somebody.
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

  #takeConfig(config: WebhookClientConfig): void {
    if (!isReachable(config)) {
      throw new KopfError(
        'KOPF_WEBHOOK_SERVER',
        'The webhook server does not say where it is reached: it has to yield { url } or { service }, with { caBundle } where needed',
      )
    }
    this.#clientConfig = config
    this.#reconfigure()
  }

  /** Bad requests are the business of who made them; anything else is ours, and must be found in the log. */
  readonly #answer: WebhookFn = async (review, info) => {
    try {
      return await this.#options.review(review, info)
    } catch (error) {
      const words = describeError(error)
      if (info?.signal?.aborted && error === info.signal.reason) {
        this.#context.logger.debug(`A review is not waited for any more: ${words}`)
      } else if (error instanceof WebhookError) this.#refusals.warn(words)
      else this.#context.logger.error(`A review has failed: ${words}`, { error })
      throw error
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function isReachable(config: unknown): boolean {
  const { url, service, caBundle } = (config ?? {}) as Readonly<Record<string, unknown>>
  if (caBundle !== undefined && typeof caBundle !== 'string') return false
  if (service === undefined) return typeof url === 'string'
  return url === undefined && isPlainObject(service) && typeof service['name'] === 'string'
}
