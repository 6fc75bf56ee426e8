/**
 * The webhook configurations and CRD conversions of the operator: computes their desired content if `settings.admission.managed` names the
 * configurations, and otherwise only logs the addresses of the webhooks. Called by admission.ts; managed-object.ts writes the objects.
 */

import type { DiscoveryCache } from '../client/discovery/discovery-cache.ts'
import type { AdmissionHandler, ConversionHandler } from '../handlers/handler.ts'
import type { Registry } from '../handlers/registry.ts'
import type { JsonObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { selectResources } from '../kube/resources/selectors.ts'
import { conversionPath } from '../kube/reviews.ts'
import type { Context } from '../objects/context.ts'
import type { WebhookClientConfig } from '../settings/webhook-server.ts'
import type { TaskGroup } from '../util/async/task-group.ts'
import type { Json } from '../util/json/json.ts'
import { describeError } from '../util/log/describe-error.ts'
import { atPath, buildWebhooks, type ConfigurationType } from './build-webhooks.ts'
import { findConversionPath } from './conversion-review.ts'
import { ManagedObject, type ManagedObjectSpec } from './managed-object.ts'

export interface WebhookConfigurationsOptions {
  readonly registry: Registry
  readonly discovery: DiscoveryCache
  readonly tasks: TaskGroup
}

/** Time for all API servers to see by their own watches that webhooks were removed. They call the webhooks until then. */
const propagationMs = 500

const clusterScoped = {
  singular: '',
  shortcuts: [],
  categories: [],
  subresources: [],
  namespaced: false,
  preferred: true,
  verbs: ['get', 'list', 'watch', 'create', 'patch'],
}

const configurations: Readonly<Record<ConfigurationType, Resource & { readonly title: string }>> = {
  validate: {
    ...clusterScoped,
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    plural: 'validatingwebhookconfigurations',
    kind: 'ValidatingWebhookConfiguration',
    title: 'validating',
  },
  mutate: {
    ...clusterScoped,
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    plural: 'mutatingwebhookconfigurations',
    kind: 'MutatingWebhookConfiguration',
    title: 'mutating',
  },
}

const crds: Resource = {
  ...clusterScoped,
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
}

/** Core resources that an operator may need for its own start: its pods, credentials and certificates. */
const ownResources = new Set(['pods', 'secrets', 'serviceaccounts', 'configmaps'])

export class WebhookConfigurations {
  readonly #context: Context
  readonly #options: WebhookConfigurationsOptions
  readonly #webhooks = new Map<ConfigurationType, ManagedObject>()
  /** By the name of the CRD. */
  readonly #conversions = new Map<string, ManagedObject>()
  /** The name of the configurations; null if the operator does not manage them. */
  readonly #managed: string | null
  #clientConfig: WebhookClientConfig = {}
  /** Log lines about webhook addresses; each is logged once. */
  readonly #loggedAddresses = new Set<string>()
  /** Only objects of the first configuration are required: a later one must not end an operator that runs. */
  #isFirst = true

  constructor(context: Context, options: WebhookConfigurationsOptions) {
    this.#context = context
    this.#options = options
    this.#managed = context.settings.admission.managed
  }

  /** Sets the desired content from the served resources and the address of the webhook server. Unchanged content is not written again. */
  reconfigure(clientConfig: WebhookClientConfig): void {
    this.#clientConfig = clientConfig
    this.#logAddresses(clientConfig)
    if (this.#managed === null) return
    this.#warnAboutOwnResources()
    for (const type of ['validate', 'mutate'] as const) this.#manageWebhooks(type, this.#managed)
    for (const [name, handlers] of this.#convertedCrds()) this.#manageConversion(name, handlers)
    this.#isFirst = false
  }

  /** Resolves when all managed objects have their desired content for the first time. */
  async ready(): Promise<void> {
    const managed = [...this.#webhooks.values(), ...this.#conversions.values()]
    await Promise.all(managed.map(({ ready }) => ready))
  }

  /**
   * Removes the webhooks from the configurations when the operator stops, except the persistent ones. Conversions stay: without a webhook, the API
   * server would only change `apiVersion`, and return and store objects of one version in the format of another.
   */
  async withdraw(signal: AbortSignal): Promise<void> {
    const finishing = Array.from(this.#webhooks, ([type, managed]) => this.#finish(type, managed, signal))
    const hasWritten = (await Promise.all(finishing)).includes(true)
    if (hasWritten) await this.#context.clock.sleep(propagationMs, signal)
  }

  async #finish(type: ConfigurationType, managed: ManagedObject, signal: AbortSignal): Promise<boolean> {
    const persistent = this.#handlers(type).filter(({ admission }) => admission.persistent)
    const { title, plural } = configurations[type]
    try {
      return await managed.finish(this.#build(persistent, this.#managed!), signal)
    } catch (error) {
      this.#context.logger.warn(
        `Cannot remove the ${title} webhooks: ${describeError(error)}; requests that they review may be rejected until the operator ` +
          `runs again; to prevent that, run: kubectl delete ${plural} ${this.#managed}`,
      )
      return false
    }
  }

  #handlers(type: ConfigurationType): readonly AdmissionHandler[] {
    return this.#options.registry.ofCategory('admission').filter((handler) => handler.type === type)
  }

  #build(handlers: readonly AdmissionHandler[], suffix: string): Json {
    const { resources } = this.#options.discovery
    return buildWebhooks({ handlers, resources, suffix, clientConfig: this.#clientConfig })
  }

  #manageWebhooks(type: ConfigurationType, managed: string): void {
    const { title, ...resource } = configurations[type]
    const webhooks =
      this.#webhooks.get(type) ??
      this.#manage({
        resource,
        name: managed,
        title: `${title} webhook ${managed}`,
        read: (object) => (object?.['webhooks'] ?? []) as Json,
        toPatch: (part) => ({ webhooks: part }),
        isCreatedByOperator: true,
      })
    this.#webhooks.set(type, webhooks)
    webhooks.setDesired(this.#build(this.#handlers(type), managed))
  }

  #manageConversion(name: string, handlers: readonly ConversionHandler[]): void {
    const managed =
      this.#conversions.get(name) ??
      this.#manage({
        resource: crds,
        name,
        title: `conversion of ${name}`,
        read: (object) => (object?.['spec'] as { conversion?: Json } | undefined)?.conversion,
        toPatch: toConversionPatch,
        isCreatedByOperator: false,
      })
    if (!this.#conversions.has(name)) this.#warnAboutMissingConversions(name, handlers)
    this.#conversions.set(name, managed)
    const webhook = {
      clientConfig: atPath(this.#clientConfig, conversionPath),
      conversionReviewVersions: ['v1', 'v1beta1'],
    }
    managed.setDesired({ strategy: 'Webhook', webhook })
  }

  #manage(spec: Omit<ManagedObjectSpec, 'session'>): ManagedObject {
    const { session, clock, random, settings, logger } = this.#context
    const { watching } = settings
    const managed = new ManagedObject({ session, clock, random, watching, logger, isRequired: this.#isFirst, ...spec })
    this.#options.tasks.run((signal) => managed.run(signal))
    return managed
  }

  #convertedCrds(): ReadonlyMap<string, readonly ConversionHandler[]> {
    const found = new Map<string, ConversionHandler[]>()
    for (const handler of this.#options.registry.ofCategory('conversion')) {
      const versions = this.#options.discovery.resources.filter((one) => handler.selector!.matchesAnyVersion(one))
      for (const name of new Set(versions.map(({ group, plural }) => `${plural}.${group}`))) {
        found.set(name, [...(found.get(name) ?? []), handler])
      }
    }
    return found
  }

  /** Warns about persistent webhooks for resources that the operator needs itself: after a stop, it could not start again. */
  #warnAboutOwnResources(): void {
    const { discovery, registry } = this.#options
    for (const { id, admission, labels, selector } of registry.ofCategory('admission')) {
      if (!admission.persistent || admission.ignoreFailures || labels !== undefined) continue
      for (const resource of selectResources(selector!, discovery.resources).candidates) {
        if (resource.group !== '' || !ownResources.has(resource.plural)) continue
        this.#context.warnOnce(
          resource,
          `webhook ${id} for own resources`,
          `Webhook '${id}' is persistent: while the operator does not run, none of these objects can be created, not even those that it needs to ` +
            'start; exclude them with "labels", or set "ignoreFailures"',
        )
      }
    }
  }

  /** Warns about versions without a conversion between them: the API server fails requests for such objects. */
  #warnAboutMissingConversions(name: string, handlers: readonly ConversionHandler[]): void {
    const versions = this.#options.discovery.resources
      .filter(({ group, plural }) => `${plural}.${group}` === name)
      .map(({ version }) => version)
    for (const from of versions) {
      for (const to of versions) {
        if (findConversionPath(handlers, from, to) !== undefined) continue
        this.#context.logger.warn(
          `Objects of ${name} cannot be converted from ${from} to ${to}: register a conversion with on.convert, directly or through other versions.`,
        )
      }
    }
  }

  /** Logs the address of each webhook once: configurations that are not managed by the operator need these addresses. */
  #logAddresses(clientConfig: WebhookClientConfig): void {
    const { logger } = this.#context
    const level = this.#managed === null ? 'info' : 'debug'
    for (const { type, id, category, selector } of this.#options.registry.webhookHandlers) {
      const { url, service } = atPath(clientConfig, category === 'admission' ? id : conversionPath)
      const { namespace, name, port, path } = (service ?? {}) as Record<string, unknown>
      const address = url ?? `service ${namespace}/${name}:${port}${path}`
      const message = `Webhook of the ${type} handler '${id}' for ${selector}: ${address}`
      if (!this.#loggedAddresses.has(message)) logger[level](message)
      this.#loggedAddresses.add(message)
    }
  }
}

/** Converts the conversion to a merge patch that removes absent fields of `clientConfig`: the API server rejects a `url` together with a `service`. */
function toConversionPatch(conversion: Json): JsonObject {
  const { strategy, webhook } = conversion as { strategy: string; webhook: { clientConfig: JsonObject } & JsonObject }
  const clientConfig = { url: null, service: null, caBundle: null, ...webhook.clientConfig }
  return { spec: { conversion: { strategy, webhook: { ...webhook, clientConfig } } } }
}
