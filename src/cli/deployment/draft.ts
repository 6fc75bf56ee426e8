/** Creates the deployment plan of a loaded operator from the options of `kopf manifests`, with remarks for the user. */
import { KopfError } from '../../errors.ts'
import type { RequiredRule } from '../../kube/rbac-rules.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { formatResource } from '../../kube/resources/selectors.ts'
import type { Operator, RunOptions } from '../../operator.ts'
import { internalsOf, type OperatorInternals } from '../../operator-internals.ts'
import { planRoles, type RolesPlan } from '../../plan/plan-roles.ts'
import { metricsDefaults } from '../../serving/address.ts'
import { lastReviewsSeconds, lastStepsSeconds, podGraceSeconds } from '../../util/stopping-times.ts'
import { toMs } from '../../util/text/duration.ts'
import { toName } from '../scaffolding/scaffold.ts'
import { type readAllowedRules, toGrant } from './allow-option.ts'
import type { DeploymentPlan, PlannedEndpoint } from './plan.ts'
import { remarkOnCalls } from './source/call-notes.ts'
import type { SeenCalls } from './source/seen-calls.ts'
import type { OperatorSource } from './source/source-files.ts'
import { healthPort } from './workload.ts'

/** The deployment options of the command. */
export interface DraftArguments {
  readonly name?: string
  readonly image?: string
  readonly installNamespace: string
  readonly createNamespace?: boolean
  readonly replicas?: number
  readonly withCrds?: boolean
  readonly withMetrics?: boolean
  readonly withDashboard?: boolean
}

export interface DraftOptions extends DraftArguments {
  readonly folder: string
  readonly scope: Pick<RunOptions, 'namespaces' | 'clusterwide'>
  readonly peering: Pick<RunOptions, 'peering' | 'priority' | 'standalone'>
  /** All known resources. */
  readonly resources: readonly Resource[]
  readonly grants: ReturnType<typeof readAllowedRules>
  /** Client calls that were found in the source, and what was not searched. */
  readonly calls: SeenCalls & Pick<OperatorSource, 'unread'>
}

export interface Draft {
  readonly plan: DeploymentPlan
  /** Notes for the user, printed to stderr. */
  readonly remarks: readonly string[]
}

export function draft(operator: Operator, options: DraftOptions): Draft {
  const { installNamespace: namespace, resources, grants } = options
  const name = options.name ?? operator.name ?? toName(options.folder)
  checkName(
    name,
    options.name === undefined ? 'the name of the operator; choose another with --name' : 'given by --name',
  )
  checkName(namespace, 'given by --install-namespace')
  const rolesPlan = planRoles(internalsOf(operator), {
    ...options.scope,
    ...options.peering,
    resources,
    namespace,
    grants: grants.map((grant) => toGrant(grant, resources)),
  })
  checkKnown(rolesPlan)
  const webhooks = webhooksOf(internalsOf(operator), namespace)
  const endpoints = endpointsOf(options)
  const plan: DeploymentPlan = {
    name,
    namespace,
    isNamespaceFixed: isNamespaceFixed(internalsOf(operator), options),
    image: options.image ?? `${name}:latest`,
    replicas: replicasOf(operator, options),
    isElected: operator.settings.election.enabled,
    args: argsOf(options, endpoints),
    roles: rolesPlan.roles,
    stepSecret: rolesPlan.stepSecret,
    graceSeconds: graceSecondsOf(internalsOf(operator)),
    webhooks,
    hasWebhooks: internalsOf(operator).registry.webhookHandlers.length > 0,
    endpoints,
    ports: portsOf(internalsOf(operator), webhooks, endpoints),
  }
  return { plan, remarks: remarksOn(operator, options, rolesPlan, plan) }
}

/** The default port of `kopf run --dashboard`. */
const dashboardPort = 8444

function throwDraftError(why: string): never {
  throw new KopfError('KOPF_MANIFESTS', `Cannot print manifests: ${why}`)
}

