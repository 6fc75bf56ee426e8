/**
 * The feature `reconciling` of the worker: after the change handlers, it calls every reconciler that is due with the current state of the object and brings
 * its children to the desired state. Only the results of steps are stored on the object.
 */

import type { ReconcileHandler } from '../handlers/handler.ts'
import { type CallResult, callHandler, type OwnArgs } from '../handlers/invoke.ts'
import { isAmong, preMatches } from '../handlers/matching.ts'
import { checkResult, collectHandlerPatch, createCollectedPatch } from '../handlers/results.ts'
import type { JsonObject } from '../kube/objects.ts'
import { CauseView } from '../objects/cause-view.ts'
import { callContextOf } from '../objects/context.ts'
import type { FeatureDecision, ObjectFeature } from '../objects/features.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'
import type { ObjectOutcome } from '../observer.ts'
import { assignAll } from '../util/assign-all.ts'
import { monotonicNow } from '../util/async/clock.ts'
import type { Logger } from '../util/log/log.ts'
import { childrenByKind, createChildClient } from './children/child-client.ts'
import { createChildren } from './children/children-arg.ts'
import { type DesiredGroup, readReconciled } from './children/desired.ts'
import { syncChildren } from './children/sync.ts'
import { type ChildrenResult, mergeReports, SyncReport } from './children/sync-report.ts'
import { forgetReconciler, type ReconcilingContext, reconcilerStateOf, reconcilerStates } from './context.ts'
import type { ReconcilerState } from './reconciler-state.ts'
import { digestState } from './state-digest.ts'
import { type KnownChildren, writeAll } from './status-writes.ts'
import { type CallSteps, createSteps, forgetSteps } from './steps.ts'

/** One call of a reconciler for one object. */
export interface ReconcilerCall {
  readonly handler: ReconcileHandler
  readonly state: ReconcilerState
  readonly cause: CauseView
  readonly logger: Logger
}

export class ObjectReconcilers implements ObjectFeature {
  readonly #context: ReconcilingContext

  constructor(context: ReconcilingContext) {
    this.#context = context
  }

  /** A reconciler with `cleanup` needs the finalizer: it has to be called before the object is deleted. */
  decide(object: WatchedObject, cause: CauseView): FeatureDecision {
    return { needsFinalizer: reconcilersToCleanUp(object, cause).length > 0 }
  }

  /** True until every reconciler with `cleanup` has finished its clean-up. */
  holdsFinalizer(object: WatchedObject, cause?: CauseView): boolean {
    if (cause === undefined) return false
    const states = reconcilerStates(object)
    return reconcilersToCleanUp(object, cause).some((handler) => !states.get(handler)?.isCleaned)
  }

