/**
 * What an operator will have to be allowed, worked out before it runs: from its handlers and settings, and from what a cluster
 * serves. For whoever grants it: `kopf manifests`. What each thing takes is said in needs.ts; nothing is asked of any cluster.
 */
import { kindOf } from '../core/handling/kinds.ts'
import type { WebhookService } from '../core/webhook-server.ts'
import type { Need } from '../kube/access-rules.ts'
import { isExactNamespace, type NamespacePattern } from '../kube/namespaces.ts'
import type { Resource } from '../kube/resources.ts'
import { type ResourceSelector, selectResources } from '../kube/selectors.ts'
import { toElection } from './election.ts'
import {
  certificatesNeeds,
  configurationsNeeds,
  conversionNeed,
  eventsNeed,
  type Handled,
  leaseNeeds,
  needsOfWork,
  peeringNeeds,
  type Related,
  stepSecretNeed,
} from './needs.ts'
import { applyPeering } from './peerings.ts'
import { observesDefinitions, resolveResources, whyUnsuitable } from './resources.ts'
import type { Blueprint, RunOptions } from './run-options.ts'
import { stepSecretName } from './step-secret.ts'

export interface PlanOptions
  extends Pick<RunOptions, 'namespaces' | 'clusterwide' | 'peering' | 'priority' | 'standalone'> {
  /** What the cluster serves. */
  readonly resources: readonly Resource[]
  /** Where the operator itself will run. */
  readonly namespace: string
  /** What its handlers do by themselves, which nobody else can know. */
  readonly grants?: readonly Grant[]
}

export interface Grant {
  readonly need: Need
  /** Whether it is about objects in namespaces: then it is for those that are served. */
  readonly namespaced: boolean
}

/** What has to be allowed in one namespace; undefined for the whole cluster. */
export interface PlannedRole {
  readonly namespace: string | undefined
  readonly needs: readonly Need[]
}

export interface NeedsPlan {
  /** That of the whole cluster first. */
  readonly roles: readonly PlannedRole[]
  /** What handlers are for, in their words, where nothing is served by that name: nothing is known of what it takes. */
  readonly unresolved: readonly string[]
  /** Where several are. */
  readonly ambiguous: ReadonlyArray<{ readonly selector: string; readonly candidates: readonly Resource[] }>
  /** The Secret, in the namespace of the operator, for the keys that sign the results of steps; undefined where none is used. */
  readonly stepSecret: string | undefined
  /** Which resources are served follows from what there is: what comes later is not in the plan. */
  readonly isOpen: boolean
}

type Planned = Pick<Blueprint, 'name' | 'registry' | 'settings'>

export function planNeeds(blueprint: Planned, options: PlanOptions): NeedsPlan {
  const { registry } = blueprint
  const { resources } = options
  const selectors = [
    ...registry.watchedSelectors,
    ...registry.relatedSelectors,
    ...registry.asked.filter(({ conversion }) => conversion !== undefined).map(({ selector }) => selector!),
  ]
  const selections = selectors.map((selector) => ({
    selector: String(selector),
    ...selectResources(selector, resources),
  }))
  return {
    roles: new Plan(blueprint, options).roles,
    unresolved: [
      ...new Set(selections.filter(({ candidates }) => candidates.length === 0).map(({ selector }) => selector)),
    ],
    stepSecret: stepSecretOf(blueprint),
    ambiguous: selections.filter(({ ambiguous }) => ambiguous),
    isOpen: selectors.some(({ isSpecific }) => !isSpecific),
  }
}

/** Which handlers call `step` is known only when they run: those that could are enough. */
function stepSecretOf({ name, registry, settings }: Planned): string | undefined {
  const { signing, keys, secret } = settings.steps
  const canHaveSteps = registry.handlers.some((handler) => {
    const room = kindOf(handler)?.room
    return room === 'change' || (room === 'reconcile' && handler.needsFinalizer)
  })
  if (!canHaveSteps || signing === 'off' || keys.length > 0) return undefined
  return secret ?? stepSecretName(name)
}

class Plan {
  readonly #blueprint: Planned
  readonly #options: PlanOptions
  /** Those that are served, where they are named one by one; else it is one role for the cluster. */
  readonly #scopes: readonly (string | undefined)[]
  readonly #patterns: readonly NamespacePattern[]
  readonly #needs = new Map<string | undefined, Need[]>()

