/** The definition of reconcilers (`kopf.reconcile`): called whenever the object, a child or a watched object changes. */
import {
  type CallForecast,
  commonOptions,
  type ExplainedState,
  filterOptions,
  type HandlerDefinition,
  progressIds,
  type Registration,
  retryArgs,
  retryOptions,
} from '../handlers/definition.ts'
import type { ReconcileHandler, ReconcileSpec, Watch } from '../handlers/handler.ts'
import type { ExistingPolicy } from '../handlers/options.ts'
import { type Options, readDuration, readFlag, throwOptionError } from '../handlers/options.ts'
import type { RequiredRule } from '../kube/rbac-rules.ts'
import type { Resource, ResourceLike } from '../kube/resources/resources.ts'
import { type ResourceSelector, toSelector } from '../kube/resources/selectors.ts'

export const reconcileDefinition: HandlerDefinition<'reconcile'> = {
  category: 'reconcile',
  types: {
    reconcile: {
      title: 'Reconciler',
      options: [
        ...commonOptions,
        ...retryOptions,
        ...filterOptions,
        ...['owns', 'watches', 'resync', 'cleanup', 'existing', 'adopt'],
      ],
      errors: 'temporary',
      successLevel: 'debug',
    },
  },
  parse: (registration) => ({ category: 'reconcile', reconciling: readReconciling(registration) }),
  needsFinalizer: ({ options, subject }) => readFlag(options, 'cleanup', subject),
  idPurpose: progressIds,
  args: [...retryArgs, 'patch', 'conditions', 'step'],
  result: 'own',
  isWebhook: false,
  hasEssentialField: false,
  relatedSelectors: ({ reconciling }) => [...reconciling.owns, ...reconciling.watches.map(({ selector }) => selector)],
  patchesObjects: true,
  rules: (handlers, resource) =>
    handlers.some(({ reconciling }) => reconciling.owns.length > 0) ? [ownerRule(resource)] : [],
  // The records of steps are removed by the finalizer: without it, nothing is stored.
  hasSteps: ({ needsFinalizer }) => needsFinalizer,
  explain: explainReconciler,
}

function readReconciling({ options, subject }: Registration): ReconcileSpec {
  const resyncMs = readDuration(options, 'resync', subject)
  if (resyncMs === 0) throwOptionError(subject, '"resync" must be longer than 0; leave it out to turn it off')
  return {
    owns: readOwned(options['owns'], subject),
    watches: readWatches(options['watches'], subject),
    resyncMs,
    existing: readExisting(options, subject),
  }
}

/** `adopt: true` is the older form of `existing: 'adopt'`. */
function readExisting(options: Options, subject: string): ExistingPolicy {
  const { existing } = options
  const adopts = readFlag(options, 'adopt', subject)
  if (existing === undefined) return adopts ? 'adopt' : 'refuse'
  if (!isExistingPolicy(existing)) throwOptionError(subject, `"existing" must be one of ${existingPolicies.join(', ')}`)
  if (adopts && existing !== 'adopt')
    throwOptionError(subject, `"adopt: true" and "existing: '${existing}'" contradict each other`)
  return existing
}

const existingPolicies: readonly ExistingPolicy[] = ['refuse', 'leave', 'adopt']

export function isExistingPolicy(value: unknown): value is ExistingPolicy {
  return existingPolicies.includes(value as ExistingPolicy)
}

/** Each entry must be one resource: every returned child has one kind. */
function readOwned(value: unknown, subject: string): readonly ResourceSelector[] {
  if (value === undefined) return []
  if (!Array.isArray(value))
    throwOptionError(subject, '"owns" must be a list of resources, such as [Deployment, "services"]')
  return (value as ResourceLike[]).map((like) => readOne(like, 'owns', subject))
}

function readWatches(value: unknown, subject: string): readonly Watch[] {
  if (value === undefined) return []
  const isPairs = Array.isArray(value) && value.every((pair) => Array.isArray(pair) && typeof pair[1] === 'function')
  if (!isPairs) {
    throwOptionError(
      subject,
      '"watches" must be a list of pairs, such as [[ConfigMap, (object) => [{ name: "the object to look at" }]]]',
    )
  }
  return (value as Array<readonly [ResourceLike, Watch['ownersOf']]>).map(([like, ownersOf]) => {
    return { selector: readOne(like, 'watches', subject), ownersOf }
  })
}

function readOne(like: ResourceLike, name: string, subject: string): ResourceSelector {
  const selector = toSelector(like)
  if (selector.isSpecific) return selector
  return throwOptionError(
    subject,
    `"${name}" has ${selector}: name each resource by itself, such as "deployments.apps"`,
  )
}

/**
 * The "finalizers" subresource has no endpoint; it exists only as a permission:
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#ownerreferencespermissionenforcement
 */
function ownerRule({ group, plural }: Resource): RequiredRule {
  return {
    group,
    resource: `${plural}/finalizers`,
    verbs: [],
    optionalVerbs: ['update'],
    why: 'to be the owner of children, in clusters that check it (OwnerReferencesPermissionEnforcement, OpenShift)',
  }
}

function explainReconciler(
  { needsFinalizer, reconciling }: ReconcileHandler,
  { deleting, hasFinalizer }: ExplainedState,
): CallForecast {
  if (deleting && needsFinalizer) {
    if (!hasFinalizer)
      return {
        verdict: 'no',
        why: 'The object is being deleted, and has no finalizer of the operator: the clean-up is done',
      }
    return { verdict: 'runs', why: 'It is called until it returns without an error: the object stays until then' }
  }
  if (needsFinalizer && !hasFinalizer)
    return { verdict: 'later', why: 'It is called when the finalizer of the operator is on the object' }
  const related = [...reconciling.owns, ...reconciling.watches.map(({ selector }) => selector)]
  const what = ['the object', ...related.map((selector) => `one of its ${selector}`)].join(', or ')
  const kept = needsFinalizer ? 'its steps are stored until it returns without an error' : 'nothing is stored'
  return { verdict: 'later', why: `It is called at the start, and whenever ${what} changes; ${kept}` }
}
