/**
 * RBAC rules: finds required rules that are not granted, and formats required rules as a role. Pure; used by rbac/ and `kopf
 * manifests`.
 */

export interface AccessRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  /** Limits the rule to objects of these names; empty for all objects. */
  readonly resourceNames?: readonly string[]
}

/** A permission that the operator needs. */
export interface RequiredRule {
  /** The API group. Empty for the core group. */
  readonly group: string
  /** The plural, with a subresource after a slash: `pods/status`. */
  readonly resource: string
  /** A missing verb is reported as a warning. */
  readonly verbs: readonly string[]
  /** Verbs for rare cases: part of generated roles, but not reported when they are missing. */
  readonly optionalVerbs?: readonly string[]
  /** Limits the rule to objects of these names. */
  readonly names?: readonly string[]
  /** The purpose, as a comment in the generated role. */
  readonly why?: string
}

/** A rule with its purpose. */
export interface ExplainedRule extends AccessRule {
  readonly why: string | undefined
}

export function isAllowed(rules: readonly AccessRule[], { group, resource }: RequiredRule, verb: string): boolean {
  return rules.some(
    ({ apiGroups, resources, verbs, resourceNames = [] }) =>
      resourceNames.length === 0 &&
      includes(apiGroups, group) &&
      includes(resources, resource) &&
      includes(verbs, verb),
  )
}

function includes(values: readonly string[], value: string): boolean {
  return values.includes(value) || values.includes('*')
}

/** The required rules that are not granted, each with its missing verbs. */
export function findMissing(needs: readonly RequiredRule[], rules: readonly AccessRule[]): RequiredRule[] {
  return needs
    .map((need) => ({ ...need, verbs: need.verbs.filter((verb) => !isAllowed(rules, need, verb)) }))
    .filter(({ verbs }) => verbs.length > 0)
}

/** The `rules` of a role as one line of YAML. Resources with the same verbs share a rule. */
export function formatRules(needs: readonly RequiredRule[]): string {
  const required = needs.filter(({ verbs }) => verbs.length > 0)
  const rules = toRules(required.map(({ group, resource, verbs }) => ({ group, resource, verbs })))
  const texts = rules.map(({ apiGroups, resources, verbs }) => {
    return `{apiGroups: ${formatList(apiGroups)}, resources: ${formatList(resources)}, verbs: ${formatList(verbs)}}`
  })
  return `rules: [${texts.join(', ')}]`
}

function formatList(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(', ')}]`
}

/** The rules of a role for all required and optional verbs, merged into few rules without duplicates. */
export function toRules(needs: readonly RequiredRule[]): ExplainedRule[] {
  const rules: ExplainedRule[] = []
  for (const { group, resource, verbs, names, why } of deduplicate(needs)) {
    const rule = {
      apiGroups: [group],
      resources: [resource],
      ...(names === undefined ? {} : { resourceNames: names }),
      verbs,
      why,
    }
    const position = rules.findIndex((other) => tryMerge(other, rule) !== undefined)
    if (position < 0) rules.push(rule)
    else rules[position] = tryMerge(rules[position]!, rule)!
  }
  return rules
}

/** One rule per resource and names, with all verbs. A verb that is granted for all objects is dropped from rules with names. */
function deduplicate(needs: readonly RequiredRule[]): RequiredRule[] {
  const found = new Map<string, RequiredRule>()
  for (const need of needs) {
    const { group, resource, names, why, optionalVerbs: also = [] } = need
    const key = keyOf(need, names)
    const other = found.get(key)
    const verbs = sortVerbs([...(other?.verbs ?? []), ...need.verbs, ...also])
    const reasons = new Set([other?.why, why].filter((one) => one !== undefined))
    found.set(key, {
      group,
      resource,
      verbs,
      ...(names && { names }),
      ...(reasons.size && { why: [...reasons].join('; ') }),
    })
  }
  const all = [...found.values()].map((need) => {
    const forAll = need.names === undefined ? undefined : found.get(keyOf(need, undefined))
    return { ...need, verbs: need.verbs.filter((verb) => !forAll?.verbs.includes(verb)) }
  })
  return all.filter(({ verbs }) => verbs.length > 0)
}

function keyOf({ group, resource }: RequiredRule, names: readonly string[] | undefined): string {
  return JSON.stringify([group, resource, names])
}

/** Merges two rules that differ only in their resources or only in their groups; undefined for other pairs. */
function tryMerge(a: ExplainedRule, b: ExplainedRule): ExplainedRule | undefined {
  if (a.why !== b.why || !isSame(a.verbs, b.verbs) || !isSame(a.resourceNames, b.resourceNames)) return undefined
  if (isSame(a.apiGroups, b.apiGroups)) return { ...a, resources: [...a.resources, ...b.resources] }
  return isSame(a.resources, b.resources) ? { ...a, apiGroups: [...a.apiGroups, ...b.apiGroups] } : undefined
}

function isSame(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.length === b.length && a.every((value, position) => value === b[position])
}

const verbOrder = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']

/** Without duplicates, in the conventional order. */
function sortVerbs(verbs: readonly string[]): string[] {
  const rankOf = (verb: string) => (verbOrder.includes(verb) ? verbOrder.indexOf(verb) : verbOrder.length)
  return [...new Set(verbs)].toSorted((a, b) => rankOf(a) - rankOf(b))
}
