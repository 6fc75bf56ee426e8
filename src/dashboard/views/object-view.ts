/**
 * The view of one object: its row, the live explanation, the journal, the children and the log. A user who may list but not get the object sees no values of its
 * fields.
 */

import { explainObject } from '../../explain/explain.ts'
import type { Explanation } from '../../explain/explanation.ts'
import type { JournalEntry, ObjectRef } from '../../journal/entries.ts'
import { maskJson, maskTextOf } from '../../journal/mask.ts'
import { conditionsOf } from '../../kube/conditions.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { formatResource } from '../../kube/resources/selectors.ts'
import type { WatchedObject } from '../../objects/state/watched-object.ts'
import { isReady } from '../../reconciling/children/readiness.ts'
import { weightOf } from '../../util/json/lazy-json.ts'
import { actionsFor } from '../actions.ts'
import { invalidRequest, notAllowed } from '../problem.ts'
import type { ChildRow, ObjectRow, ObjectView } from '../protocol.ts'
import type { Viewer } from '../viewer.ts'
import { toObjectRow } from './object-row.ts'
import type { ViewRequest, ViewSource } from './source.ts'

const maxChildren = 500
const maxConditions = 20
/** Larger objects are not explained for each update: their JSON would have to be parsed. */
const maxExplainedBytes = 512 * 1024
const maxCopiedBytes = 32 * 1024

export async function viewObject(source: ViewSource, { query, viewer }: ViewRequest): Promise<ObjectView> {
  const { resource: resourceName, namespace, name } = query
  if (resourceName === undefined || name === undefined) throw invalidRequest(400, 'it names no resource and no object')
  const ref: ObjectRef = { resource: resourceName, name, ...(namespace !== undefined && { namespace }) }
  const served = source.objects.servedAs(resourceName)
  if (served === undefined) throw notAllowed(`Cannot show ${name}: the operator serves no resource "${resourceName}"`)
  const { resource } = served
  const isReadable = await viewer.may({ verb: 'get', resource, namespace, name })
  if (!isReadable && !(await viewer.may({ verb: 'list', resource, namespace }))) {
    throw notAllowed(`Cannot show ${resourceName} ${name}: you may neither get nor list it; ask for that permission`)
  }
  const object = source.objects.find(ref)
  const { entries, dropped } = source.run.journal?.read(ref) ?? { entries: [], dropped: 0 }
  if (object === undefined && entries.length === 0) {
    throw invalidRequest(404, `the operator knows no ${resourceName} "${name}" in this namespace`)
  }
  const children = object === undefined || !isReadable ? [] : await childrenOf(source, object, viewer)
  return {
    object: object === undefined ? deletedRow(ref) : toObjectRow(source, object),
    ...(object !== undefined && isReadable && { ...explanationOf(source, object, children), ...bodyOf(object.body) }),
    timeline: isReadable ? entries : entries.map(withoutValues),
    dropped,
    children: children.map(({ resource: kind, child }) => toChildRow(kind, child)),
    log: isReadable ? source.logs.read(ref) : [],
    actions: object === undefined ? [] : await actionsFor(source, object, viewer),
  }
}

/** The object for a test that a user copies. Larger ones are not sent with each update. */
function bodyOf(body: KubeObject): { readonly body?: object } {
  if (weightOf(body).bytes > maxCopiedBytes) return {}
  const fields = Object.entries(body).map(([key, value]) => [key, maskJson(value, { path: [key], body })])
  return { body: Object.fromEntries(fields) }
}

function deletedRow(ref: ObjectRef): ObjectRow {
  return { ...ref, state: 'handled', why: 'It does not exist any more', errors: 0 }
}

/** The fields of an object, and what its events say, are shown to users who may get it. */
function withoutValues(entry: JournalEntry): JournalEntry {
  if (entry.type !== 'state' && entry.type !== 'write') return entry
  return { ...entry, changes: [], moreChanges: entry.moreChanges + entry.changes.length }
}

interface KnownChild {
  readonly resource: Resource
  readonly child: KubeObject
}

/** The children of the reconcilers of the object, of kinds that the viewer may get. */
async function childrenOf(
  { run }: ViewSource,
  { served, body }: WatchedObject,
  viewer: Viewer,
): Promise<readonly KnownChild[]> {
  const index = run.context()?.childrenIndex
  const { uid = '', namespace } = body.metadata
  const children: KnownChild[] = []
  const allowed = new Map<string, boolean>()
  for (const handler of index === undefined ? [] : served.handlers.reconcile) {
    const key = { owner: uid, label: index!.labelOf(handler), namespace }
    for (const { resource } of index!.kindsOf(handler)) {
      if (resource === undefined) continue
      for (const child of index!.cacheOf(resource).of(key)) {
        if (children.length === maxChildren) return children
        const place = `${formatResource(resource)} ${child.metadata.namespace ?? ''}`
        const request = { verb: 'get', resource, namespace: child.metadata.namespace }
        const isAllowed = allowed.get(place) ?? (await viewer.may(request))
        allowed.set(place, isAllowed)
        if (isAllowed) children.push({ resource, child })
      }
    }
  }
  return children
}

function toChildRow(resource: Resource, child: KubeObject): ChildRow {
  const { namespace, name = '', uid, deletionTimestamp } = child.metadata
  const conditions = conditionsOf(child['status'])
  return {
    resource: formatResource(resource),
    ...(namespace !== undefined && { namespace }),
    name,
    ...(uid !== undefined && { uid }),
    isReady: isReady(child),
    ...(deletionTimestamp && { deleting: deletionTimestamp }),
    conditions: conditions.slice(0, maxConditions).map(({ type, status, reason, message }) => ({
      type: maskTextOf(child, String(type), 100),
      status: maskTextOf(child, String(status), 20),
      ...(typeof reason === 'string' && { reason: maskTextOf(child, reason, 200) }),
      ...(typeof message === 'string' && { message: maskTextOf(child, message, 500) }),
    })),
  }
}

/** A filter of the user may throw in a way that the explanation does not expect: then there is no explanation. */
function explanationOf(
  { run }: ViewSource,
  { served, body }: WatchedObject,
  children: readonly KnownChild[],
): { readonly explanation?: Explanation } {
  if (weightOf(body).bytes > maxExplainedBytes) return {}
  try {
    const explanation = explainObject({
      registry: run.registry,
      settings: run.settings,
      name: run.name,
      resource: served.resource,
      body,
      nowMs: run.clock.now(),
      memo: run.createMemo,
      children: children.map(({ child }) => child),
    })
    return { explanation: withoutSecrets(explanation, body) }
  } catch {
    return {}
  }
}

function withoutSecrets(explanation: Explanation, body: KubeObject): Explanation {
  const { changes, progress, handlers, childrenApplied, notes } = explanation
  const mask = (text: string) => maskTextOf(body, text, 1000)
  return {
    ...explanation,
    changes: changes.map(({ operation, field, old, new: current }) => ({
      operation,
      field,
      ...(old !== undefined && { old: maskJson(old, { path: field, body }) }),
      ...(current !== undefined && { new: maskJson(current, { path: field, body }) }),
    })),
    progress: progress.map(({ message, ...rest }) => ({
      ...rest,
      ...(message !== undefined && { message: mask(message) }),
    })),
    handlers: handlers.map((verdict) => ({ ...verdict, why: mask(verdict.why) })),
    ...(childrenApplied !== undefined && {
      childrenApplied: { ...childrenApplied, message: mask(childrenApplied.message) },
    }),
    notes: notes.map(mask),
  }
}
