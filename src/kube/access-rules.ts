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
  /** In the plural. */
  readonly resource: string
  readonly verbs: readonly string[]
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
  const rules = new Map<string, { apiGroups: string[]; resources: string[]; verbs: readonly string[] }>()
  for (const { group, resource, verbs } of needs) {
    const key = JSON.stringify([group, verbs])
    const rule = rules.get(key) ?? { apiGroups: [group], resources: [], verbs }
    if (!rule.resources.includes(resource)) rule.resources.push(resource)
    rules.set(key, rule)
  }
  const texts = Array.from(rules.values(), ({ apiGroups, resources, verbs }) => {
    return `{apiGroups: ${listOf(apiGroups)}, resources: ${listOf(resources)}, verbs: ${listOf(verbs)}}`
  })
  return `rules: [${texts.join(', ')}]`
}

function listOf(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(', ')}]`
}
