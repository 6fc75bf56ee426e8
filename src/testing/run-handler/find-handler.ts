/** Which handler of an operator is meant. */

import { KopfError } from '../../errors.ts'
import type { Handler } from '../../handlers/handler.ts'
import type { ResourceLike } from '../../kube/resources/resources.ts'
import { toSelector } from '../../kube/resources/selectors.ts'
import type { KnownResources } from './known-resources.ts'

export interface WantedHandler {
  readonly id: string
  readonly kind?: string
  readonly resource?: ResourceLike
}

/**
 * The one of that id, or with that id before its field or its versions; for the id of a sub-handler, the one that declares it.
 */
export function findHandler(handlers: readonly Handler[], wanted: WantedHandler, known: KnownResources): Handler {
  const candidates = handlers.filter((handler) => isCandidate(handler, wanted, known))
  const readings = [
    candidates.filter(({ id }) => id === wanted.id),
    candidates.filter(({ id }) => id.startsWith(`${wanted.id}/`)),
    parentsOf(candidates, wanted),
  ]
  const found = readings.find(({ length }) => length > 0) ?? []
  const [first] = found
  if (first === undefined) throw notFound(candidates, wanted)
  if (found.some(({ fn }) => fn !== first.fn)) throw ambiguous(found, wanted)
  return first
}

function isCandidate({ selector, type: kind }: Handler, wanted: WantedHandler, known: KnownResources): boolean {
  if (wanted.kind !== undefined && kind !== wanted.kind) return false
  if (wanted.resource === undefined || selector === undefined) return true
  return selector.matchesAnyVersion(known.describe(toSelector(wanted.resource)))
}

/** The closest of those that can have sub-handlers. */
function parentsOf(candidates: readonly Handler[], { id }: WantedHandler): Handler[] {
  const parents = candidates.filter((one) => id.startsWith(`${one.id}/`) && one.category === 'change')
  const longest = Math.max(...parents.map((one) => one.id.length))
  return parents.filter((one) => one.id.length === longest)
}

function notFound(candidates: readonly Handler[], { id, kind, resource }: WantedHandler): KopfError {
  const what = [kind, 'handler', `"${id}"`, ...(resource === undefined ? [] : [`of ${toSelector(resource)}`])]
  const others = [...new Set(candidates.map((one) => `"${one.id}" (${one.type})`))].join(', ')
  const instead = others === '' ? 'there is none that could be meant' : `there are ${others}`
  return new KopfError(
    'KOPF_TEST_HANDLER',
    `Cannot run the ${what.filter(Boolean).join(' ')}: the operator has none of that id; ${instead}`,
  )
}

function ambiguous(found: readonly Handler[], { id }: WantedHandler): KopfError {
  const which = found.map((one) => `"${one.id}" (${one.type} of ${one.selector ?? 'the operator'})`).join(', ')
  return new KopfError(
    'KOPF_TEST_HANDLER',
    `Cannot tell which handler "${id}" is meant: there are ${which}; say \`kind\`, \`resource\`, or the whole id`,
  )
}
