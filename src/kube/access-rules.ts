/** What somebody may do, in the words of RBAC: compared with what is needed, and written down for those who can grant it. Pure. */

export interface AccessRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  /** Where there are any, it is for these objects only. */
  readonly resourceNames?: readonly string[]
}

export interface Need {
  readonly group: string
  /** In the plural; with a subresource after a slash. */
  readonly resource: string
  /** Something is amiss where one of them is not allowed. */
  readonly verbs: readonly string[]
  /** It comes to these at times only, and for want of them nothing is amiss until then: granted, and not asked for. */
  readonly also?: readonly string[]
  /** Of these objects only. */
  readonly names?: readonly string[]
  /** What for: a phrase for whoever reads the role. */
  readonly why?: string
}

/** A rule, and what for. */
export interface ExplainedRule extends AccessRule {
  readonly why: string | undefined
}

export function isAllowed(rules: readonly AccessRule[], { group, resource }: Need, verb: string): boolean {
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

/** The needs that these rules do not meet, each with the verbs that are missing. */
export function findMissing(needs: readonly Need[], rules: readonly AccessRule[]): Need[] {
  return needs
    .map((need) => ({ ...need, verbs: need.verbs.filter((verb) => !isAllowed(rules, need, verb)) }))
    .filter(({ verbs }) => verbs.length > 0)
}

/** As the `rules` of a role, on one line of YAML; what has the verbs in common shares a rule. */
export function formatRules(needs: readonly Need[]): string {
  const asked = needs.filter(({ verbs }) => verbs.length > 0)
  const rules = toRules(asked.map(({ group, resource, verbs }) => ({ group, resource, verbs })))
  const texts = rules.map(({ apiGroups, resources, verbs }) => {
    return `{apiGroups: ${listOf(apiGroups)}, resources: ${listOf(resources)}, verbs: ${listOf(verbs)}}`
  })
  return `rules: [${texts.join(', ')}]`
}

function listOf(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(', ')}]`
}

/** All that may come to be needed, as the rules of a role: none twice, and as few as can be read. */
export function toRules(needs: readonly Need[]): ExplainedRule[] {
  const rules: ExplainedRule[] = []
  for (const { group, resource, verbs, names, why } of withoutRepetitions(needs)) {
    const rule = {
      apiGroups: [group],
      resources: [resource],
      ...(names === undefined ? {} : { resourceNames: names }),
      verbs,
      why,
    }
    const position = rules.findIndex((other) => join(other, rule) !== undefined)
    if (position < 0) rules.push(rule)
    else rules[position] = join(rules[position]!, rule)!
  }
  return rules
}

/** One for each resource and names, with all verbs; what is allowed for all objects need not be for some of them. */
function withoutRepetitions(needs: readonly Need[]): Need[] {
  const found = new Map<string, Need>()
  for (const need of needs) {
    const { group, resource, names, why, also = [] } = need
    const key = keyOf(need, names)
    const other = found.get(key)
    const verbs = inOrder([...(other?.verbs ?? []), ...need.verbs, ...also])
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

function keyOf({ group, resource }: Need, names: readonly string[] | undefined): string {
  return JSON.stringify([group, resource, names])
}

/** Two that differ in their resources, or in their groups, are one. */
function join(a: ExplainedRule, b: ExplainedRule): ExplainedRule | undefined {
  if (a.why !== b.why || !isSame(a.verbs, b.verbs) || !isSame(a.resourceNames, b.resourceNames)) return undefined
  if (isSame(a.apiGroups, b.apiGroups)) return { ...a, resources: [...a.resources, ...b.resources] }
  return isSame(a.resources, b.resources) ? { ...a, apiGroups: [...a.apiGroups, ...b.apiGroups] } : undefined
}

function isSame(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.length === b.length && a.every((value, position) => value === b[position])
}

const verbOrder = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']

/** As people write them. */
function inOrder(verbs: readonly string[]): string[] {
  const rankOf = (verb: string) => (verbOrder.includes(verb) ? verbOrder.indexOf(verb) : verbOrder.length)
  return [...new Set(verbs)].toSorted((a, b) => rankOf(a) - rankOf(b))
}
