/** URL paths of collections and objects, and query strings, for everything that builds an `ApiCall`. Pure. */
import { KopfError } from '../errors.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { ApiCall } from './session.ts'

/** The fields of a resource that its paths are made of. */
export type Located = Pick<Resource, 'group' | 'version' | 'plural' | 'namespaced'>

export interface ObjectKey {
  readonly name: string
  readonly namespace?: string | undefined
}

/** The collection of one namespace, or of all namespaces if none is given. */
export function collectionPath(resource: Located, namespace?: string): string {
  const root = groupVersionPath(resource)
  const plural = toSegment(resource.plural, 'resource')
  if (!resource.namespaced || namespace === undefined) return `${root}/${plural}`
  return `${root}/namespaces/${toSegment(namespace, 'namespace')}/${plural}`
}

export function objectPath(resource: Located, { name, namespace }: ObjectKey, subresource?: string): string {
  if (resource.namespaced && namespace === undefined) {
    throw new KopfError(
      'KOPF_NAMESPACE',
      `Cannot address ${resource.plural} ${JSON.stringify(name)} without a namespace: ${resource.plural} are namespaced`,
    )
  }
  const path = `${collectionPath(resource, namespace)}/${toSegment(name, 'object')}`
  return subresource === undefined ? path : `${path}/${toSegment(subresource, 'subresource')}`
}

/** `/api/v1`, `/apis/apps/v1`. */
export function groupVersionPath({ group, version }: { readonly group: string; readonly version: string }): string {
  const encoded = toSegment(version, 'version')
  return group === '' ? `/api/${encoded}` : `/apis/${toSegment(group, 'group')}/${encoded}`
}

/** `/apis/apps`. The core group has no such path. */
export function groupPath(group: string): string {
  return `/apis/${toSegment(group, 'group')}`
}

/** The query string with its question mark; empty without parameters. */
export function toQuery(query: ApiCall['query'] = {}): string {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(String(value))}`)
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/**
 * Servers decode a path before they split it: an encoded slash makes two segments of one, and a name such as "a/status"
 * would reach a subresource; an empty name turns the deletion of an object into that of a collection. The API server allows no
 * such names (path segment validation), so the check rejects no valid request.
 */
function toSegment(text: string, what: string): string {
  if (text !== '' && text !== '.' && text !== '..' && !/[/%\p{Surrogate}]/u.test(text)) {
    return encodeURIComponent(text)
  }
  throw new KopfError(
    'KOPF_NAME',
    `Cannot use ${JSON.stringify(text)} as the name of a${/^[aeiou]/.test(what) ? 'n' : ''} ${what}: expected a name that is not empty, "." or "..", and without "/" and "%"`,
  )
}