  constructor(blueprint: Planned, options: PlanOptions) {
    this.#blueprint = blueprint
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
    const roles = Array.from(this.#needs, ([namespace, needs]) => ({ namespace, needs }))
    return roles.toSorted((a, b) => Number(b.namespace === undefined) - Number(a.namespace === undefined))
  }

  #add(scopes: readonly (string | undefined)[], needs: readonly Need[]): void {
    if (needs.length === 0) return
    for (const scope of scopes) this.#needs.set(scope, [...(this.#needs.get(scope) ?? []), ...needs])
  }

  #planWork(): void {
    const { registry, settings } = this.#blueprint
    const { resources, namespace } = this.#options
    const served = resolveResources(registry, resources).resources
    const handled: Handled[] = served
      .filter((resource) => whyUnsuitable(registry, resource) === undefined)
      .map((resource) => ({ resource, handlers: registry.handlersFor(resource) }))
    const isPosting = settings.posting.enabled
    const { everywhere, where } = needsOfWork({
      handled,
      related: this.#related(),
      observesDefinitions: observesDefinitions(registry, resources, this.#settings),
      observesNamespaces: !settings.scanning.disabled && this.#patterns.some((pattern) => !isExactNamespace(pattern)),
      isPosting,
    })
    this.#add(this.#scopes, where)
    this.#add([undefined], everywhere)
    if (!isPosting) return
    // Those about objects in no namespace are posted where the operator itself is.
    if (handled.some(({ resource }) => !resource.namespaced))
      this.#add(this.#isClusterwide ? [undefined] : [namespace], [eventsNeed])
    if (registry.asked.some(({ admission }) => admission !== undefined)) this.#add(this.#scopes, [eventsNeed])
  }

  *#related(): Iterable<Related> {
    const find = (selector: ResourceSelector) => selectResources(selector, this.#options.resources).selected
    for (const { reconciling } of this.#blueprint.registry.handlers) {
      for (const selector of reconciling?.owns ?? [])
        for (const resource of find(selector)) yield { resource, isOwned: true }
      for (const { selector } of reconciling?.watches ?? []) {
        for (const resource of find(selector)) yield { resource, isOwned: false }
      }
    }
  }

  #planPeering(): void {
    const { name, standalone, clusterwide } = this.#settings.peering
    if (!standalone) this.#add(clusterwide ? [undefined] : this.#scopes, peeringNeeds(name, clusterwide))
  }

  #planWebhooks(): void {
    const { registry, settings } = this.#blueprint
    const { managed, server } = settings.admission
    const has = (kind: string) => registry.asked.some((handler) => handler.kind === kind)
    if (managed !== null) {
      this.#add([undefined], configurationsNeeds(managed, { validate: has('validate'), mutate: has('mutate') }))
      const converted = this.#convertedDefinitions()
      if (converted.length > 0) this.#add([undefined], [conversionNeed(converted)])
    }
    const { service } = (server ?? {}) as { readonly service?: WebhookService }
    if (registry.asked.length === 0 || service?.secret === undefined) return
    this.#add([service.namespace ?? this.#options.namespace], certificatesNeeds(service.secret))
  }

  #convertedDefinitions(): string[] {
    const names = this.#blueprint.registry.asked
      .filter(({ conversion }) => conversion !== undefined)
      .flatMap(({ selector }) => this.#options.resources.filter((one) => selector!.matchesAnyVersion(one)))
      .map(({ plural, group }) => `${plural}.${group}`)
    return [...new Set(names)]
  }

  #planElection(): void {
    const { settings, name } = this.#blueprint
    if (!settings.election.enabled) return
    const { key } = toElection(settings.election, { name, namespace: this.#options.namespace })
    this.#add([key.namespace], leaseNeeds(key.name))
  }

  #planSteps(): void {
    const secret = stepSecretOf(this.#blueprint)
    if (secret !== undefined) this.#add([this.#options.namespace], [stepSecretNeed(secret)])
  }

  get #isClusterwide(): boolean {
    return this.#scopes.includes(undefined)
  }

  /** As they will be when the operator runs with these options. */
  get #settings(): Pick<Blueprint['settings'], 'scanning' | 'peering'> {
    const { scanning, peering } = this.#blueprint.settings
    const own = { ...peering }
    applyPeering(own, this.#options)
    return { scanning, peering: own }
  }
}
