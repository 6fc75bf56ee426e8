/** What is known of a request before it is served: whom and what it concerns. Pure. */
import type { FaultSubject } from './faults.ts'
import { type ParsedRequest, verbOf } from './request.ts'

export const nothing: FaultSubject = {
  verb: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  user: '',
  path: '',
}

export function subjectOf(parsed: ParsedRequest, user: string): FaultSubject {
  const { method, path, resource } = parsed
  // What is not a resource is got by its path, never listed or watched.
  if (resource === undefined) {
    return { ...nothing, path, user, verb: method === 'GET' || method === 'HEAD' ? 'get' : '' }
  }
  const { group, plural, subresource, namespace, name } = resource
  const verb = verbOf(parsed) ?? ''
  return { verb, resource: group === '' ? plural : `${plural}.${group}`, subresource, namespace, name, path, user }
}
