/**
 * Finds the objects that an operator has left in a cluster, and the signs that it still runs. Only objects with the names of the operator's settings count, and
 * only if their content is that of the framework. Called by uninstall.ts; writes nothing.
 */
import { ApiError, isForbidden, isNotFound } from '../../../client/api-error.ts'
import { collectionPath, type Located, type ObjectKey, objectPath } from '../../../client/paths.ts'
import type { Session } from '../../../client/session.ts'
import { resolveResources } from '../../../cluster/resource-selection.ts'
import { toElectionOptions } from '../../../election/election-settings.ts'
import { leases, readRecord } from '../../../election/lease.ts'
import { toCrds } from '../../../kube/crds/crd.ts'
import { isExactNamespace, matchesNamespace } from '../../../kube/namespaces.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { selectPeerings } from '../../../kube/peerings.ts'
import type { CustomResource, Resource } from '../../../kube/resources/resources.ts'
import { crdsResource } from '../../../kube/resources/well-known.ts'
import { allHandlers } from '../../../objects/state/served-resource.ts'
import type { Operator } from '../../../operator.ts'
import { internalsOf, type OperatorInternals } from '../../../operator-internals.ts'
import { type Peer, readPeers } from '../../../peering/peers.ts'
import { stepSecretOf } from '../../../plan/plan-roles.ts'
import type { WebhookService } from '../../../settings/webhook-server.ts'
import { systemClock } from '../../../util/async/clock.ts'
import { getObject, getObjects, getString } from '../../../util/json/json.ts'
import { toMs } from '../../../util/text/duration.ts'
import { parseTimestamp } from '../../../util/text/timestamps.ts'
import { serviceLabel } from '../../../webhooks/certificates/shared-secret.ts'
import { type CommandCluster, toCommandError } from '../../cluster.ts'
import { labelsOf } from '../../deployment/plan.ts'
import { findHeld, type HeldByFinalizer } from '../release-objects.ts'
import { describeObject, type FoundLeftovers, type Leftover, type LeftoverResource } from './leftovers.ts'

export interface SearchOptions {
  /** The name of the Deployment. */
  readonly name: string
  /** The namespace in which the operator runs. */
  readonly installNamespace: string
  /** The namespaces of the handled objects, by pattern; undefined for the whole cluster. */
  readonly namespaces: readonly string[] | undefined
  /** The name of the peering; undefined for that of the settings. */
  readonly peering: string | undefined
  /** Whether the CRDs of the operator are removed, too. */
  readonly crds: boolean
}

const webhookConfigurations: readonly LeftoverResource[] = (['Validating', 'Mutating'] as const).map((prefix) => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: `${prefix.toLowerCase()}webhookconfigurations`,
  kind: `${prefix}WebhookConfiguration`,
  namespaced: false,
}))
const secrets: LeftoverResource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true }
const deployments: LeftoverResource = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
}

const conversionNote =
  'The CRDs keep their conversion webhook: without the operator, objects can be read only in the version in which they are stored'

export async function findLeftovers(
  operator: Operator,
  cluster: CommandCluster,
  options: SearchOptions,
): Promise<FoundLeftovers> {
  const search = new LeftoverSearch(operator, cluster, options)
  await search.run()
  return search
}

class LeftoverSearch implements FoundLeftovers {
  readonly leftovers: Leftover[] = []
  readonly signs: string[] = []
  readonly notes: string[] = []
  readonly problems: string[] = []
  readonly #operator: Operator
  readonly #internals: OperatorInternals
  readonly #cluster: CommandCluster
  readonly #session: Session
  readonly #options: SearchOptions

  constructor(operator: Operator, cluster: CommandCluster, options: SearchOptions) {
    this.#operator = operator
    this.#internals = internalsOf(operator)
    this.#cluster = cluster
    this.#session = cluster.session
    this.#options = options
  }

  async run(): Promise<void> {
    await this.#checkDeployment()
    await this.#findWebhooks()
    await this.#findFinalizers()
    await this.#findPeeringRecords()
    await this.#findLease()
    await this.#findSecrets()
    if (this.#options.crds) await this.#findCrds()
    else if (this.#internals.registry.ofCategory('conversion').length > 0) this.notes.push(conversionNote)
  }

  async #checkDeployment(): Promise<void> {
    const { name, installNamespace: namespace } = this.#options
    // A user who may not read Deployments can still uninstall: the other signs remain.
    const deployment = await this.#read(deployments, { name, namespace }).catch((error) => ignoreForbidden(error))
    const labels = Object.entries(labelsOf({ name }))
    const isOurs = labels.every(([key, value]) => deployment?.metadata.labels?.[key] === value)
    const { replicas } = (deployment?.status ?? {}) as { replicas?: number }
    if (deployment !== undefined && isOurs && (replicas ?? 0) > 0)
      this.signs.push(`the ${describeObject(deployments, deployment)} has ${replicas} pods`)
  }

  async #findWebhooks(): Promise<void> {
    const { managed } = this.#internals.settings.admission
    if (managed === null) return
    for (const resource of webhookConfigurations) {
      const object = await this.#tryToRead(resource, { name: managed })
      if (object === undefined) continue
      const names = getObjects(object as never, 'webhooks').map((webhook) => getString(webhook, 'name') ?? '')
      if (names.every((name) => name.endsWith(`.${managed}`))) this.leftovers.push({ type: 'object', resource, object })
      else this.notes.push(`${describeObject(resource, object)} stays: it has webhooks that are not of this operator`)
    }
  }

