/**
 * The objects of an operator and the state of their handling, for the key `o` of `kopf dev`: lists the resources with handlers, and summarises the
 * explanation that `kopf explain` prints. Runs in the operator process, since explanations call the user's filters.
 */
import { isForbidden } from '../../client/api-error.ts'
import { collectionPath } from '../../client/paths.ts'
import type { Explanation, StoredProgress } from '../../explain/explanation.ts'
import { isExactNamespace, matchesNamespace } from '../../kube/namespaces.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { formatResource } from '../../kube/resources/selectors.ts'
import type { Operator, RunOptions } from '../../operator.ts'
import { internalsOf } from '../../operator-internals.ts'
import type { CommandCluster } from '../cluster.ts'
import { toCount, toDuration } from '../display/render.ts'
import { truncate } from '../display/text-width.ts'
import { printable } from '../terminal.ts'

/** The objects of one resource that are read, and those of them that are shown. */
const maxRead = 200
const maxShown = 20
const maxResources = 20
/** The handlers that are named for one object. */
const maxNamed = 5
const maxMessageLength = 120

interface ListedState {
  /** Shown first, and highlighted by its word: the object needs attention. */
  readonly isUnfinished: boolean
  readonly text: string
}

interface ObjectsQuery {
  readonly operator: Operator
  readonly cluster: CommandCluster
  readonly scope: Pick<RunOptions, 'namespaces'>
  readonly nowMs: number
}

/** One line per resource, and below it one per object. */
export async function listObjectStates(query: ObjectsQuery): Promise<string> {
  const { registry } = internalsOf(query.operator)
  const all = await query.cluster.resources()
  const handled = all.filter(
    (one) => one.verbs.includes('list') && registry.handlers.some(({ selector }) => selector?.matches(one)),
  )
  if (handled.length === 0) return 'The cluster serves no resource that the operator has handlers for.'
  const tables: string[] = []
  for (const resource of handled.slice(0, maxResources)) tables.push(await describeResource(resource, query))
  if (handled.length > maxResources) tables.push(`… and ${toCount(handled.length - maxResources, 'more resource')}`)
  return tables.join('\n')
}

async function describeResource(resource: Resource, query: ObjectsQuery): Promise<string> {
  const title = formatResource(resource)
  try {
    const { objects, more } = await listObjects(resource, query)
    const rows = objects.map((body) => ({
      name: [body.metadata.namespace, body.metadata.name].filter(Boolean).join('/'),
      state: describeState(query.operator.explain(resource, body), query.nowMs),
    }))
    const sorted = [
      ...rows.filter(({ state }) => state.isUnfinished),
      ...rows.filter(({ state }) => !state.isUnfinished),
    ]
    const shown = sorted.slice(0, maxShown)
    const width = Math.max(0, ...shown.map(({ name }) => name.length))
    const hidden = rows.length - shown.length + more
    return [
      `${title}: ${toCount(rows.length + more, 'object')}`,
      ...shown.map(({ name, state }) => printable(`  ${name.padEnd(width)}  ${state.text}`)),
      ...(hidden > 0 ? [`  … and ${toCount(hidden, 'more object')}`] : []),
    ].join('\n')
  } catch (error) {
    if (isForbidden(error)) return `${title}: this user may not list them`
    throw error
  }
}

interface ListedObjects {
  readonly objects: readonly KubeObject[]
  /** The number of objects that were not read. */
  readonly more: number
}

/** The first page of each served namespace, or of all together if their names are not known. */
async function listObjects(resource: Resource, { cluster, scope }: ObjectsQuery): Promise<ListedObjects> {
  const patterns = resource.namespaced ? scope.namespaces : undefined
  const namespaces = patterns?.every(isExactNamespace) ? patterns : [undefined]
  const pages = await Promise.all(
    namespaces.slice(0, maxResources).map(async (namespace) => {
      const path = collectionPath(resource, namespace as string | undefined)
      const page = await cluster.session.request({ method: 'GET', path, query: { limit: maxRead } })
      return page as { items?: KubeObject[]; metadata?: { remainingItemCount?: number } }
    }),
  )
  const isServed = ({ metadata }: KubeObject) =>
    patterns === undefined || patterns.some((pattern) => matchesNamespace(pattern, metadata.namespace ?? ''))
  const { apiVersion, kind } = { apiVersion: toApiVersion(resource), kind: resource.kind }
  return {
    objects: pages.flatMap(({ items = [] }) => items.map((item) => ({ ...item, apiVersion, kind }))).filter(isServed),
    more: pages.reduce((sum, { metadata }) => sum + (metadata?.remainingItemCount ?? 0), 0),
  }
}

function toApiVersion({ group, version }: Resource): string {
  return group === '' ? version : `${group}/${version}`
}

/** The state of an object in a few words, from its explanation. */
function describeState(explanation: Explanation, nowMs: number): ListedState {
  const { deleting, progress, handled, finalizers, handlers, childrenApplied } = explanation
  const open = progress.filter(({ state }) => state === 'due' || state === 'waiting')
  const failed = progress.filter(({ state }) => state === 'failed')
  const parts = [...open.map((one) => describeOpen(one, nowMs)), ...failed.map(describeFailed)]
  if (deleting !== undefined) {
    const held = finalizers.length === 0 ? '' : `, held by ${finalizers.map(({ name }) => name).join(', ')}`
    return { isUnfinished: true, text: ['being deleted', ...parts].join('; ') + (parts.length === 0 ? held : '') }
  }
  if (childrenApplied?.status === 'False') parts.push(`children not applied: ${childrenApplied.message}`)
  if (parts.length > 0) return { isUnfinished: true, text: parts.join('; ') }
  const due = handlers.filter(({ verdict }) => verdict === 'now').map(({ id }) => `'${id}'`)
  if (due.length > 0) return { isUnfinished: true, text: `pending: ${due.slice(0, maxNamed).join(', ')}` }
  if (handled !== 'never') return { isUnfinished: false, text: 'handled' }
  const others = handlers.filter(({ verdict }) => verdict === 'runs' || verdict === 'later')
  const named = others.slice(0, maxNamed).map(({ kind, id }) => `${kind} '${id}'`)
  return { isUnfinished: false, text: named.length > 0 ? `served by ${named.join(', ')}` : 'no handler matches' }
}

function describeOpen({ id, state, retries, delayed, message }: StoredProgress, nowMs: number): string {
  const attempts = retries === 0 ? '' : ` after ${toCount(retries, 'attempt')}`
  const when = state === 'waiting' && delayed !== undefined ? ` in ${toDuration(Date.parse(delayed) - nowMs)}` : ''
  return `'${id}' ${retries === 0 ? 'is pending' : 'is retried'}${when}${attempts}${describeMessage(message)}`
}

function describeFailed({ id, message }: StoredProgress): string {
  return `'${id}' failed${describeMessage(message)}`
}

function describeMessage(message: string | undefined): string {
  return message === undefined ? '' : `: ${truncate(maxMessageLength, message)}`
}
