/** The remark of `kopf manifests` about client calls in the source that the planned rules do not allow. Pure. */
import type { PlannedRole } from '../../../plan/plan-roles.ts'
import type { SeenCall, SeenCalls } from './seen-calls.ts'
import type { OperatorSource } from './source-files.ts'

/** The number of source positions that are listed per rule. */
const maxPlaces = 3
/** The number of calls with an unknown resource that are listed. */
const maxUnclear = 20

/**
 * False if the source has no call that the rules do not allow. Calls in packages, or with a client that is passed on under another name, are not
 * found. If a part of the source was not read, says so, except if the user has given `--grant`. Only suggests rules in the syntax of `--grant`:
 * the user decides what is granted.
 */
export function remarkOnCalls(
  { clear, unclear, unread }: SeenCalls & Pick<OperatorSource, 'unread'>,
  roles: readonly PlannedRole[],
  hasGrants: boolean,
): string | false {
  const missing = groupByRule(clear.flatMap((call) => withoutAllowed(call, roles)))
  const head = `Requests that handlers send with the client are not ${hasGrants ? 'all ' : ''}in these rules: add them with --grant "verbs resource".`
  if (missing.length === 0 && unclear.length === 0) {
    return unread.length > 0 && !hasGrants && `${head} The command has not searched ${unread.join(' and ')} for them.`
  }
  const others = unclear.length - maxUnclear
  return [
    `${head} In the source there are:`,
    ...missing.map(({ rule, places }) => `  --grant "${rule}"  for ${listPlaces(places)}`),
    ...unclear.slice(0, maxUnclear).map(({ text, where }) => `  ${text} at ${where}, whose resource is not known`),
    ...(others > 0 ? [`  ${others} more whose resources are not known`] : []),
  ].join('\n')
}

/** The call with only the verbs that no rule allows; empty if all are allowed. Rules that are restricted to names do not count. */
function withoutAllowed(call: SeenCall, roles: readonly PlannedRole[]): SeenCall[] {
  const { group } = call.resource
  const rules = roles
    .flatMap((role) => role.needs)
    .filter((one) => one.group === group && one.resource === call.plural && one.names === undefined)
  const allowed = new Set(rules.flatMap(({ verbs, optionalVerbs: also = [] }) => [...verbs, ...also]))
  const verbs = allowed.has('*') ? [] : call.verbs.filter((verb) => !allowed.has(verb))
  return verbs.length === 0 ? [] : [{ ...call, verbs }]
}

interface MissingRule {
  /** In the syntax of `--grant`. */
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
