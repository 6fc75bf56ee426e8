/** The view of all objects: filtered, sorted, and one page of rows. Takes time linear in the number of objects, in slices. */
import { formatResource } from '../../kube/resources/selectors.ts'
import { observedObject } from '../../objects/context.ts'
import type { WatchedObject } from '../../objects/state/watched-object.ts'
import type { ObjectRecord } from '../object-facts.ts'
import { invalidRequest } from '../problem.ts'
import type { ObjectState, ObjectsView } from '../protocol.ts'
import { isInScope } from '../viewer.ts'
import { toObjectRow } from './object-row.ts'
import { readInteger, type ViewParameters } from './query.ts'
import { Smallest } from './smallest.ts'
import { Slices, scopeOf, stateOf, type ViewRequest, type ViewSource } from './source.ts'

const maxRows = 200
const defaultRows = 50
const maxOffset = 1_000_000
const maxNamespaces = 1000

const stateRanks: Readonly<Record<ObjectState, number>> = {
  failed: 0,
  retrying: 1,
  handling: 2,
  waiting: 3,
  deleting: 4,
  handled: 5,
}

interface FoundObject {
  readonly object: WatchedObject
  readonly resource: string
  readonly facts: ObjectRecord | undefined
  readonly state: ObjectState
}

type Compare = (a: FoundObject, b: FoundObject) => number

const orders: Readonly<Record<string, Compare>> = {
  name: compareNames,
  state: (a, b) => stateRanks[a.state] - stateRanks[b.state],
  // The latest first, as the most errors first.
  changed: (a, b) => (b.facts?.changedAtMs ?? 0) - (a.facts?.changedAtMs ?? 0),
  errors: (a, b) => (b.facts?.errors ?? 0) - (a.facts?.errors ?? 0),
}

export async function viewObjects(source: ViewSource, { query, viewer }: ViewRequest): Promise<ObjectsView> {
  const offset = readInteger(query.offset, { byDefault: 0, max: maxOffset })
  const limit = readInteger(query.limit, { byDefault: defaultRows, max: maxRows })
  const matches = readFilter(query)
  const first = new Smallest<FoundObject>(offset + limit, readOrder(query))
  const namespaces = new Set<string>()
  const resources: string[] = []
  const slices = new Slices()
  let total = 0
  for (const served of source.objects.served) {
    const scope = await scopeOf(viewer, served)
    if (scope !== 'all' && scope.size === 0) continue
    const resource = formatResource(served.resource)
    resources.push(resource)
    for (const object of served.objects.values()) {
      const turn = slices.next()
      if (turn !== undefined) await turn
      const { namespace } = object.body.metadata
      if (!isInScope(scope, namespace)) continue
      if (namespace !== undefined && namespaces.size < maxNamespaces) namespaces.add(namespace)
      if (query.resource !== undefined && query.resource !== resource) continue
      const observed = observedObject(object)
      const found = { object, resource, facts: source.facts.of(observed), state: stateOf(source, observed) }
      if (!matches(found)) continue
      total += 1
      first.add(found)
    }
  }
  const rows = first.items.slice(offset, offset + limit).map(({ object }) => toObjectRow(source, object))
  return { total, offset, rows, resources, namespaces: [...namespaces].sort() }
}

function readFilter({ namespace, state, text }: ViewParameters): (found: FoundObject) => boolean {
  const states = state === undefined ? undefined : new Set(state.split(','))
  for (const one of states ?? []) {
    if (!Object.hasOwn(stateRanks, one)) throw invalidRequest(400, `"${one.slice(0, 40)}" is not a state of objects`)
  }
  const searched = text?.toLowerCase()
  return ({ object, state: current }) => {
    const { metadata } = object.body
    if (namespace !== undefined && metadata.namespace !== namespace) return false
    if (states !== undefined && !states.has(current)) return false
    return searched === undefined || nameOf(object).toLowerCase().includes(searched)
  }
}

function readOrder({ sort = 'name', order = 'asc' }: ViewParameters): Compare {
  const compare = Object.hasOwn(orders, sort) ? orders[sort]! : undefined
  if (compare === undefined) throw invalidRequest(400, `objects cannot be sorted by "${sort.slice(0, 40)}"`)
  if (order !== 'asc' && order !== 'desc') throw invalidRequest(400, 'the order is neither "asc" nor "desc"')
  const sign = order === 'asc' ? 1 : -1
  return (a, b) => sign * compare(a, b) || compareNames(a, b)
}

function compareNames(a: FoundObject, b: FoundObject): number {
  const [left, right] = [nameOf(a.object), nameOf(b.object)]
  if (left === right) return a.resource < b.resource ? -1 : a.resource > b.resource ? 1 : 0
  return left < right ? -1 : 1
}

function nameOf({ body: { metadata } }: WatchedObject): string {
  return metadata.namespace === undefined ? (metadata.name ?? '') : `${metadata.namespace}/${metadata.name}`
}
