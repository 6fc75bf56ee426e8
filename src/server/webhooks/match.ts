/** Decides whether a webhook applies to a request: its rules, and the labels of the object and its namespace. Pure. */
import type { WebhookRule } from '../builtins/kinds/webhooks.ts'
import type { Labels } from '../label-requirements.ts'
import type { ApiResource } from '../resource.ts'
import type { Hook } from './hooks.ts'

type WebhookOperation = 'CREATE' | 'UPDATE' | 'DELETE'

/** The properties of a request that rules are matched with. */
export interface AdmissionSubject {
  readonly operation: WebhookOperation
  readonly resource: ApiResource
  readonly subresource: string
  /** '' for cluster-scoped objects; for a namespace its own name. */
  readonly namespace: string
}

/** A webhook to call, and the version of the resource that it gets. */
export interface Invocation {
  readonly hook: Hook
  readonly target: ApiResource
}

/** Webhook configurations are exempt, so that a webhook cannot block its own repair. */
export function isExempt({ group, kind }: ApiResource): boolean {
  return group === 'admissionregistration.k8s.io' && /^(Validating|Mutating)WebhookConfiguration$/.test(kind)
}

/** `equivalents` are the other resources with the same objects. The request's own version is preferred, then the order of the rules. */
export function matchHook(
  hook: Hook,
  subject: AdmissionSubject,
  equivalents: readonly ApiResource[],
): Invocation | undefined {
  if (hook.rules.some((rule) => matchesRule(rule, subject))) return { hook, target: subject.resource }
  if (hook.isExact) return undefined
  for (const rule of hook.rules) {
    const target = equivalents.find((resource) => matchesRule(rule, { ...subject, resource }))
    if (target !== undefined) return { hook, target }
  }
  return undefined
}

function matchesRule(rule: WebhookRule, { operation, resource, subresource, namespace }: AdmissionSubject): boolean {
  return (
    matchesScope(rule.scope, resource, namespace) &&
    includes(rule.operations, operation) &&
    includes(rule.apiGroups, resource.group) &&
    includes(rule.apiVersions, resource.version) &&
    (rule.resources ?? []).some((pattern) => matchesPattern(pattern, resource.plural, subresource))
  )
}

function matchesScope(scope: string | undefined, resource: ApiResource, namespace: string): boolean {
  if (scope === undefined || scope === '*') return true
  const isInNamespace = namespace !== '' && !isNamespace(resource)
  return isInNamespace === (scope === 'Namespaced')
}

export function isNamespace({ group, plural }: ApiResource): boolean {
  return group === '' && plural === 'namespaces'
}

function includes(wanted: readonly string[] = [], value: string): boolean {
  return wanted.includes('*') || wanted.includes(value)
}

/** `pods`, `pods/status`, `pods/*` and so on. A star after the slash also matches requests without a subresource. */
function matchesPattern(pattern: string, plural: string, subresource: string): boolean {
  const [resource, wanted = ''] = pattern.split(/\/(.*)/s)
  return (resource === '*' || resource === plural) && (wanted === '*' || wanted === subresource)
}

/** The labels that selectors are matched with: of the old and new object, and of the namespace. */
export interface Selectable {
  readonly object: Labels | undefined
  readonly old: Labels | undefined
  /** Undefined for cluster-scoped objects, which a namespaceSelector cannot exclude. */
  readonly namespace: (() => Labels) | undefined
}

export function isSelected(
  { objectSelector, namespaceSelector }: Hook,
  { object, old, namespace }: Selectable,
): boolean {
  const isObjectMeant =
    objectSelector.isEmpty ||
    (object !== undefined && objectSelector.matches(object)) ||
    (old !== undefined && objectSelector.matches(old))
  if (!isObjectMeant) return false
  return namespaceSelector.isEmpty || namespace === undefined || namespaceSelector.matches(namespace())
}
