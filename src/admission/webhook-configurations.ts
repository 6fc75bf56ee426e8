/**
 * What the cluster is told of our webhooks, where `settings.admission.managed` names the configurations: which objects are kept,
 * and what should be in them. How they are kept is for admission/managed-object.ts.
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
import { atPath, buildWebhooks, type ConfigurationKind } from './build-webhooks.ts'
import { findConversionPath } from './conversion-review.ts'
import { ManagedObject, type ManagedObjectSpec } from './managed-object.ts'

export interface WebhookConfigurationsOptions {
  readonly registry: Registry
  readonly discovery: DiscoveryCache
  readonly tasks: TaskGroup
}

/** Each API server learns of it by a watch of its own, and may ask until then. */
const learningMs = 500

const clusterScoped = {
  singular: '',
  shortcuts: [],
  categories: [],
  subresources: [],
  namespaced: false,
  preferred: true,
  verbs: ['get', 'list', 'watch', 'create', 'patch'],
}

const configurations: Readonly<Record<ConfigurationKind, Resource & { readonly title: string }>> = {
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

const definitions: Resource = {
  ...clusterScoped,
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
}

/** Pods run it, and secrets may hold its credentials and certificates. */
const ownParts = new Set(['pods', 'secrets', 'serviceaccounts', 'configmaps'])

export class WebhookConfigurations {
  readonly #context: Context
  readonly #options: WebhookConfigurationsOptions
  readonly #webhooks = new Map<ConfigurationKind, ManagedObject>()
  /** By the name of the definition. */
  readonly #conversions = new Map<string, ManagedObject>()
  /** The name of the configurations; null where others manage them. */
  readonly #managed: string | null
  #clientConfig: WebhookClientConfig = {}
  readonly #told = new Set<string>()
  /** What comes up later is no reason to end an operator that runs. */
  #isFirst = true

  constructor(context: Context, options: WebhookConfigurationsOptions) {
    this.#context = context
    this.#options = options
    this.#managed = context.settings.admission.managed
  }

  /** From what the cluster serves now, and where we are reached now; nothing is written that is so already. */
  reconfigure(clientConfig: WebhookClientConfig): void {
    this.#clientConfig = clientConfig
    this.#tellRoutes(clientConfig)
    if (this.#managed === null) return
    this.#warnOfTraps()
    for (const kind of ['validate', 'mutate'] as const) this.#keepWebhooks(kind, this.#managed)
    for (const [name, handlers] of this.#convertedCrds()) this.#keepConversion(name, handlers)
    this.#isFirst = false
  }

  /** All that could be told is told. */
  async ready(): Promise<void> {
    const managed = [...this.#webhooks.values(), ...this.#conversions.values()]
    await Promise.all(managed.map(({ ready }) => ready))
  }

  /**
   * Only the persistent webhooks stay. So do conversions: without them, the API server would hand out and store objects of one
   * version in the form of another.
   */
  async withdraw(signal: AbortSignal): Promise<void> {
    const finishing = Array.from(this.#webhooks, ([kind, managed]) => this.#finish(kind, managed, signal))
    const hasTold = (await Promise.all(finishing)).includes(true)
    if (hasTold) await this.#context.clock.sleep(learningMs, signal)
  }

  async #finish(kind: ConfigurationKind, managed: ManagedObject, signal: AbortSignal): Promise<boolean> {
    const left = this.#handlers(kind).filter(({ admission }) => admission.persistent)
    const { title, plural } = configurations[kind]
    try {
      return await managed.finish(this.#build(left, this.#managed!), signal)
    } catch (error) {
      this.#context.logger.warn(
        `Cannot take back the ${title} webhooks: ${describeError(error)}; what they review may be refused until the operator ` +
          `runs again, or until somebody does: kubectl delete ${plural} ${this.#managed}`,
      )
      return false
    }
  }

  #handlers(kind: ConfigurationKind): readonly AdmissionHandler[] {
    return this.#options.registry.ofCategory('admission').filter((handler) => handler.type === kind)
  }

  #build(handlers: readonly AdmissionHandler[], suffix: string): Json {
    const { resources } = this.#options.discovery
    return buildWebhooks({ handlers, resources, suffix, clientConfig: this.#clientConfig })
  }

  #keepWebhooks(kind: ConfigurationKind, managed: string): void {
    const { title, ...resource } = configurations[kind]
    const controller =
      this.#webhooks.get(kind) ??
      this.#keep({
        resource,
        name: managed,
        title: `${title} webhook ${managed}`,
        read: (object) => (object?.['webhooks'] ?? []) as Json,
        toPatch: (webhooks) => ({ webhooks }),
        isOurs: true,
      })
    this.#webhooks.set(kind, controller)
    controller.want(this.#build(this.#handlers(kind), managed))
  }

  #keepConversion(name: string, handlers: readonly ConversionHandler[]): void {
    const managed =
      this.#conversions.get(name) ??
      this.#keep({
        resource: definitions,
        name,
        title: `conversion of ${name}`,
        read: (object) => (object?.['spec'] as { conversion?: Json } | undefined)?.conversion,
        toPatch: toConversionPatch,
        isOurs: false,
      })
    if (!this.#conversions.has(name)) this.#warnOfGaps(name, handlers)
    this.#conversions.set(name, managed)
    const webhook = {
      clientConfig: atPath(this.#clientConfig, conversionPath),
      conversionReviewVersions: ['v1', 'v1beta1'],
    }
    managed.want({ strategy: 'Webhook', webhook })
  }

  #keep(kept: Omit<ManagedObjectSpec, 'session'>): ManagedObject {
    const { session, clock, random, settings, logger } = this.#context
    const { watching } = settings
    const managed = new ManagedObject({ session, clock, random, watching, logger, isVital: this.#isFirst, ...kept })
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

  /** What an operator itself is made of must not wait for it: nobody could start it again. */
  #warnOfTraps(): void {
    const { discovery, registry } = this.#options
    for (const { id, admission, labels, selector } of registry.ofCategory('admission')) {
      if (!admission.persistent || admission.ignoreFailures || labels !== undefined) continue
      for (const resource of selectResources(selector!, discovery.resources).candidates) {
        if (resource.group !== '' || !ownParts.has(resource.plural)) continue
        this.#context.warnOnce(
          resource,
          `trap of ${id}`,
          `Webhook '${id}' is persistent: without the operator none of these can be created, those that it needs itself included; ` +
            'leave them out by "labels", or set "ignoreFailures"',
        )
      }
    }
  }

  /** What cannot be converted cannot be read in that version: better known now than when somebody asks for it. */
  #warnOfGaps(name: string, handlers: readonly ConversionHandler[]): void {
    const versions = this.#options.discovery.resources
      .filter(({ group, plural }) => `${plural}.${group}` === name)
      .map(({ version }) => version)
    for (const from of versions) {
      for (const to of versions) {
        if (findConversionPath(handlers, from, to) !== undefined) continue
        this.#context.logger.warn(
          `Objects of ${name} cannot be converted from ${from} to ${to}: register it with on.convert, or a way by other versions.`,
        )
      }
    }
  }

  /** Whoever manages the configurations by hand has to know them; once is enough. */
  #tellRoutes(clientConfig: WebhookClientConfig): void {
    const { logger } = this.#context
    const level = this.#managed === null ? 'info' : 'debug'
    for (const { type: kind, id, category, selector } of this.#options.registry.webhookHandlers) {
      const { url, service } = atPath(clientConfig, category === 'admission' ? id : conversionPath)
      const { namespace, name, port, path } = (service ?? {}) as Record<string, unknown>
      const where = url ?? `service ${namespace}/${name}:${port}${path}`
      const message = `Webhook of the ${kind} handler '${id}' for ${selector}: ${where}`
      if (!this.#told.has(message)) logger[level](message)
      this.#told.add(message)
    }
  }
}

/** What is not in it must not stay from what was there before: an address and a service together would be refused. */
function toConversionPatch(conversion: Json): JsonObject {
  const { strategy, webhook } = conversion as { strategy: string; webhook: { clientConfig: JsonObject } & JsonObject }
  const clientConfig = { url: null, service: null, caBundle: null, ...webhook.clientConfig }
  return { spec: { conversion: { strategy, webhook: { ...webhook, clientConfig } } } }
}
