/**
 * Writes the patch of a reconciler and the condition about its children to the object. These writes do not trigger the reconciler again; writes of other
 * clients in between do. Called by object-reconcilers.ts.
 */
import { isUnprocessable } from '../client/api-error.ts'
import { type CollectedPatch, createCollectedPatch } from '../handlers/results.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Context } from '../objects/context.ts'
import { stopConditions } from '../objects/state/served-resource.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'
import { writePatch } from '../objects/writes.ts'
import { runFunctions } from '../patching/plan-patch.ts'
import type { Logger } from '../util/log/log.ts'
import { hasChildrenCondition, type SyncReport, toCondition } from './children/sync-report.ts'
import type { ReconcilerState } from './reconciler-state.ts'
import { digestState, isChangedByOthers } from './state-digest.ts'

export interface StatusWrite {
  readonly state: ReconcilerState
  /** The object as the reconciler was called with it. */
  readonly cause: { readonly body: KubeObject }
  readonly logger: Logger
  readonly patch: CollectedPatch
  /** Undefined if the call failed before the sync of the children: it found out nothing about them, so the condition stays as it is. */
  readonly children: KnownChildren | undefined
}

/** The problems of the children of all reconcilers of the object, by their last syncs. */
export interface KnownChildren {
  readonly report: Pick<SyncReport, 'problems' | 'unmanagedMessage'>
  /** Whether other problems are possible: no reconciler has synced, or one has not got as far as that since the operator started. */
  isPartial(): boolean
}

export async function writeAll(context: Context, object: WatchedObject, writing: StatusWrite): Promise<void> {
  const { state, cause, patch } = writing
  const { persistence } = context.settings
  let expected = cause.body
  if (Object.keys(patch.merge).length > 0 || patch.fns.length > 0) {
    await write(context, object, writing, patch)
    expected = runFunctions(expected, patch) as unknown as KubeObject
  }
  const condition = await writeProblems(context, object, writing)
  if (condition !== undefined) expected = runFunctions(expected, condition) as unknown as KubeObject
  if (object.body === cause.body) return
  const states = { before: cause.body, expected, after: object.body }
  if (!isChangedByOthers(persistence, states)) state.markSeen(digestState(persistence, object.body))
}

async function write(
  context: Context,
  object: WatchedObject,
  { state, logger }: StatusWrite,
  patch: CollectedPatch,
): Promise<void> {
  try {
    await writePatch(context, object, { logger, patch, purpose: 'reconcile' })
  } catch (error) {
    state.addTrigger('unwritten')
    throw error
  }
}

/** Writes the condition in a separate request: if the schema rejects the condition, the patch of the user is not lost. */
async function writeProblems(
  context: Context,
  object: WatchedObject,
  writing: StatusWrite,
): Promise<CollectedPatch | undefined> {
  const { served } = object
  const { children } = writing
  if (children === undefined || served.dropsConditions) return undefined
  const edit = toCondition(object.body, children.report, context.clock.now())
  if (edit === undefined) return undefined
  // After a restart, the condition keeps its problems until the children of all reconcilers are known again.
  if (children.report.problems.length === 0 && children.isPartial()) return undefined
  const patch: CollectedPatch = { ...createCollectedPatch(), fns: [edit] }
  try {
    await write(context, object, writing, patch)
  } catch (error) {
    if (!isUnprocessable(error)) throw error
  }
  if (object.state.isNotFound || hasChildrenCondition(object.body)) return patch
  stopConditions(served)
  context.warnOnce(
    served.resource,
    'conditions',
    'The API server does not store the condition about children, so their problems are only in the log: add status.conditions to the schema',
  )
  return undefined
}