  async #findFinalizers(): Promise<void> {
    const { registry, settings } = this.#internals
    const { resources, unresolved } = resolveResources(registry, await this.#cluster.resources())
    for (const selector of unresolved) this.notes.push(`The cluster does not serve ${selector}: it has no such objects`)
    const { finalizer } = settings.persistence
    for (const handled of distinctKinds(resources)) {
      const isPatched = allHandlers(registry.handlersFor(handled)).some(({ definition }) => definition.patchesObjects)
      if (!isPatched) continue
      const resource = await this.#toStorageVersion(handled)
      const held = await this.#try(resource, ['list', 'patch'], () => this.#findHeld(resource, finalizer))
      if (held !== undefined && held.length > 0) this.leftovers.push({ type: 'finalizer', resource, held })
    }
  }

  /** Without the operator, its conversion webhook does not respond: then objects can be read only in the version in which they are stored. */
  async #toStorageVersion(resource: Resource): Promise<Resource> {
    const { group, plural } = resource
    if (this.#internals.registry.ofCategory('conversion').length === 0) return resource
    const crd = await this.#read(crdsResource, { name: `${plural}.${group}` }).catch((error) => ignoreForbidden(error))
    const { versions = [] } = (crd?.spec ?? {}) as Partial<CrdShape>
    const storage = versions.find((version) => version.storage)?.name
    const known = await this.#cluster.resources()
    const isStored = (one: Resource) => one.group === group && one.plural === plural && one.version === storage
    return known.find(isStored) ?? resource
  }

