/** Checks the `create` permission when an update or an apply creates the object. */
import type { ResourceCall } from '../call.ts'
import { demand } from './authorizer.ts'

export function demandCreation({ authorizer, user, resource, path }: ResourceCall): void {
  if (authorizer.isExempt(user)) return
  const { group, plural } = resource
  const { namespace, name } = path
  demand(authorizer, user, { verb: 'create', group, resource: plural, subresource: '', namespace, name })
}
