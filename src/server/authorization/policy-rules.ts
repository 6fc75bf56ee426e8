/** Matches requests against PolicyRules. Pure. */
import { trimEnd } from '../../util/text/trim.ts'
import type { AuthorizationAttributes, NonResourceAttributes, ResourceAttributes } from './attributes.ts'

export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

/** Undefined if the rule contains `*` and matches everything. */
type RuleValues = ReadonlySet<string> | undefined

/** A PolicyRule with its lists as sets, for repeated matching. */
export interface CompiledPolicyRule {
  readonly rule: PolicyRule
  readonly verbs: RuleValues
  readonly groups: RuleValues
  readonly resources: RuleValues
  /** Undefined if the rule has no resourceNames and matches every name. */
  readonly names: RuleValues
  readonly paths: readonly string[]
}

/** Takes unknown, since a stored role may be older than the current validation. */
export function compileRules(rules: unknown): CompiledPolicyRule[] {
  return Array.isArray(rules) ? rules.map(compileRule) : []
}

function compileRule(rule: PolicyRule): CompiledPolicyRule {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule
  return {
    rule,
    verbs: toRuleValues(verbs),
    groups: toRuleValues(apiGroups),
    resources: toRuleValues(resources),
    names: resourceNames?.length ? new Set(resourceNames) : undefined,
    paths: nonResourceURLs ?? [],
  }
}

function toRuleValues(values: readonly string[] | null = []): RuleValues {
  return values?.includes('*') ? undefined : new Set(values)
}

export function allows(rule: CompiledPolicyRule, attempt: AuthorizationAttributes): boolean {
  if (rule.verbs?.has(attempt.verb) === false) return false
  return 'path' in attempt ? allowsPath(rule, attempt) : allowsResource(rule, attempt)
}

function allowsResource(rule: CompiledPolicyRule, { group, resource, subresource, name }: ResourceAttributes): boolean {
  if (rule.groups?.has(group) === false || rule.names?.has(name) === false) return false
  if (rule.resources === undefined) return true
  if (subresource === '') return rule.resources.has(resource)
  return rule.resources.has(`${resource}/${subresource}`) || rule.resources.has(`*/${subresource}`)
}

function allowsPath({ paths }: CompiledPolicyRule, { path }: NonResourceAttributes): boolean {
  return paths.some((pattern) => coversPath(pattern, path))
}

/** A non-resource URL may have `*` at its end only. */
export function coversPath(pattern: string, path: string): boolean {
  return pattern === path || (pattern.endsWith('*') && path.startsWith(trimEnd(pattern, '*')))
}
