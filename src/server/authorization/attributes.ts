/** Authorization attributes of a request (verb, resource, namespace, name or path) and the 403 that denies it. Pure. */
import { pathSegmentNameProblems } from '../names.ts'
import { type ParsedRequest, type ResourcePath, verbOf } from '../request.ts'
import { parseFieldSelector } from '../selectors.ts'
import { forbidden, StatusError } from '../status.ts'

export interface ResourceAttributes {
  /** '' for an HTTP method that maps to no API verb. */
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource: string
  /** '' for cluster-scoped resources and for requests across all namespaces. */
  readonly namespace: string
  readonly name: string
}

/** A request for a non-resource URL: discovery, health, metrics. */
export interface NonResourceAttributes {
  readonly verb: string
  readonly path: string
}

export type AuthorizationAttributes = ResourceAttributes | NonResourceAttributes

export function attributesOf(parsed: ParsedRequest): AuthorizationAttributes {
  const { method, path, resource } = parsed
  if (resource === undefined) return { verb: method.toLowerCase(), path }
  const { group, plural, subresource } = resource
  const verb = verbOf(parsed) ?? ''
  return {
    verb,
    group,
    resource: plural,
    // RBAC checks only the first segment of a longer subresource path, such as `proxy/a/b`.
    subresource: subresource.split('/', 1)[0]!,
    namespace: namespaceOf(resource),
    name: resource.name || (isSelected(resource, verb) ? selectedName(parsed.query) : ''),
  }
}

/** A request for a Namespace object counts as a request in that namespace, so that a Role there can grant access to it. */
function namespaceOf({ plural, namespace, name }: ResourcePath): string {
  return namespace === '' && plural === 'namespaces' ? name : namespace
}

/**
 * A list or watch with a `metadata.name` field selector is authorized for that name. The deprecated `/watch/` paths ignore
 * selectors.
 */
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
    // An invalid selector is reported by the verb that parses it again.
    return ''
  }
}

/** The 403 error. `reason` is the authorizer's explanation; '' adds nothing. */
export function refusal(username: string, attempt: AuthorizationAttributes, reason: string): StatusError {
  const what = escapeHtml(describe(username, attempt))
  const why = reason === '' ? what : `${what}: ${reason}`
  if ('path' in attempt) return new StatusError(403, 'Forbidden', `forbidden: ${why}`, {})
  return forbidden({ group: attempt.group, plural: attempt.resource }, attempt.name, why)
}

function describe(username: string, attempt: AuthorizationAttributes): string {
  const who = `User "${username}" cannot ${attempt.verb}`
  if ('path' in attempt) return `${who} path "${attempt.path}"`
  const { group, resource, subresource, namespace } = attempt
  const what = subresource === '' ? resource : `${resource}/${subresource}`
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`
  return `${who} resource "${what}" in API group "${group}" ${where}`
}

/** Escapes HTML characters, since a browser may render the message. */
function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
