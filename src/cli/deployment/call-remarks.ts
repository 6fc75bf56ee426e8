/** What `kopf manifests` says about calls through the client: which of those in the source its rules do not allow. Pure. */
import type { PlannedRole } from '../../operator.ts'
import type { SeenCall, SeenCalls } from './seen-calls.ts'

/** More places than these are not named for one rule. */
const maxPlaces = 3
/** More calls than these are not named one by one. */
const maxUnclear = 20

/**
 * Says in any case that such calls are not covered, unless rules were added and nothing more is found: a client that is passed on, or used
 * by a package, is not seen. Rules are not added here, only named as `--grant` takes them: people decide what the source may do.
 */
export function remarkOnCalls(
  { clear, unclear }: SeenCalls,
  roles: readonly PlannedRole[],
  hasGrants: boolean,
): string | false {
  const missing = groupByRule(clear.flatMap((call) => withoutAllowed(call, roles)))
  const head = `What handlers do with the client is not ${hasGrants ? 'all ' : ''}in these rules: add it with --grant "verbs resource".`
  if (missing.length === 0 && unclear.length === 0) return !hasGrants && head
  const others = unclear.length - maxUnclear
  return [
    `${head} In the source there are:`,
    ...missing.map(({ rule, places }) => `  --grant "${rule}"  for ${listPlaces(places)}`),
    ...unclear.slice(0, maxUnclear).map(({ text, where }) => `  ${text} at ${where}, whose resource is not known`),
    ...(others > 0 ? [`  ${others} more whose resources are not known`] : []),
  ].join('\n')
}

/** The call with the verbs that no rule allows; nothing where all are allowed. A rule for names allows some objects only. */
function withoutAllowed(call: SeenCall, roles: readonly PlannedRole[]): SeenCall[] {
  const { group } = call.resource
  const needs = roles.flatMap((role) => role.needs)
  const rules = needs.filter((one) => one.group === group && one.resource === call.plural && one.names === undefined)
  const allowed = new Set(rules.flatMap(({ verbs, also = [] }) => [...verbs, ...also]))
  const verbs = allowed.has('*') ? [] : call.verbs.filter((verb) => !allowed.has(verb))
  return verbs.length === 0 ? [] : [{ ...call, verbs }]
}

interface MissingRule {
  /** As `--grant` takes it. */
  readonly rule: string
  readonly places: readonly string[]
}

/** One rule for each resource, with the verbs of all its calls. */
function groupByRule(calls: readonly SeenCall[]): readonly MissingRule[] {
  const byResource = new Map<string, SeenCall[]>()
  for (const call of calls) byResource.set(nameOf(call), [...(byResource.get(nameOf(call)) ?? []), call])
  return [...byResource].map(([name, all]) => ({
    rule: `${[...new Set(all.flatMap(({ verbs }) => verbs))].join(',')} ${name}`,
    places: [...new Set(all.map(({ where }) => where))],
  }))
}

/** `deployments.apps/scale` */
function nameOf({ resource: { group }, plural }: SeenCall): string {
  const [name, subresource] = plural.split('/')
  return `${name}${group === '' ? '' : `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`
}

function listPlaces(places: readonly string[]): string {
  const others = places.length - maxPlaces
  return [...places.slice(0, maxPlaces), ...(others > 0 ? [`${others} more`] : [])].join(', ')
}