  async afterChanges(object: WatchedObject, logger: Logger): Promise<void> {
    const { reconcile } = object.served.handlers
    if (reconcile.length === 0) return
    const { body } = object
    for (const [position, handler] of reconcile.entries()) {
      if (isAmong(reconcile.slice(0, position), handler)) continue
      if (this.#isOver(object)) return
      await this.#reconcileIfDue(object, { handler, logger })
    }
    // A reconciler has written the object: other handlers must see the change, and the watch event of this write is ignored.
    if (object.body !== body) this.#context.queue.put(object, { type: 'wake' })
    if (!this.#isOver(object)) this.#scheduleNext(object)
  }

  purge(object: WatchedObject, merge: JsonObject): void {
    forgetSteps(this.#context, object, merge)
  }

  /** Called after a pause, in which another operator may have changed the children. */
  resumed(object: WatchedObject, isChanged: boolean): void {
    for (const state of reconcilerStates(object).values()) {
      state.addTrigger('unwatched')
      if (isChanged) state.steps = undefined
    }
  }

  initialOutcome(object: WatchedObject): ObjectOutcome | 'waiting' | undefined {
    const states = [...reconcilerStates(object).values()]
    if (states.some(({ isWaiting }) => isWaiting)) return 'waiting'
    if (states.some(({ retries }) => retries > 0)) return 'retrying'
    if (states.some(({ hasFailed }) => hasFailed)) return 'failed'
    return states.length > 0 ? 'reconciled' : undefined
  }

  #isOver(object: WatchedObject): boolean {
    const { stopping, pause } = this.#context
    if (object.isUnwatched || object.isGone || object.state.isNotFound) return true
    return stopping.aborted || pause.isPausedIn(object.body.metadata.namespace)
  }

  async #reconcileIfDue(
    object: WatchedObject,
    { handler, logger }: Pick<ReconcilerCall, 'handler' | 'logger'>,
  ): Promise<void> {
    const { settings, clock, childrenIndex } = this.#context
    const cause = new CauseView(this.#context, object, logger)
    if (!matchesReconciler(handler, cause)) return forgetReconciler(object, handler)
    const state = reconcilerStateOf(object, handler)
    const seen = digestState(settings.persistence, cause.body)
    if (!state.isDue(seen, monotonicNow(clock))) return
    state.isWaiting = childrenIndex.isPending(handler, cause.body)
    if (state.isWaiting) return
    state.begin(seen, monotonicNow(clock))
    await reconcile(this.#context, object, { handler, state, cause, logger })
  }

  /** Queues the object if a reconciler is due again, and sets a timer for the next one that becomes due. */
  #scheduleNext(object: WatchedObject): void {
    const { clock, settings, queue, timers } = this.#context
    const nowMs = monotonicNow(clock)
    const seen = digestState(settings.persistence, object.body)
    // A reconciler that waits for the list of its children is triggered by the list.
    const active = [...reconcilerStates(object).values()].filter(({ isWaiting }) => !isWaiting)
    if (active.some((one) => one.isDue(seen, nowMs))) queue.put(object, { type: 'wake' })
    const dueMs = Math.min(...active.map((one) => one.dueMs))
    if (dueMs < Infinity) timers.setAfter(object, Math.max(0, dueMs - nowMs))
  }
}

function reconcilersToCleanUp(
  { served }: WatchedObject,
  { resource, body, objectArgs }: CauseView,
): readonly ReconcileHandler[] {
  const match = { resource, body, args: objectArgs }
  return served.handlers.reconcile.filter((handler) => handler.needsFinalizer && preMatches(handler, match))
}

/** A reconciler with `cleanup` is called only while the finalizer is on the object. */
function matchesReconciler(handler: ReconcileHandler, cause: CauseView): boolean {
  if (handler.needsFinalizer && !cause.hasFinalizer) return false
  return preMatches(handler, { resource: cause.resource, body: cause.body, args: cause.objectArgs })
}

async function reconcile(context: ReconcilingContext, object: WatchedObject, call: ReconcilerCall): Promise<void> {
  const { handler, state, cause } = call
  const steps = createSteps(context, object, call)
  const called = await callReconciler(context, object, { ...call, steps })
  const { outcome, patch: own, children } = called
  const patch = createCollectedPatch()
  collectHandlerPatch(patch, { handler, patch: own, outcome: { type: 'done', result: undefined } })
  const nowMs = monotonicNow(context.clock)
  const { wakeMs, isUnsynced, waits } = children instanceof SyncReport ? children : new SyncReport()
  state.follow(outcome, nowMs + Math.min(called.nextMs, wakeMs), nowMs)
  state.ranUnsynced ||= isUnsynced
  state.isCleaned = cause.deleting && outcome.type === 'done' && waits.length === 0
  if (state.isCleaned && handler.needsFinalizer) context.queue.put(object, { type: 'wake' })
  state.recordChildren(children)
  const known = () => (children === 'unchecked' ? undefined : knownChildren(object, cause))
  await steps.settle(outcome, patch, () => writeAll(context, object, { ...call, patch, children: known() }))
}

/** The last syncs of all reconcilers of the object, and whether they say too little to call its children applied. */
function knownChildren(object: WatchedObject, cause: CauseView): KnownChildren {
  const handlers = object.served.handlers.reconcile
  const states = reconcilerStates(object)
  const reports = handlers.flatMap((handler) => states.get(handler)?.report ?? [])
  const isUnknown = (handler: ReconcileHandler, position: number) =>
    !states.get(handler)?.areChildrenKnown &&
    !isAmong(handlers.slice(0, position), handler) &&
    matchesReconciler(handler, cause)
  return { report: mergeReports(reports), isPartial: () => reports.length === 0 || handlers.some(isUnknown) }
}

interface ReconcilerResult extends CallResult {
  readonly children: ChildrenResult
  /** The delay of the next call if nothing triggers the reconciler before. */
  readonly nextMs: number
}

type CallWithSteps = ReconcilerCall & { readonly steps: CallSteps }

async function callReconciler(
  context: ReconcilingContext,
  object: WatchedObject,
  call: CallWithSteps,
): Promise<ReconcilerResult> {
  const { clock, random } = context
  const { handler, state, cause, logger, steps } = call
  let children: ChildrenResult = 'unchecked'
  let nextMs = Infinity
  state.started ??= { atMs: clock.now(), monotonicMs: monotonicNow(clock) }
  const { atMs, monotonicMs } = state.started
  const defaultBackoffMs = state.backoffMs(random)
  const attempted = callHandler({ ...callContextOf(context, object, logger), defaultBackoffMs }, handler, {
    start: { startedMs: atMs, startedMonotonicMs: monotonicMs, retries: state.retries },
    body: () => cause.body,
    args: (own) => argsOf(context, call, own),
    finish: async (result, patch) => {
      await steps.finish()
      checkResult(handler, patch, undefined)
      const parent = {
        owner: cause.body,
        kinds: context.childrenIndex.kindsOf(handler),
        label: context.childrenIndex.labelOf(handler),
        existing: handler.reconciling.existing,
      }
      const { requeueMs = Infinity, groups } = readReconciled(result, parent)
      const desired = desiredGroups(call, groups)
      nextMs = Math.min(requeueMs, resyncMsOf(handler, random))
      if (desired === undefined) {
        children = 'untouched'
        return
      }
      const client = createChildClient(context, object, call)
      const report = await syncChildren(client, { groups: desired, isDeleting: cause.deleting }, state.records)
      children = report
      for (const reason of report.waits) logger.debug(`Waiting: ${reason}.`)
      if (report.hasFailed) throw report.toError(defaultBackoffMs)
    },
    isInterruption: () => context.writesSignal.aborted,
  })
  return { ...(await steps.during(attempted)), children, nextMs }
}

/**
 * The desired children, also of an object that is being deleted: a reconciler with `cleanup` then deletes all children that it does not return; without
 * `cleanup`, the garbage collector deletes them. With the finalizer `orphan` of Kubernetes, the children stay.
 */
function desiredGroups(
  { handler, cause }: ReconcilerCall,
  groups: readonly DesiredGroup[] | undefined,
): readonly DesiredGroup[] | undefined {
  if (!cause.deleting) return groups
  if (cause.body.metadata.finalizers?.includes('orphan')) return undefined
  return groups ?? (handler.needsFinalizer ? [] : undefined)
}

/** Adds jitter: objects that were all reconciled at the start of the operator are then not all resynced at the same moment. */
function resyncMsOf({ reconciling }: ReconcileHandler, random: () => number): number {
  return (reconciling.resyncMs ?? Infinity) * (1 + random() / 10)
}

function argsOf(context: ReconcilingContext, { handler, cause, steps }: CallWithSteps, own: OwnArgs): object {
  const children = createChildren(childrenByKind(context, handler, cause.body), cause.body.metadata.namespace)
  const { deleting } = cause
  return assignAll(cause.objectArgs(), own, steps.args, { signal: context.handlersSignal, deleting, children })
}
