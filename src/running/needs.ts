/**
 * What an operator has to be allowed, and what for: the one place that says what each kind of handler takes. Asked by
 * orchestrate.ts for what it serves, and, before anything runs, by who writes roles for it (plan-needs.ts). Pure.
 */
import type { ResourceHandlers } from '../core/handling/registry.ts'
import type { Need } from '../kube/access-rules.ts'
import { definitionsResource, namespacesResource } from '../kube/backbone.ts'
import { peeringGroups, pluralOfPeerings } from '../kube/peerings.ts'
import type { Resource } from '../kube/resources.ts'

/** A resource that handlers are for. */
export interface Handled {
  readonly resource: Resource
  readonly handlers: ResourceHandlers
}

/** A resource that is watched for the sake of those who reconcile others. */
export interface Related {
  readonly resource: Resource
  /** Whether their children are of it. */
  readonly isOwned: boolean
}

export interface Work {
  readonly handled: Iterable<Handled>
  readonly related: Iterable<Related>
  readonly observesDefinitions: boolean
  readonly observesNamespaces: boolean
  /** Whether events may be posted. */
  readonly isPosting: boolean
}

export interface WorkNeeds {
  /** What has to be allowed in the whole cluster, wherever objects are served. */
  readonly everywhere: readonly Need[]
  /** What has to be allowed where objects are served. */
  readonly where: readonly Need[]
}

export function needsOfWork(work: Work): WorkNeeds {
  const everywhere: Need[] = []
  const where: Need[] = []
  for (const one of work.handled) (one.resource.namespaced ? where : everywhere).push(...needsOfObjects(one))
  for (const one of work.related) (one.resource.namespaced ? where : everywhere).push(needOfRelated(one))
  if (work.observesDefinitions) everywhere.push(definitionsNeed)
  if (work.observesNamespaces) everywhere.push(namespacesNeed)
  if (work.isPosting && where.length > 0) where.push(eventsNeed)
  return { everywhere, where }
}

/** Progress and finalizers are written to the object itself, whatever its handlers do. */
export function needsOfObjects({ resource, handlers }: Handled): Need[] {
  const { group, plural, subresources } = resource
  const isPatched = handlers.change.length + handlers.background.length + handlers.reconcile.length > 0
  if (!isPatched)
    return [{ group, resource: plural, verbs: ['list', 'watch'], why: 'seen by handlers, and not changed' }]
  const isOwner = handlers.reconcile.some(({ reconciling }) => reconciling!.owns.length > 0)
  return [
    {
      group,
      resource: plural,
      verbs: ['list', 'watch', 'patch'],
      // After a conflict, and after a hand-over.
      also: ['get'],
      why: 'handled: seen, and patched',
    },
    ...(subresources.includes('status') ? [statusNeed(resource)] : []),
    ...(isOwner ? [ownerNeed(resource)] : []),
  ]
}

function statusNeed({ group, plural }: Resource): Need {
  return { group, resource: `${plural}/status`, verbs: [], also: ['patch'], why: 'what handlers write into the status' }
}

/** The name of a right, and of no endpoint: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/ */
function ownerNeed({ group, plural }: Resource): Need {
  return {
    group,
    resource: `${plural}/finalizers`,
    verbs: [],
    also: ['update'],
    why: 'to be the owner of children, where clusters check that (OwnerReferencesPermissionEnforcement, OpenShift)',
  }
}

const secretChildren =
  'children; RBAC cannot tell them from other Secrets, so this is for all Secrets in the scope of the role'

function needOfRelated({ resource: { group, plural }, isOwned }: Related): Need {
  if (!isOwned) return { group, resource: plural, verbs: ['list', 'watch'], why: 'watched for the sake of others' }
  const why = group === '' && plural === 'secrets' ? secretChildren : 'children'
  return { group, resource: plural, verbs: ['list', 'watch', 'create', 'patch', 'delete'], why }
}

const seen = { verbs: ['list', 'watch'] } as const

const definitionsNeed: Need = {
  group: definitionsResource.group,
  resource: definitionsResource.plural,
  ...seen,
  why: 'to notice definitions that come, change and go; not needed with settings.scanning.disabled',
}

const namespacesNeed: Need = {
  group: namespacesResource.group,
  resource: namespacesResource.plural,
  ...seen,
  why: 'to find the namespaces that match the patterns',
}

/** Where they may not be patched, those that happen again are posted one by one. */
export const eventsNeed: Need = {
  group: '',
  resource: 'events',
  verbs: ['create'],
  also: ['patch'],
  why: 'events that are posted about objects',
}

/** Whoever may not look, or not sign, goes on without. */
export function peeringNeeds(name: string, isClusterwide: boolean): Need[] {
  return peeringGroups.map((group) => ({
    group,
    resource: pluralOfPeerings(isClusterwide),
    verbs: ['list', 'watch', 'patch'],
    names: [name],
    why: 'to agree with other operators on who works, where there is a peering; not needed with --standalone',
  }))
}

/** What has no name yet cannot be told from others. */
const creation = 'no role can limit creation to a name'

export function leaseNeeds(name: string): Need[] {
  const lease = {
    group: 'coordination.k8s.io',
    resource: 'leases',
    why: 'the Lease by which replicas elect their leader',
  }
  return [
    { ...lease, names: [name], verbs: ['get', 'list', 'watch', 'update'] },
    { ...lease, verbs: ['create'], why: `${lease.why}: ${creation}` },
  ]
}

export function certificatesNeeds(secret: string): Need[] {
  const need = { group: '', resource: 'secrets', why: 'the Secret with the certificates of the webhooks' }
  return [
    { ...need, names: [secret], verbs: ['get', 'watch', 'update'] },
    { ...need, verbs: ['create'], why: `${need.why}: ${creation}` },
  ]
}

/** No "create": `kopf manifests` prints the Secret, empty, so that this one name is all that has to be allowed. */
export function stepSecretNeed(secret: string): Need {
  const why = 'the Secret with the keys that sign the results of steps; not used by handlers without steps'
  return { group: '', resource: 'secrets', names: [secret], verbs: ['get', 'update'], why }
}

/** Also where there is nothing to review any more: what an earlier version of the operator has left is taken back. */
export function configurationsNeeds(
  managed: string,
  kinds: { readonly [K in 'validate' | 'mutate']: boolean },
): Need[] {
  const plurals = { validate: 'validatingwebhookconfigurations', mutate: 'mutatingwebhookconfigurations' } as const
  return (['validate', 'mutate'] as const).flatMap((kind) => {
    const need = {
      group: 'admissionregistration.k8s.io',
      resource: plurals[kind],
      why: 'what the cluster is told of the webhooks',
    }
    return [
      { ...need, names: [managed], verbs: ['list', 'watch', 'patch'] },
      ...(kinds[kind] ? [{ ...need, verbs: ['create'], why: `${need.why}: ${creation}` }] : []),
    ]
  })
}

export function conversionNeed(definitions: readonly string[]): Need {
  const { group, plural } = definitionsResource
  const why = 'what the definitions say of the webhook that converts'
  return { group, resource: plural, names: definitions, verbs: ['list', 'watch', 'patch'], why }
}
