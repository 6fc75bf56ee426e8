/** Compares two sets of RBAC rules: which permissions of one are not covered by the other, in the real server's wording. Pure. */
import { quote } from '../field-errors.ts'
import { coversPath, type PolicyRule } from './policy-rules.ts'

/**
 * Limit on expanded permissions. A rule expands to the product of its groups, resources, verbs and names, so a body of a few
 * kilobytes could otherwise block the server. Hand-written rules stay far below the limit.
 */
const maxPermissions = 100_000

/** Limit on string comparisons between held and requested rules. */
const maxComparisons = 100_000_000

/** Undefined if the rules exceed the limits above. */
export function missingPermissions(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): PolicyRule[] | undefined {
  const words = countWords(held)
  if (words * countWords(wanted) > maxComparisons) return undefined
  // A rule that one held rule covers entirely need not be expanded.
  const rest = wanted.filter((rule) => !held.some((owned) => covers(owned, rule)))
  const total = rest.reduce((sum, rule) => sum + countPermissions(rule), 0)
  if (total > maxPermissions || total * words > maxComparisons) return undefined
  return rest.flatMap(breakDown).filter((part) => !held.some((owned) => covers(owned, part)))
}

function countWords(rules: readonly PolicyRule[]): number {
  return rules.reduce(
    (sum, rule) => sum + Object.values(rule).reduce((count, words) => count + (words?.length ?? 0), 0),
    0,
  )
}

function countPermissions(rule: PolicyRule): number {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule
  const perVerb = apiGroups.length * resources.length * Math.max(resourceNames.length, 1) + nonResourceURLs.length
  return verbs.length * perVerb
}

/** Expands a rule into rules of one verb, one resource and at most one name each. */
function breakDown(rule: PolicyRule): PolicyRule[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule
  const names = resourceNames.length === 0 ? [[]] : resourceNames.map((name) => [name])
  const parts: PolicyRule[] = []
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        for (const name of names) {
          parts.push({ verbs: [verb], apiGroups: [group], resources: [resource], resourceNames: name })
        }
      }
    }
  }
  for (const path of nonResourceURLs) {
    for (const verb of verbs) parts.push({ verbs: [verb], nonResourceURLs: [path] })
  }
  return parts
}

function covers(held: PolicyRule, wanted: PolicyRule): boolean {
  return (
    coversAll(held.verbs, wanted.verbs) &&
    coversAll(held.apiGroups, wanted.apiGroups) &&
    coversResources(held.resources, wanted.resources) &&
    coversPaths(held.nonResourceURLs, wanted.nonResourceURLs) &&
    coversNames(held.resourceNames, wanted.resourceNames)
  )
}

function coversAll(held: readonly string[] = [], wanted: readonly string[] = []): boolean {
  return held.includes('*') || wanted.every((one) => held.includes(one))
}

function coversResources(held: readonly string[] = [], wanted: readonly string[] = []): boolean {
  if (coversAll(held, wanted)) return true
  return wanted.every((one) => held.includes(one) || (one.includes('/') && held.includes(one.replace(/^[^/]*/, '*'))))
}

function coversPaths(held: readonly string[] = [], wanted: readonly string[] = []): boolean {
  return wanted.every((path) => held.some((pattern) => coversPath(pattern, path)))
}

/** A rule without resourceNames covers every name. */
function coversNames(held: readonly string[] = [], wanted: readonly string[] = []): boolean {
  if (held.length === 0) return true
  return wanted.length > 0 && wanted.every((name) => held.includes(name))
}

/** One line per resource, sorted, with all missing verbs. */
export function describePermissions(missing: readonly PolicyRule[]): string {
  const byResource = new Map<string, PolicyRule>()
  const others: PolicyRule[] = []
  for (const rule of missing) {
    if (rule.resources === undefined) others.push(rule)
    else {
      const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames])
      const known = byResource.get(key)
      byResource.set(key, known === undefined ? rule : { ...known, verbs: [...known.verbs, ...rule.verbs] })
    }
  }
  return [...new Set([...others, ...byResource.values()].map(describe))].sort().join('\n')
}

function describe(rule: PolicyRule): string {
  const parts: ReadonlyArray<readonly [string, readonly string[] | undefined]> = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ]
  const present = parts.flatMap(([name, values]) => (values?.length ? [`${name}:${formatList(values)}`] : []))
  return `{${present.join(', ')}}`
}

/** Formats like Go's `%q` of a string slice: `["a" "b"]`. */
export function formatList(values: readonly string[]): string {
  return `[${values.map(quote).join(' ')}]`
}
