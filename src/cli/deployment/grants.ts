/** `--grant "get,list configmaps"`: what handlers do with the client, in words close to those of kubectl. */
import type { Command } from 'commander'
import { KopfError } from '../../errors.ts'
import type { Resource } from '../../kube/resources.ts'
import { formatResource, selectResources, toSelector } from '../../kube/selectors.ts'
import type { Grant } from '../../operator.ts'

/** As it was written: verbs, a resource, and perhaps names of objects. */
interface Wish {
  readonly text: string
  readonly verbs: readonly string[]
  readonly resource: string
  readonly subresource: string | undefined
  readonly names: readonly string[] | undefined
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', '*']

const why = 'what handlers do with the client, by --grant'

/** What is wrong with how it is written is told before anything is loaded. */
export function readWishes(command: Command, texts: readonly string[] = []): Wish[] {
  const refuse = (text: string, reason: string): never =>
    command.error(`error: option '--grant <rule>' argument '${text}' is invalid: ${reason}.`)
  return texts.map((text) => {
    const [given = '', resource, names, ...rest] = text.trim().split(/\s+/)
    if (resource === undefined || rest.length > 0) {
      return refuse(text, 'expected verbs, a resource, and perhaps names, such as "get,list configmaps"')
    }
    const wanted = given.split(',')
    const wrong = wanted.find((verb) => !verbs.includes(verb))
    if (wrong !== undefined) return refuse(text, `"${wrong}" is no verb; there are ${verbs.join(', ')}`)
    if (names !== undefined && wanted.includes('create')) {
      return refuse(text, 'Kubernetes cannot restrict "create" to names; grant it by a rule of its own')
    }
    const [name = '', subresource] = resource.split('/')
    return { text, verbs: wanted, resource: name, subresource, names: names?.split(',') }
  })
}

export function toGrant({ text, verbs, resource, subresource, names }: Wish, known: readonly Resource[]): Grant {
  const { selected, candidates } = selectResources(toSelector(resource), known)
  const [found] = selected
  if (found === undefined) {
    const several = candidates.map(formatResource).join(', ')
    const reason =
      several === ''
        ? 'nothing is known by that name; give its definition with --crd, or a cluster that serves it with --context'
        : `there are ${several}; name one of them`
    throw new KopfError('KOPF_MANIFESTS', `Cannot grant "${text}": ${reason}`)
  }
  const { group, plural, namespaced } = found
  const what = subresource === undefined ? plural : `${plural}/${subresource}`
  return { need: { group, resource: what, verbs, ...(names && { names }), why }, namespaced }
}
