/** Whether a webhook wants to be asked about a request: its rules, and the labels of the object and of its namespace. Pure. */
import type { WebhookRule } from '../builtins/kinds/webhooks.ts'
import type { Labels } from '../label-requirements.ts'
import type { ServedResource } from '../resource.ts'
import type { Hook } from './hooks.ts'

type Operation = 'CREATE' | 'UPDATE' | 'DELETE'

/** What a request is about, before its object is looked at. */
export interface Subject {
  readonly operation: Operation
  readonly resource: ServedResource
  readonly subresource: string
  /** '' where the object is in none; a namespace is in itself. */
  readonly namespace: string
}

/** A webhook, and the version of the resource in which it wants to see the object. */
export interface Invocation {
  readonly hook: Hook
  readonly target: ServedResource
}

/** Webhooks that could keep their own configurations from being put right. */
export function isExempt({ group, kind }: ServedResource): boolean {
  return group === 'admissionregistration.k8s.io' && /^(Validating|Mutating)WebhookConfiguration$/.test(kind)
}

/**
 * `equivalents` are all resources that show the same objects. Its own version comes before others, and an earlier rule
 * before later ones.
 */
export function matchHook(
  hook: Hook,
  subject: Subject,
  equivalents: readonly ServedResource[],
): Invocation | undefined {
  if (hook.rules.some((rule) => matchesRule(rule, subject))) return { hook, target: subject.resource }
  if (hook.isExact) return undefined
  for (const rule of hook.rules) {
    const target = equivalents.find((resource) => matchesRule(rule, { ...subject, resource }))
    if (target !== undefined) return { hook, target }
  }
  return undefined
}

function matchesRule(rule: WebhookRule, { operation, resource, subresource, namespace }: Subject): boolean {
  return (
    matchesScope(rule.scope, resource, namespace) &&
    includes(rule.operations, operation) &&
    includes(rule.apiGroups, resource.group) &&
    includes(rule.apiVersions, resource.version) &&
    (rule.resources ?? []).some((pattern) => matchesPattern(pattern, resource.plural, subresource))
  )
}

function matchesScope(scope: string | undefined, resource: ServedResource, namespace: string): boolean {
  if (scope === undefined || scope === '*') return true
  const isInNamespace = namespace !== '' && !isNamespace(resource)
  return isInNamespace === (scope === 'Namespaced')
}

export function isNamespace({ group, plural }: ServedResource): boolean {
  return group === '' && plural === 'namespaces'
}

function includes(wanted: readonly string[] = [], value: string): boolean {
  return wanted.includes('*') || wanted.includes(value)
}

/** `pods`, `pods/status`, `pods/*` and so on. A star after the slash stands for no subresource, too. */
function matchesPattern(pattern: string, plural: string, subresource: string): boolean {
  const [resource, wanted = ''] = pattern.split(/\/(.*)/s)
  return (resource === '*' || resource === plural) && (wanted === '*' || wanted === subresource)
}

/** What can be selected by: the labels of what was, of what shall be, and of the namespace. */
export interface Selectable {
  readonly object: Labels | undefined
  readonly old: Labels | undefined
  /** Undefined for what is in no namespace: such objects cannot be excluded by one. */
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
