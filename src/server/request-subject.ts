/** The properties of a request that faults and the request log use. Pure. */
import type { FaultSubject } from './faults.ts'
import { type ParsedRequest, verbOf } from './request.ts'

export const emptySubject: FaultSubject = {
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
  // Paths that are not resources have the verb `get` only.
  if (resource === undefined) {
    return { ...emptySubject, path, user, verb: method === 'GET' || method === 'HEAD' ? 'get' : '' }
  }
  const { group, plural, subresource, namespace, name } = resource
  const verb = verbOf(parsed) ?? ''
  return { verb, resource: group === '' ? plural : `${plural}.${group}`, subresource, namespace, name, path, user }
}