  async #findHeld(resource: Resource, finalizer: string): Promise<HeldByFinalizer[]> {
    const { namespaces } = this.#options
    const query = { resource, finalizer }
    if (namespaces === undefined || !resource.namespaced) return await findHeld(this.#session, query)
    const hasPatterns: boolean = namespaces.some((pattern) => !isExactNamespace(pattern))
    if (hasPatterns) {
      const all = await findHeld(this.#session, query)
      return all.filter(({ namespace = '' }) => namespaces.some((pattern) => matchesNamespace(pattern, namespace)))
    }
    const found: HeldByFinalizer[] = []
    for (const namespace of namespaces) found.push(...(await findHeld(this.#session, { ...query, namespace })))
    return found
  }

  /** Live records are signs of operators. They stay, since they may be of other operators, and expire otherwise. */
  async #findPeeringRecords(): Promise<void> {
    const { standalone, name, maxLifetime } = this.#internals.settings.peering
    if (standalone) return
    const nowMs = systemClock.now()
    for (const { resource, object } of await this.#findPeerings(this.#options.peering ?? name)) {
      const time = { nowMs, monotonicMs: 0, maxLifetimeMs: toMs(maxLifetime) }
      const peers = [...readPeers(object, new Map(), time).values()]
      const isLive = ({ deadlineMs }: Peer) => deadlineMs > 0
      for (const { identity, deadlineMs } of peers.filter(isLive)) {
        const seconds = Math.ceil(deadlineMs / 1000)
        this.signs.push(
          `"${identity}" has a record in ${describeObject(resource, object)}, valid for ${seconds} seconds`,
        )
      }
      const identities = peers.filter((peer) => !isLive(peer)).map(({ identity }) => identity)
      if (identities.length > 0) this.leftovers.push({ type: 'records', resource, object, identities })
    }
  }

  async #findPeerings(name: string): Promise<Array<{ resource: LeftoverResource; object: KubeObject }>> {
    const { namespaces } = this.#options
    const known = await this.#cluster.resources()
    const resources = [
      ...(namespaces === undefined ? selectPeerings(known, true) : []),
      ...selectPeerings(known, false),
    ]
    const found: Array<{ resource: LeftoverResource; object: KubeObject }> = []
    for (const resource of resources) {
      const query = { fieldSelector: `metadata.name=${name}` }
      const call = { method: 'GET', path: collectionPath(resource), query } as const
      const list = await this.#try(resource, ['list', 'patch'], () => this.#session.request(call))
      for (const object of getObjects(list ?? {}, 'items') as unknown as KubeObject[]) {
        const { namespace } = object.metadata
        const isMeant = namespaces?.some((pattern) => matchesNamespace(pattern, namespace ?? '')) ?? true
        if (isMeant) found.push({ resource, object })
      }
    }
    return found
  }

  async #findLease(): Promise<void> {
    const { settings, name } = this.#internals
    if (!settings.election.enabled) return
    const { key } = toElectionOptions(settings.election, { name, namespace: this.#options.installNamespace })
    const object = await this.#tryToRead(leases, key)
    if (object === undefined) return
    const { holder, renewTime, durationMs } = readRecord(object)
    const endMs = (parseTimestamp(renewTime ?? '') ?? 0) + (durationMs ?? 0)
    const seconds = Math.ceil((endMs - systemClock.now()) / 1000)
    if (holder !== '' && seconds > 0)
      this.signs.push(`"${holder}" holds the ${describeObject(leases, object)} for ${seconds} more seconds`)
    this.leftovers.push({ type: 'object', resource: leases, object, isGuarded: true })
  }

  async #findSecrets(): Promise<void> {
    const { installNamespace } = this.#options
    const { server } = this.#internals.settings.admission
    const { service } = (server ?? {}) as { readonly service?: WebhookService }
    if (service?.secret !== undefined) {
      const key = { name: service.secret, namespace: service.namespace ?? installNamespace }
      await this.#findSecret(key, ({ metadata }) => metadata.labels?.[serviceLabel] === service.name)
    }
    const name = stepSecretOf(this.#internals)
    const isKey = (entry: string) => /^key-[1-9]\d*$/.test(entry)
    if (name !== undefined)
      await this.#findSecret({ name, namespace: installNamespace }, (object) =>
        Object.keys(getObject(object as never, 'data') ?? {}).every(isKey),
      )
  }

  async #findSecret(key: ObjectKey, isOurs: (object: KubeObject) => boolean): Promise<void> {
    const object = await this.#tryToRead(secrets, key)
    if (object === undefined) return
    if (isOurs(object)) this.leftovers.push({ type: 'object', resource: secrets, object })
    else this.notes.push(`${describeObject(secrets, object)} stays: it has other content than that of this operator`)
  }

  async #findCrds(): Promise<void> {
    const { resources } = this.#operator
    if (resources.length === 0)
      this.notes.push('The operator has no resource of defineResource: CRDs that it only names stay')
    for (const { metadata, spec } of toCrds(resources as readonly CustomResource<object>[])) {
      const object = await this.#tryToRead(crdsResource, { name: metadata.name! })
      if (object === undefined) continue
      const { group, names, scope, versions } = (object.spec ?? spec) as CrdShape
      const version = versions
        .toSorted((a, b) => Number(b.storage) - Number(a.storage))
        .find(({ served }) => served)?.name
      const resource = { group, version: version ?? '', plural: names.plural, namespaced: scope === 'Namespaced' }
      const objects = version === undefined ? 0 : await this.#try(resource, ['list'], () => this.#count(resource))
      this.leftovers.push({ type: 'crd', object, resource, objects: objects ?? 0 })
    }
  }

  async #count(resource: Located): Promise<number> {
    const call = { method: 'GET', path: collectionPath(resource), query: { limit: 1 } } as const
    const { items, metadata } = (await this.#session.request(call)) as unknown as CountedList
    return (items ?? []).length + (metadata?.remainingItemCount ?? 0)
  }

  async #tryToRead(resource: Located, key: ObjectKey): Promise<KubeObject | undefined> {
    return await this.#try(resource, ['get', 'delete'], () => this.#read(resource, key), key)
  }

  /** Resolves to undefined if the object does not exist. */
  async #read(resource: Located, key: ObjectKey): Promise<KubeObject | undefined> {
    try {
      const object = await this.#session.request({ method: 'GET', path: objectPath(resource, key) })
      return object as unknown as KubeObject
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /** Resolves to undefined, and notes the problem, if the API server responds with an error: mostly, the user lacks a permission. */
  async #try<T>(
    resource: Located,
    verbs: readonly string[],
    act: () => Promise<T>,
    key: Partial<ObjectKey> = {},
  ): Promise<T | undefined> {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      this.problems.push((toCommandError(error, { verb: 'look for', resource, verbs, ...key }) as Error).message)
      return undefined
    }
  }
}

interface CrdShape {
  readonly group: string
  readonly scope: string
  readonly names: { readonly plural: string }
  readonly versions: ReadonlyArray<{ readonly name: string; readonly served: boolean; readonly storage: boolean }>
}

interface CountedList {
  readonly items?: readonly unknown[]
  readonly metadata?: { readonly remainingItemCount?: number }
}

/** Handlers of several versions of a resource handle the same objects. */
function distinctKinds(resources: readonly Resource[]): Resource[] {
  return [...new Map(resources.map((resource) => [`${resource.plural}.${resource.group}`, resource])).values()]
}

function ignoreForbidden(error: unknown): undefined {
  if (!isForbidden(error)) throw error
}
