/**
 * Explains the reconcilers of an object from outside of the operator: the children on the cluster with their readiness, and fields that other managers have
 * written since the operator's last apply. The desired state is not stored, and no reconciler is called. Called by explain.ts. Pure.
 */
import type { ReconcileHandler } from '../handlers/handler.ts'
import { conditionsOf, findCondition } from '../kube/conditions.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { groupOf, toFieldManager, toReconcilerLabel } from '../reconciling/children/labels.ts'
import { isReady } from '../reconciling/children/readiness.ts'
import { problemType } from '../reconciling/children/sync-report.ts'
import { entriesOf } from '../reconciling/drift/field-sets.ts'
import { findChildren } from '../reconciling/sources/child-cache.ts'
import type { Settings } from '../settings/settings.ts'
import { isPlainObject, type Json } from '../util/json/json.ts'
import type { ExplainedChild, ExplainedReconciler, Explanation, ForeignFields } from './explanation.ts'

export interface ReconcilersQuery {
  readonly handlers: readonly ReconcileHandler[]
  /** The name of the operator, which is part of the label of its children. */
  readonly name: string | undefined
  readonly settings: Settings
  readonly body: KubeObject
  /** Objects of the owned kinds; undefined if they were not read. */
  readonly children: readonly KubeObject[] | undefined
}

export function explainReconcilers({
  handlers,
  name,
  settings,
  body,
  children,
}: ReconcilersQuery): ExplainedReconciler[] {
  const fieldManager = settings.reconciling.fieldManager ?? toFieldManager(name)
  return handlers.map(({ id, reconciling }) => {
    const { owns, watches, resyncMs } = reconciling
    const { uid = '', namespace } = body.metadata
    const key = { owner: uid, label: toReconcilerLabel(name, id), namespace }
    const own =
      children &&
      findChildren(children, key)
        .map((child) => explainChild(child, fieldManager))
        .sort((a, b) => a.group - b.group)
    const lastApplied = own?.flatMap(({ applied }) => applied ?? []).reduce(latest, undefined)
    return {
      id,
      owns: owns.map(String),
      watches: watches.map(({ selector }) => String(selector)),
      ...(resyncMs !== undefined && { resync: resyncMs / 1000 }),
      ...(lastApplied !== undefined && { lastApplied }),
      ...(own !== undefined && { children: own }),
    }
  })
}

function latest(a: string | undefined, b: string): string {
  return a === undefined || b > a ? b : a
}

/** The condition that the operator sets when children had problems; undefined if they never had any. */
export function readChildrenCondition({ status }: KubeObject): Explanation['childrenApplied'] {
  const found = findCondition(conditionsOf(status), problemType)
  if (found === undefined) return undefined
  const { status: holds, reason, message, lastTransitionTime } = found
  return { status: holds, reason, message, since: lastTransitionTime }
}

function explainChild(child: KubeObject, fieldManager: string): ExplainedChild {
  const { apiVersion, kind, metadata } = child
  const { namespace, name = '', deletionTimestamp } = metadata
  const entries = entriesOf(child)
  const ours = entries.find(({ manager, operation }) => manager === fieldManager && operation === 'Apply')
  const others = entries.filter((entry) => entry !== ours && ours !== undefined && entry.time >= ours.time)
  return {
    apiVersion,
    kind,
    ...(namespace !== undefined && { namespace }),
    name,
    group: groupOf(child),
    isReady: isReady(child),
    ...(deletionTimestamp !== undefined && { deleting: deletionTimestamp }),
    ...(ours !== undefined && { applied: ours.time }),
    foreign: others.map(({ manager, time, fields }): ForeignFields => ({ manager, time, fields: listFields(fields) })),
  }
}

/** How many fields of one manager are listed, and how deep they are searched: the author of an object determines its size. */
const maxFields = 20
const maxDepth = 50

/** The fields of a field set: `spec.template.spec.containers[app].image`. */
function listFields(set: JsonObject): string[] {
  const fields: string[] = []
  const pending: Array<readonly [path: string, inner: Json, depth: number]> = [['', set, 0]]
  for (let next = pending.pop(); next !== undefined && fields.length < maxFields; next = pending.pop()) {
    const [path, inner, depth] = next
    const keys = isPlainObject(inner) && depth < maxDepth ? Object.keys(inner).filter((key) => key !== '.') : []
    if (keys.length === 0 && path !== '') fields.push(path)
    // Reversed, since `pending` is a stack.
    for (const key of keys.reverse())
      pending.push([`${path}${formatKey(key, path === '')}`, (inner as JsonObject)[key]!, depth + 1])
  }
  return fields
}

/** `f:spec`, `k:{"name":"app"}`, `v:"text"` and `i:0`, as FieldsV1 has them. */
function formatKey(key: string, isFirst: boolean): string {
  const [type, text] = [key.slice(0, 2), key.slice(2)]
  if (type === 'f:') return `${isFirst ? '' : '.'}${text}`
  const name = type === 'k:' ? /^\{"\w+":"([^"]*)"\}$/.exec(text)?.[1] : undefined
  return `[${name ?? text}]`
}