function checkName(name: string, origin: string): void {
  if (/^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$/.test(name)) return
  throwDraftError(
    `the name "${name}" is invalid (${origin}); expected at most 50 lower-case letters, digits and dashes, beginning with a ` +
      'letter',
  )
}

/** Throws for unknown or ambiguous resources: guessed rules would grant too little or too much. */
function checkKnown({ unresolved, ambiguous }: RolesPlan): void {
  if (unresolved.length > 0) {
    throwDraftError(
      `only the name of ${unresolved.join(', ')} is known; give the CRD with --crd <file>, or a cluster that ` +
        'serves it with --context <name>, or create the resource with defineResource',
    )
  }
  for (const { selector, candidates } of ambiguous) {
    throwDraftError(
      `${selector} may be ${candidates.map(formatResource).join(' or ')}; name the group where the handler is registered`,
    )
  }
}

function replicasOf({ settings }: Operator, { replicas }: DraftOptions): number {
  const { enabled } = settings.election
  if (replicas !== undefined && replicas > 1 && !enabled) {
    throwDraftError(
      `${replicas} replicas would all handle everything; let them elect a leader, with ` +
        '`new Operator({ name, settings: { election: { enabled: true } } })`',
    )
  }
  return replicas ?? (enabled ? 2 : 1)
}

function isNamespaceFixed({ settings, registry }: OperatorInternals, options: DraftOptions): boolean {
  const { election, admission } = settings
  const service = admission.server !== null && 'service' in admission.server ? admission.server.service : undefined
  return [
    ...(options.scope.namespaces ?? []),
    ...(election.enabled ? [election.namespace] : []),
    ...(registry.webhookHandlers.length > 0 ? [service?.namespace] : []),
  ].includes(options.installNamespace)
}

/** The options of the program in the image: that of `kopf build`, or `kopf run` with its files, which has the same options. */
function argsOf({ scope, peering }: DraftOptions, endpoints: readonly PlannedEndpoint[]): string[] {
  const { namespaces } = scope
  return [
    ...(namespaces === undefined ? ['--all-namespaces'] : namespaces.map((name) => `--namespace=${name}`)),
    ...(peering.peering === undefined ? [] : [`--peering=${peering.peering}`]),
    ...(peering.priority === undefined ? [] : [`--priority=${peering.priority}`]),
    ...(peering.standalone ? ['--standalone'] : []),
    `--liveness=http://0.0.0.0:${healthPort}/healthz`,
    ...endpoints.map(({ name, port }) => `--${name}=https://0.0.0.0:${port}${name === 'metrics' ? '/metrics' : '/'}`),
    '--log-format=json',
  ]
}

/** The termination grace period: long enough for all steps of a stop, and at least Kubernetes' default. */
function graceSecondsOf({ settings, registry }: OperatorInternals): number {
  const exitTimesMs = registry.ofCategory('background').map(({ background }) => {
    const { backoffMs = 0, timeoutMs = 0 } = background.cancellation
    return backoffMs + timeoutMs
  })
  const workSeconds = Math.ceil((toMs(settings.queueing.exitTimeout) + Math.max(0, ...exitTimesMs)) / 1000)
  const reviewsSeconds = registry.webhookHandlers.length > 0 ? lastReviewsSeconds : 0
  return Math.max(podGraceSeconds, workSeconds + lastStepsSeconds + reviewsSeconds)
}

