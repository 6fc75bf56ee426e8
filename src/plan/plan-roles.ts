/**
 * Plans the Roles and ClusterRoles of an operator before it runs, from its handlers, its settings and the resources of the cluster. Called by
 * `kopf manifests`. The rules per handler type are in required-rules.ts. Sends no requests.
 */

import { resolveResources, watchesCrds, whyUnsuitable } from '../cluster/resource-selection.ts'
import { toElectionOptions } from '../election/election-settings.ts'
import type { Registry } from '../handlers/registry.ts'
import { isExactNamespace, type NamespacePattern } from '../kube/namespaces.ts'
import type { RequiredRule } from '../kube/rbac-rules.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { type ResourceSelector, selectResources } from '../kube/resources/selectors.ts'
import { applyPeering, type PeeringRunOptions } from '../peering/peerings.ts'
import {
  certificateRules,
  conversionRule,
  eventRule,
  type HandledResource,
  leaseRules,
  peeringRules,
  rulesOfWork,
  stepSecretRule,
  webhookConfigurationRules,
} from '../rbac/required-rules.ts'
import type { RelatedResource } from '../reconciling/sources/owned-and-watched.ts'
import type { Settings } from '../settings/settings.ts'
import type { WebhookService } from '../settings/webhook-server.ts'
import { stepSecretName } from '../steps/step-secret.ts'

/** The options of `planRoles()`. */
export interface PlanRolesOptions extends PeeringRunOptions {
  /** The resources that the cluster serves. */
  readonly resources: readonly Resource[]
  /** The namespace in which the operator will run. */
  readonly namespace: string
  /** Additional rules, for requests that the handlers send themselves. Default: none. */
  readonly grants?: readonly RoleGrant[]
}

/** An additional rule of the operator. */
export interface RoleGrant {
  /** The rule. */
  readonly need: RequiredRule
  /** Whether the resource is namespaced: the rule is then added to the roles of the watched namespaces. */
  readonly namespaced: boolean
}

/** The rules of one role: a Role in a namespace, or a ClusterRole if the namespace is undefined. */
export interface PlannedRole {
  /** The namespace of the Role. Undefined for a ClusterRole. */
  readonly namespace: string | undefined
  /** The rules of the role. */
  readonly needs: readonly RequiredRule[]
}

/** The roles that an operator needs, and what is not known about them. */
export interface RolesPlan {
  /** The roles; the ClusterRole first. */
  readonly roles: readonly PlannedRole[]
  /** Selectors of handlers that match no resource of the cluster. The plan has no rules for them. */
  readonly unresolved: readonly string[]
  /** Selectors of handlers that match several resources. */
  readonly ambiguous: ReadonlyArray<{ readonly selector: string; readonly candidates: readonly Resource[] }>
  /** The name of the Secret with the signing keys of steps, in the namespace of the operator; undefined if none is used. */
  readonly stepSecret: string | undefined
  /** Whether selectors match resources by pattern: resources that are added to the cluster later are not in the plan. */
  readonly isOpen: boolean
}

/** The parts of an operator that its permissions follow from. */
interface PlannedOperator {
  readonly name: string | undefined
  readonly registry: Registry
  readonly settings: Settings
}

export function planRoles(operator: PlannedOperator, options: PlanRolesOptions): RolesPlan {
  const { registry } = operator
  const { resources } = options
  const selectors = [
    ...registry.watchedSelectors,
    ...registry.relatedSelectors,
    ...registry.ofCategory('conversion').map(({ selector }) => selector!),
  ]
  const selections = selectors.map((selector) => ({
    selector: String(selector),
    ...selectResources(selector, resources),
  }))
  return {
    roles: new RolesPlanner(operator, options).roles,
    unresolved: [
      ...new Set(selections.filter(({ candidates }) => candidates.length === 0).map(({ selector }) => selector)),
    ],
    stepSecret: stepSecretOf(operator),
    ambiguous: selections.filter(({ ambiguous }) => ambiguous),
    isOpen: selectors.some(({ isSpecific }) => !isSpecific),
  }
}

/** Whether a handler calls `step` is known only at run time, so one handler that could call it is enough. */
export function stepSecretOf({ name, registry, settings }: PlannedOperator): string | undefined {
  const { signing, keys, secret } = settings.steps
  const canHaveSteps = registry.handlers.some((handler) => handler.definition.hasSteps?.(handler) === true)
  if (!canHaveSteps || signing === 'off' || keys.length > 0) return undefined
  return secret ?? stepSecretName(name)
}

class RolesPlanner {
  readonly #operator: PlannedOperator
  readonly #options: PlanRolesOptions
  /** The watched namespaces if all are given by exact name; otherwise undefined for one ClusterRole. */
  readonly #scopes: readonly (string | undefined)[]
  readonly #patterns: readonly NamespacePattern[]
  readonly #rules = new Map<string | undefined, RequiredRule[]>()

