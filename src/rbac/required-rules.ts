/**
 * The RBAC rules that each handler type and each feature needs, with a reason for each rule. Called by cluster/orchestrator.ts for the watched
 * resources, and by plan-roles.ts before the operator runs. Pure.
 */
import type { Handler } from '../handlers/handler.ts'
import type { ResourceHandlers } from '../handlers/registry.ts'
import { peeringGroups, pluralOfPeerings } from '../kube/peerings.ts'
import type { RequiredRule } from '../kube/rbac-rules.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { crdsResource, namespacesResource } from '../kube/resources/well-known.ts'
import { allHandlers } from '../objects/state/served-resource.ts'
import type { RelatedResource } from '../reconciling/sources/owned-and-watched.ts'

/** A resource with handlers. */
export interface HandledResource {
  readonly resource: Resource
  readonly handlers: ResourceHandlers
}

export interface OperatorWork {
  readonly handled: Iterable<HandledResource>
  readonly related: Iterable<RelatedResource>
  readonly watchesCrds: boolean
  readonly watchesNamespaces: boolean
  /** Whether the operator posts events (`settings.posting.enabled`). */
  readonly isPosting: boolean
}

export interface WorkRules {
  /** Rules that must be granted in the whole cluster: a ClusterRole. */
  readonly clusterRules: readonly RequiredRule[]
  /** Rules that must be granted in each watched namespace, or in the whole cluster. */
  readonly namespaceRules: readonly RequiredRule[]
}

export function rulesOfWork(work: OperatorWork): WorkRules {
  const clusterRules: RequiredRule[] = []
  const namespaceRules: RequiredRule[] = []
  for (const one of work.handled) (one.resource.namespaced ? namespaceRules : clusterRules).push(...rulesOfObjects(one))
  for (const one of work.related) (one.resource.namespaced ? namespaceRules : clusterRules).push(rulesOfRelated(one))
  if (work.watchesCrds) clusterRules.push(crdRule)
  if (work.watchesNamespaces) clusterRules.push(namespaceRule)
  if (work.isPosting && namespaceRules.length > 0) namespaceRules.push(eventRule)
  return { clusterRules, namespaceRules }
}

/** Every object with change, background or reconcile handlers is patched: progress and finalizers are stored on the object. */
export function rulesOfObjects({ resource, handlers }: HandledResource): RequiredRule[] {
  const { group, plural, subresources } = resource
  const all = allHandlers(handlers)
  const isPatched = all.some(({ definition }) => definition.patchesObjects)
  if (!isPatched)
    return [{ group, resource: plural, verbs: ['list', 'watch'], why: 'watched for handlers that do not change it' }]
  return [
    {
      group,
      resource: plural,
      verbs: ['list', 'watch', 'patch'],
      // The object is read after a conflict, and after another replica or operator has handled it.
      optionalVerbs: ['get'],
      why: 'handled: watched and patched',
    },
    ...(subresources.includes('status') ? [statusRule(resource)] : []),
    ...rulesOfDefinitions(all, resource),
  ]
}

function statusRule({ group, plural }: Resource): RequiredRule {
  return {
    group,
    resource: `${plural}/status`,
    verbs: [],
    optionalVerbs: ['patch'],
    why: 'the status, which handlers write',
  }
}

/** The rules that the definitions of the handlers add, each definition once. */
function rulesOfDefinitions(handlers: readonly Handler[], resource: Resource): readonly RequiredRule[] {
  const definitions = new Set(handlers.map(({ definition }) => definition))
  return [...definitions].flatMap((definition) => {
    const own = handlers.filter((handler) => handler.definition === definition)
    return definition.rules?.(own, resource) ?? []
  })
}

const secretChildren =
  'children; RBAC cannot tell them from other Secrets, so this is for all Secrets in the scope of the role'

function rulesOfRelated({ resource: { group, plural }, isOwned }: RelatedResource): RequiredRule {
  if (!isOwned)
    return { group, resource: plural, verbs: ['list', 'watch'], why: 'watched by reconcilers of other resources' }
  const why = group === '' && plural === 'secrets' ? secretChildren : 'children'
  return { group, resource: plural, verbs: ['list', 'watch', 'create', 'patch', 'delete'], why }
}

const readVerbs = { verbs: ['list', 'watch'] } as const

const crdRule: RequiredRule = {
  group: crdsResource.group,
  resource: crdsResource.plural,
  ...readVerbs,
  why: 'to notice CRDs that are added, changed and deleted; not needed with settings.scanning.disabled',
}

const namespaceRule: RequiredRule = {
  group: namespacesResource.group,
  resource: namespacesResource.plural,
  ...readVerbs,
  why: 'to find the namespaces that match the patterns',
}

/** Without "patch", every repetition of an event is posted as a new event. */
export const eventRule: RequiredRule = {
  group: '',
  resource: 'events',
  verbs: ['create'],
  optionalVerbs: ['patch'],
  why: 'events that are posted about objects',
}

/** An operator without these permissions runs without peering. */
export function peeringRules(name: string, isClusterwide: boolean): RequiredRule[] {
  return peeringGroups.map((group) => ({
    group,
    resource: pluralOfPeerings(isClusterwide),
    verbs: ['list', 'watch', 'patch'],
    names: [name],
    why: 'to pause while another operator of the peering has priority; not needed with --standalone',
  }))
}

/** RBAC cannot restrict "create" by name: the name is not known when the request is authorized. */
const whyCreate = 'no role can limit creation to a name'

export function leaseRules(name: string): RequiredRule[] {
  const lease = {
    group: 'coordination.k8s.io',
    resource: 'leases',
    why: 'the Lease by which replicas elect their leader',
  }
  return [
    { ...lease, names: [name], verbs: ['get', 'list', 'watch', 'update'] },
    { ...lease, verbs: ['create'], why: `${lease.why}: ${whyCreate}` },
  ]
}

export function certificateRules(secret: string): RequiredRule[] {
  const rule = { group: '', resource: 'secrets', why: 'the Secret with the certificates of the webhooks' }
  return [
    { ...rule, names: [secret], verbs: ['get', 'watch', 'update'] },
    { ...rule, verbs: ['create'], why: `${rule.why}: ${whyCreate}` },
  ]
}

/** Without "create": `kopf manifests` prints an empty Secret, so that the rule can be restricted to its name. */
export function stepSecretRule(secret: string): RequiredRule {
  const why = 'the Secret with the keys that sign the results of steps; not used by handlers without steps'
  return { group: '', resource: 'secrets', names: [secret], verbs: ['get', 'update'], why }
}

/** Rules for both configurations, even without handlers: the operator removes the webhooks that an earlier version of it registered. */
export function webhookConfigurationRules(
  managed: string,
  types: { readonly [K in 'validate' | 'mutate']: boolean },
): RequiredRule[] {
  const plurals = { validate: 'validatingwebhookconfigurations', mutate: 'mutatingwebhookconfigurations' } as const
  return (['validate', 'mutate'] as const).flatMap((type) => {
    const rule = {
      group: 'admissionregistration.k8s.io',
      resource: plurals[type],
      why: 'the configurations of the webhooks',
    }
    return [
      { ...rule, names: [managed], verbs: ['list', 'watch', 'patch'] },
      ...(types[type] ? [{ ...rule, verbs: ['create'], why: `${rule.why}: ${whyCreate}` }] : []),
    ]
  })
}

export function conversionRule(crdNames: readonly string[]): RequiredRule {
  const { group, plural } = crdsResource
  const why = 'the conversion webhooks in the CRDs'
  return { group, resource: plural, names: crdNames, verbs: ['list', 'watch', 'patch'], why }
}
