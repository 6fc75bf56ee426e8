/** What somebody is about to do, in the words of RBAC, and how the API refuses it. Pure. */
import { pathSegmentNameProblems } from '../names.ts'
import { type ParsedRequest, type ResourcePath, verbOf } from '../request.ts'
import { parseFieldSelector } from '../selectors.ts'
import { forbidden, StatusError } from '../status.ts'

export interface ResourceAttempt {
  /** '' for a method that the API has no use for. */
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource: string
  /** '' for what is of the cluster, and for requests across namespaces. */
  readonly namespace: string
  readonly name: string
}

/** What is not a resource: discovery, health, metrics. */
export interface PathAttempt {
  readonly verb: string
  readonly path: string
}

export type Attempt = ResourceAttempt | PathAttempt

export function attemptOf(parsed: ParsedRequest): Attempt {
  const { method, path, resource } = parsed
  if (resource === undefined) return { verb: method.toLowerCase(), path }
  const { group, plural, subresource } = resource
  const verb = verbOf(parsed) ?? ''
  return {
    verb,
    group,
    resource: plural,
    // Of a longer path, only the first part counts.
    subresource: subresource.split('/', 1)[0]!,
    namespace: namespaceOf(resource),
    name: resource.name || (isSelected(resource, verb) ? selectedName(parsed.query) : ''),
  }
}

/** A namespace is in itself: who has a role in it may be allowed to see it. */
function namespaceOf({ plural, namespace, name }: ResourcePath): string {
  return namespace === '' && plural === 'namespaces' ? name : namespace
}

/** Who asks for one object by a selector asks for that one. The old way to watch has no selectors. */
function isSelected({ isWatchPath }: ResourcePath, verb: string): boolean {
  return !isWatchPath && (verb === 'list' || verb === 'watch')
}

function selectedName(query: URLSearchParams): string {
  const selector = query.get('fieldSelector')
  if (!selector) return ''
  try {
    const exact = parseFieldSelector(selector).find(({ field, isEqual }) => isEqual && field === 'metadata.name')
    return exact && pathSegmentNameProblems(exact.value, false).length === 0 ? exact.value : ''
  } catch {
    // Whoever serves the request will say what is wrong with it.
    return ''
  }
}

/** The refusal, with what the authorizer had to add. */
export function refusal(username: string, attempt: Attempt, reason: string): StatusError {
  const what = withoutMarkup(describe(username, attempt))
  const why = reason === '' ? what : `${what}: ${reason}`
  if ('path' in attempt) return new StatusError(403, 'Forbidden', `forbidden: ${why}`, {})
  return forbidden({ group: attempt.group, plural: attempt.resource }, attempt.name, why)
}

function describe(username: string, attempt: Attempt): string {
  const who = `User "${username}" cannot ${attempt.verb}`
  if ('path' in attempt) return `${who} path "${attempt.path}"`
  const { group, resource, subresource, namespace } = attempt
  const what = subresource === '' ? resource : `${resource}/${subresource}`
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`
  return `${who} resource "${what}" in API group "${group}" ${where}`
}

/** Nothing in a refusal is to look like HTML: a browser may show it. */
function withoutMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