  constructor(operator: PlannedOperator, options: PlanRolesOptions) {
    this.#operator = operator
    this.#options = options
    this.#patterns = options.clusterwide ? [] : (options.namespaces ?? [])
    const isExact = this.#patterns.length > 0 && this.#patterns.every(isExactNamespace)
    this.#scopes = isExact ? this.#patterns.map((name) => String(name).trim()) : [undefined]
    this.#planWork()
    this.#planPeering()
    this.#planWebhooks()
    this.#planElection()
    this.#planSteps()
    for (const { need, namespaced } of options.grants ?? []) this.#add(namespaced ? this.#scopes : [undefined], [need])
  }

  get roles(): PlannedRole[] {
    const roles = Array.from(this.#rules, ([namespace, needs]) => ({ namespace, needs }))
    return roles.toSorted((a, b) => Number(b.namespace === undefined) - Number(a.namespace === undefined))
  }

  #add(scopes: readonly (string | undefined)[], needs: readonly RequiredRule[]): void {
    if (needs.length === 0) return
    for (const scope of scopes) this.#rules.set(scope, [...(this.#rules.get(scope) ?? []), ...needs])
  }

  #planWork(): void {
    const { registry, settings } = this.#operator
    const { resources, namespace } = this.#options
    const served = resolveResources(registry, resources).resources
    const handled: HandledResource[] = served
      .filter((resource) => whyUnsuitable(registry, resource) === undefined)
      .map((resource) => ({ resource, handlers: registry.handlersFor(resource) }))
    const isPosting = settings.posting.enabled
    const { clusterRules, namespaceRules } = rulesOfWork({
      handled,
      related: this.#related(),
      watchesCrds: watchesCrds(registry, resources, this.#settings),
      watchesNamespaces: !settings.scanning.disabled && this.#patterns.some((pattern) => !isExactNamespace(pattern)),
      isPosting,
    })
    this.#add(this.#scopes, namespaceRules)
    this.#add([undefined], clusterRules)
    if (!isPosting) return
    // Events about cluster-scoped objects are posted in the namespace of the operator.
    if (handled.some(({ resource }) => !resource.namespaced))
      this.#add(this.#isClusterwide ? [undefined] : [namespace], [eventRule])
    if (registry.ofCategory('admission').length > 0) this.#add(this.#scopes, [eventRule])
  }

  *#related(): Iterable<RelatedResource> {
    const find = (selector: ResourceSelector) => selectResources(selector, this.#options.resources).selected
    for (const { reconciling } of this.#operator.registry.ofCategory('reconcile')) {
      for (const selector of reconciling.owns) for (const resource of find(selector)) yield { resource, isOwned: true }
      for (const { selector } of reconciling.watches) {
        for (const resource of find(selector)) yield { resource, isOwned: false }
      }
    }
  }

  #planPeering(): void {
    const { name, standalone, clusterwide } = this.#settings.peering
    if (!standalone) this.#add(clusterwide ? [undefined] : this.#scopes, peeringRules(name, clusterwide))
  }

  #planWebhooks(): void {
    const { registry, settings } = this.#operator
    const { managed, server } = settings.admission
    const has = (type: string) => registry.webhookHandlers.some((handler) => handler.type === type)
    if (managed !== null) {
      this.#add([undefined], webhookConfigurationRules(managed, { validate: has('validate'), mutate: has('mutate') }))
      const converted = this.#convertedCrds()
      if (converted.length > 0) this.#add([undefined], [conversionRule(converted)])
    }
    const { service } = (server ?? {}) as { readonly service?: WebhookService }
    if (registry.webhookHandlers.length === 0 || service?.secret === undefined) return
    this.#add([service.namespace ?? this.#options.namespace], certificateRules(service.secret))
  }

  #convertedCrds(): string[] {
    const names = this.#operator.registry
      .ofCategory('conversion')
      .flatMap(({ selector }) => this.#options.resources.filter((one) => selector!.matchesAnyVersion(one)))
      .map(({ plural, group }) => `${plural}.${group}`)
    return [...new Set(names)]
  }

  #planElection(): void {
    const { settings, name } = this.#operator
    if (!settings.election.enabled) return
    const { key } = toElectionOptions(settings.election, { name, namespace: this.#options.namespace })
    this.#add([key.namespace], leaseRules(key.name))
  }

  #planSteps(): void {
    const secret = stepSecretOf(this.#operator)
    if (secret !== undefined) this.#add([this.#options.namespace], [stepSecretRule(secret)])
  }

  get #isClusterwide(): boolean {
    return this.#scopes.includes(undefined)
  }

  /** The settings with which the operator will run, given these options. */
  get #settings(): Pick<PlannedOperator['settings'], 'scanning' | 'peering'> {
    const { scanning, peering } = this.#operator.settings
    const own = { ...peering }
    applyPeering(own, this.#options)
    return { scanning, peering: own }
  }
}
