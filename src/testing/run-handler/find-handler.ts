/** Finds the handler that the options of `runHandler` select. */

import { KopfError } from '../../errors.ts'
import type { Handler } from '../../handlers/handler.ts'
import type { ResourceLike } from '../../kube/resources/resources.ts'
import { toSelector } from '../../kube/resources/selectors.ts'
import type { KnownResources } from './known-resources.ts'

export interface HandlerQuery {
  readonly id: string
  readonly kind?: string
  readonly resource?: ResourceLike
}

/**
 * Finds the handler with this id, or with this id before its field or versions. For the id of a sub-handler, finds the handler
 * that declares it. Throws if several different handlers match.
 */
export function findHandler(handlers: readonly Handler[], query: HandlerQuery, known: KnownResources): Handler {
  const candidates = handlers.filter((handler) => isCandidate(handler, query, known))
  const matches = [
    candidates.filter(({ id }) => id === query.id),
    candidates.filter(({ id }) => id.startsWith(`${query.id}/`)),
    parentsOf(candidates, query),
  ]
  const found = matches.find(({ length }) => length > 0) ?? []
  const [first] = found
  if (first === undefined) throw notFound(candidates, query)
  if (found.some(({ fn }) => fn !== first.fn)) throw ambiguous(found, query)
  return first
}

function isCandidate({ selector, type: kind }: Handler, query: HandlerQuery, known: KnownResources): boolean {
  if (query.kind !== undefined && kind !== query.kind) return false
  if (query.resource === undefined || selector === undefined) return true
  return selector.matchesAnyVersion(known.describe(toSelector(query.resource)))
}

/** The change handlers with the longest id that is a prefix of the sub-handler's id. */
function parentsOf(candidates: readonly Handler[], { id }: HandlerQuery): Handler[] {
  const parents = candidates.filter((one) => id.startsWith(`${one.id}/`) && one.category === 'change')
  const longest = Math.max(...parents.map((one) => one.id.length))
  return parents.filter((one) => one.id.length === longest)
}

function notFound(candidates: readonly Handler[], { id, kind, resource }: HandlerQuery): KopfError {
  const what = [kind, 'handler', `"${id}"`, ...(resource === undefined ? [] : [`of ${toSelector(resource)}`])]
  const others = [...new Set(candidates.map((one) => `"${one.id}" (${one.type})`))].join(', ')
  const instead = others === '' ? 'there are no handlers to choose from' : `there are ${others}`
  return new KopfError(
    'KOPF_TEST_HANDLER',
    `Cannot run the ${what.filter(Boolean).join(' ')}: the operator has no handler with this id; ${instead}`,
  )
}

function ambiguous(found: readonly Handler[], { id }: HandlerQuery): KopfError {
  const which = found.map((one) => `"${one.id}" (${one.type} of ${one.selector ?? 'the operator'})`).join(', ')
  return new KopfError(
    'KOPF_TEST_HANDLER',
    `Cannot choose the handler "${id}": there are ${which}; add \`kind\` or \`resource\`, or give the whole id`,
  )
}