function webhooksOf({ registry, settings }: OperatorInternals, namespace: string): DeploymentPlan['webhooks'] {
  if (registry.webhookHandlers.length === 0) return undefined
  const { server } = settings.admission
  if (server === null) {
    throwDraftError(
      'there are webhooks, and `settings.admission.server` is not set when the operator is loaded; set it there and not in a ' +
        'startup handler, such as `kopf.settings.admission.server = new WebhookServiceServer({ service: "my-operator" })`',
    )
  }
  const service = 'service' in server ? server.service : undefined
  if (service === undefined) return undefined
  if ((service.namespace ?? namespace) !== namespace) {
    throwDraftError(
      `the webhooks are reached by a Service in the namespace "${service.namespace}", where the pods have to be; install it ` +
        `there with --install-namespace ${service.namespace}`,
    )
  }
  return { service: service.name, port: service.port, targetPort: service.targetPort }
}

/** Whether Secrets are an owned kind: the role then grants access to all Secrets. */
function ownsSecrets({ roles }: RolesPlan): boolean {
  const allowsAll = ({ group, resource, names, verbs }: RequiredRule) =>
    group === '' &&
    resource === 'secrets' &&
    names === undefined &&
    ['list', 'create'].every((verb) => verbs.includes(verb))
  return roles.some(({ needs: rolesPlan }) => rolesPlan.some(allowsAll))
}

function endpointsOf({ withMetrics, withDashboard }: DraftOptions): PlannedEndpoint[] {
  return [
    ...(withMetrics ? [{ name: 'metrics', title: 'the metrics', port: metricsDefaults.defaultPort } as const] : []),
    ...(withDashboard ? [{ name: 'dashboard', title: 'the dashboard', port: dashboardPort } as const] : []),
  ]
}

const endpointClients: Readonly<Record<PlannedEndpoint['name'], string>> = {
  metrics: 'For Prometheus. Add `from` with a namespaceSelector, so that only its namespace can connect.',
  dashboard: 'For the API server, through which `npx kopf dashboard` connects.',
}

function portsOf(
  { registry }: OperatorInternals,
  webhooks: DeploymentPlan['webhooks'],
  endpoints: readonly PlannedEndpoint[],
): DeploymentPlan['ports'] {
  const ports = endpoints.map(({ name, port }) => ({ port, clients: endpointClients[name] }))
  if (registry.webhookHandlers.length === 0) return ports
  const clients = 'For API servers. No selector matches them: add `from` with an ipBlock if you know their addresses.'
  return webhooks && [{ port: webhooks.targetPort, clients }, ...ports]
}

function remarksOn(operator: Operator, options: DraftOptions, rolesPlan: RolesPlan, plan: DeploymentPlan): string[] {
  const { resources, settings } = operator
  const { registry } = internalsOf(operator)
  const { peering, mandatory } = { peering: options.peering.peering, mandatory: settings.peering.mandatory }
  const remarks = [
    options.image === undefined && `The image is "${plan.image}": set yours with --image.`,
    !options.withCrds &&
      resources.length > 0 &&
      'The CRDs are not included: apply the output of `npx kopf crd` first, or add --with-crds.',
    remarkOnCalls(options.calls, rolesPlan.roles, options.grants.length > 0),
    registry.activities('startup').length > 0 &&
      'Startup handlers were not called: settings that they change are not taken into account. Set those of webhooks, the election, ' +
        'peering and scanning where the operator is created.',
    rolesPlan.isOpen &&
      'Handlers match resources by pattern: the roles have no rules for resources that are added later, until you print the manifests again.',
    registry.webhookHandlers.length > 0 &&
      plan.webhooks === undefined &&
      'The webhook server is not a WebhookServiceServer: create its Service and its certificates yourself. Its port is not known, ' +
        'so there is no NetworkPolicy.',
    ownsSecrets(rolesPlan) &&
      'Secrets are an owned kind: the role allows to list and change all Secrets in its scope, not only children, since RBAC cannot ' +
        'tell them apart. Serve only the namespaces that need it (--namespace), or keep secrets outside of the cluster.',
    (peering !== undefined || mandatory) &&
      `The peering "${peering ?? settings.peering.name}" is mandatory: create it, for example with peering.yaml of the package.`,
  ]
  return remarks.filter((one) => one !== false)
}
