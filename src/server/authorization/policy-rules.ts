/** The rules in roles: what each allows. Pure; the same words as in a Role. */
import { trimEnd } from '../../util/text.ts'
import type { Attempt, PathAttempt, ResourceAttempt } from './attempt.ts'

export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

/** Undefined where everything is meant. */
type Wanted = ReadonlySet<string> | undefined

/** A rule in the form in which it is asked many times. */
export interface CompiledRule {
  readonly rule: PolicyRule
  readonly verbs: Wanted
  readonly groups: Wanted
  readonly resources: Wanted
  /** Undefined for objects of any name. */
  readonly names: Wanted
  readonly paths: readonly string[]
}

/** What a stored role has; it may be older than the rules by which roles are checked. */
export function compileRules(rules: unknown): CompiledRule[] {
  return Array.isArray(rules) ? rules.map(compileRule) : []
}

function compileRule(rule: PolicyRule): CompiledRule {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule
  return {
    rule,
    verbs: wanted(verbs),
    groups: wanted(apiGroups),
    resources: wanted(resources),
    names: resourceNames?.length ? new Set(resourceNames) : undefined,
    paths: nonResourceURLs ?? [],
  }
}

function wanted(values: readonly string[] | null = []): Wanted {
  return values?.includes('*') ? undefined : new Set(values)
}

export function allows(rule: CompiledRule, attempt: Attempt): boolean {
  if (rule.verbs?.has(attempt.verb) === false) return false
  return 'path' in attempt ? allowsPath(rule, attempt) : allowsResource(rule, attempt)
}

function allowsResource(rule: CompiledRule, { group, resource, subresource, name }: ResourceAttempt): boolean {
  if (rule.groups?.has(group) === false || rule.names?.has(name) === false) return false
  if (rule.resources === undefined) return true
  if (subresource === '') return rule.resources.has(resource)
  return rule.resources.has(`${resource}/${subresource}`) || rule.resources.has(`*/${subresource}`)
}

function allowsPath({ paths }: CompiledRule, { path }: PathAttempt): boolean {
  return paths.some((pattern) => coversPath(pattern, path))
}

/** Only at its end does a path have a star. */
export function coversPath(pattern: string, path: string): boolean {
  return pattern === path || (pattern.endsWith('*') && path.startsWith(trimEnd(pattern, '*')))
}
