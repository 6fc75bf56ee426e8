/** The option `--grant "get,list configmaps"`: RBAC rules for requests that handlers send with the client. */
import type { Command } from 'commander'
import { KopfError } from '../../errors.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { formatResource, selectResources, toSelector } from '../../kube/resources/selectors.ts'
import type { RoleGrant } from '../../plan/plan-roles.ts'

/** A parsed `--grant` option: verbs, a resource, and optionally names of objects. */
interface AllowedRule {
  readonly text: string
  readonly verbs: readonly string[]
  readonly resource: string
  readonly subresource: string | undefined
  readonly names: readonly string[] | undefined
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', '*']

const why = 'requests that handlers send with the client (--grant)'

/** Parses the options. Called before anything is loaded, so that syntax errors are reported early. */
export function readAllowedRules(command: Command, texts: readonly string[] = []): AllowedRule[] {
  const fail = (text: string, reason: string): never =>
    command.error(`error: option '--grant <rule>' argument '${text}' is invalid: ${reason}.`)
  return texts.map((text) => {
    const [given = '', resource, names, ...extra] = text.trim().split(/\s+/)
    if (resource === undefined || extra.length > 0) {
      return fail(text, 'expected verbs, a resource, and perhaps names, such as "get,list configmaps"')
    }
    const givenVerbs = given.split(',')
    const wrong = givenVerbs.find((verb) => !verbs.includes(verb))
    if (wrong !== undefined) return fail(text, `"${wrong}" is not a verb; expected one of ${verbs.join(', ')}`)
    if (names !== undefined && givenVerbs.includes('create')) {
      return fail(text, 'Kubernetes cannot restrict "create" to names; grant it in a separate rule')
    }
    const [name = '', subresource] = resource.split('/')
    return { text, verbs: givenVerbs, resource: name, subresource, names: names?.split(',') }
  })
}

export function toGrant(
  { text, verbs, resource, subresource, names }: AllowedRule,
  known: readonly Resource[],
): RoleGrant {
  const { selected, candidates } = selectResources(toSelector(resource), known)
  const [found] = selected
  if (found === undefined) {
    const several = candidates.map(formatResource).join(', ')
    const reason =
      several === ''
        ? 'no resource of that name is known; give its CRD with --crd, or a cluster that serves it with --context'
        : `there are ${several}; name one of them`
    throw new KopfError('KOPF_MANIFESTS', `Cannot grant "${text}": ${reason}`)
  }
  const { group, plural, namespaced } = found
  const what = subresource === undefined ? plural : `${plural}/${subresource}`
  return { need: { group, resource: what, verbs, ...(names && { names }), why }, namespaced }
}
