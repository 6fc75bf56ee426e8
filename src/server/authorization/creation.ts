/** Whoever makes an object by an update or an apply has to be allowed to create it, too. */
import type { Call } from '../call.ts'
import { demand } from './authorizer.ts'

export function demandCreation({ authorizer, user, resource, path }: Call): void {
  if (authorizer.isExempt(user)) return
  const { group, plural } = resource
  const { namespace, name } = path
  demand(authorizer, user, { verb: 'create', group, resource: plural, subresource: '', namespace, name })
}
