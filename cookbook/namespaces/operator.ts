/** Provides namespaces for teams: Team -> Namespaces -> quota, limits, network policies and role bindings in them. */
import { isDeepStrictEqual } from 'node:util'
import { AdmissionError, type Client, type Conditions, Operator, PermanentError, PRESENT, TemporaryError } from 'kopf'
import { LimitRange, Namespace, NetworkPolicy, ResourceQuota, RoleBinding } from 'kopf/kubernetes'
import { WebhookAutoServer, WebhookServiceServer } from 'kopf/webhooks'
import { buildAccess, buildIsolation, buildLimits } from './namespace-objects.ts'
import { ignoreNotFound, type Provision, provideNamespaces, removeNamespaces } from './namespaces.ts'
import { namespacesOf, Team, type TeamSpec, teamLabel } from './team.ts'
import { checkSpec, findClashes, isReserved, type NamedTeam } from './validation.ts'

const kopf = new Operator({
  name: 'teams',
  // Here, and not in a startup handler: `kopf manifests` reads it to print the Service and the permissions.
  settings: {
    admission: { server: new WebhookServiceServer({ service: 'teams' }), managed: 'teams.example.com' },
  },
})
export default kopf

/** Outside of a cluster there is no Service in front of the operator: `kopf dev` and tests call it at an address of this machine. */
kopf.on.startup({ id: 'webhooks' }, ({ settings }) => {
  if (!process.env['KUBERNETES_SERVICE_HOST']) settings.admission.server = new WebhookAutoServer()
})

kopf.on.validate(Team, { id: 'check', operations: ['CREATE', 'UPDATE'] }, async ({ name, spec, old, client }) => {
  // Labels, finalizers and so on: a team that breaks a newer rule can still be deleted.
  if (old !== undefined && isDeepStrictEqual(old.spec, spec)) return
  if (name === undefined)
    throw new AdmissionError('Give the team a name: generateName is not supported', { status: 422 })
  const change = { name, spec, old: old?.spec }
  const problems = checkSpec(change)
  if (problems.length === 0) problems.push(...(await findClashes(change, client)))
  if (problems.length > 0) throw new AdmissionError(problems.join('; '), { status: 422 })
})

/** Namespaces have no owner reference to the team: Kubernetes would delete them with it, and all data in them. */
kopf.reconcile(
  Team,
  { id: 'namespaces', cleanup: true, watches: [[Namespace, ({ metadata }) => metadata.labels?.[teamLabel]]] },
  async ({ name, uid, spec, client, deleting, patch, conditions, logger }) => {
    if (!deleting) refuseInvalid({ name, spec }, conditions)
    const wanted = deleting ? [] : namespacesOf(name, spec)
    const existing = await client.list(Namespace, { labelSelector: { [teamLabel]: name } })
    const surplus = existing.filter(({ metadata }) => !wanted.some((one) => one.name === metadata.name))
    const retained = await removeNamespaces(surplus, { uid, spec, client, logger })
    if (deleting) return
    const provision = await provideNamespaces(wanted, existing, uid, client)
    patch.status.namespaces = provision.provided
    patch.status.retained = retained
    const ready = describeReadiness(name, provision, retained)
    conditions.set({ type: 'Ready', ...ready })
    if (!ready.status) throw new TemporaryError(ready.message, { delay: '5m' })
  },
)

/** The webhook is not called while the operator is down: the reconciler applies the rules, too. */
function refuseInvalid(team: NamedTeam, conditions: Conditions): void {
  const problems = checkSpec(team)
  if (problems.length === 0) return
  const message = problems.join('; ')
  conditions.set({ type: 'Ready', status: false, reason: 'Invalid', message })
  throw new PermanentError(message)
}

function describeReadiness(team: string, { taken, terminating }: Provision, retained: readonly string[]) {
  if (taken.length > 0) {
    const message = `These namespaces exist and have no label ${teamLabel}=${team}: ${taken.join(', ')}`
    return { status: false, reason: 'NamespaceTaken', message }
  }
  if (terminating.length > 0) {
    const message = `These namespaces are being deleted, and will be created again: ${terminating.join(', ')}`
    return { status: false, reason: 'NamespaceTerminating', message }
  }
  const kept = retained.length === 0 ? '' : `; retained: ${retained.join(', ')}`
  return { status: true, reason: 'Provided', message: `All namespaces exist${kept}` }
}

/** Quota, limits and isolation of a namespace stay as they are when its team is gone: data is not exposed. */
kopf.reconcile(
  Namespace,
  {
    id: 'limits',
    labels: { [teamLabel]: PRESENT },
    owns: [ResourceQuota, LimitRange, NetworkPolicy],
    watches: [[Team, namespaceNames]],
  },
  async ({ name, labels, client }) => {
    const team = await findTeam(name, labels[teamLabel], client)
    // A team that was changed while the operator was down can break the rules: then the objects stay as they are.
    if (team === undefined || checkSpec(team).length > 0) return undefined
    return { children: [...buildLimits(name, team.spec), ...buildIsolation(name, team.spec, team.name)] }
  },
)

/** Members lose access when the team is gone, or does not have the namespace any more. */
kopf.reconcile(
  Namespace,
  { id: 'access', labels: { [teamLabel]: PRESENT }, owns: [RoleBinding], watches: [[Team, namespaceNames]] },
  async ({ name, labels, client }) => {
    const team = await findTeam(name, labels[teamLabel], client)
    return { children: team === undefined ? [] : buildAccess(name, team.spec) }
  },
)

interface TeamObject {
  readonly metadata: { readonly name?: string }
  readonly spec: TeamSpec
}

function namespaceNames({ metadata, spec }: TeamObject): string[] {
  return namespacesOf(metadata.name ?? '', spec).map(({ name }) => name)
}

/** The team of a namespace, if both agree: a label alone gives a team no access. */
async function findTeam(namespace: string, name: string | undefined, client: Client): Promise<NamedTeam | undefined> {
  if (name === undefined || isReserved(namespace)) return undefined
  try {
    const team = await client.get(Team, name)
    const isCurrent = team.metadata.deletionTimestamp === undefined && namespaceNames(team).includes(namespace)
    return isCurrent ? { name, spec: team.spec } : undefined
  } catch (error) {
    return ignoreNotFound(error)
  }
}
