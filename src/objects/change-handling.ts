/**
 * Handles the changes of one object in a loop: decides (causation/decide.ts), executes the decision, writes one patch, and continues with the response of the
 * server until a decision needs no write. Called by worker.ts.
 */

import type { Cause, Essence, HandlerReason } from '../causation/cause.ts'
import { type Decision, decide } from '../causation/decide.ts'
import { isDigestEssence } from '../causation/essence.ts'
import { Cycle } from '../changes/cycle.ts'
import { isUnprocessable } from '../client/api-error.ts'
import { KopfError } from '../errors.ts'
import { isHandlerReason, preMatches } from '../handlers/matching.ts'
import type { CollectedPatch } from '../handlers/results.ts'
import { addFinalizer, isDeletionOngoing, removeFinalizer } from '../kube/finalizers.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { ObjectOutcome } from '../observer.ts'
import type { PatchResult } from '../patching/apply-patch.ts'
import { monotonicNow } from '../util/async/clock.ts'
import { isDeepEqual } from '../util/json/deep-equal.ts'
import { toLazy } from '../util/json/lazy-json.ts'
import { CauseView } from './cause-view.ts'
import { isStored, toStored } from './compare-essences.ts'
import { type Context, callContextOf, observedObject } from './context.ts'
import { logCause } from './describe.ts'
import type { ProcessingRun } from './processing-run.ts'
import type { WatchedObject } from './state/watched-object.ts'
import type { UnwrittenPatch } from './state/write-queue.ts'
import { readAfterTakeover } from './take-over.ts'
import { type WritePurpose, writePatch, writePendingPatches } from './writes.ts'

/** The result of executing one decision, in addition to the patch of the run. */
interface Execution {
  /** When to process the object again even without an event. */
  readonly wakeAtMs?: number | undefined
  /** The essence that counts as handled once the patch is written. */
  readonly handled?: Essence | undefined
  /** A handler was called: repeated writes are then caused by the handler, not by a loop of the framework. */
  readonly hasCalled?: boolean
  /** Whether a change handler can match the object. */
  readonly hasHandlers?: boolean
  /** The patch of an earlier run that is written again; no decision was made in this round. */
  readonly retried?: UnwrittenPatch
}

/** The maximum number of consecutive writes without a handler call: more mean that another program reverts the writes. */
const maxIdleWrites = 5

/** After this many consecutive rejections, the patch is dropped when the object changes. With the default `queueing.errorDelays` that takes seconds. */
const maxRejections = 5

const outcomes: Readonly<Record<HandlerReason, ObjectOutcome>> = {
  create: 'created',
  update: 'updated',
  resume: 'resumed',
  delete: 'deleted',
}

export async function handleChanges(context: Context, object: WatchedObject, run: ProcessingRun): Promise<void> {
  if (object.state.isNotFound) return
  for (let idleWrites = 0; idleWrites < maxIdleWrites; ) {
    const beganMs = monotonicNow(context.clock)
    if (context.largeObjects.isParsedInTurn(object.body)) await run.held.hold(object.body)
    await writePendingPatches(context, object)
    if (object.state.isNotFound) return
    const retried = takeUnwritten(object, run)
    // During a pause, only handling that has already started is finished.
    if (retried === undefined && object.isUnwatched && !run.hasNews && !run.hasPatch) return
    const execution = retried ?? (await decideAndExecute(context, object, run))
    const { body, requests } = await writeExecution(context, object, run, execution)
    if (body === undefined) return
    if (execution.hasCalled) object.updates.recordRun(beganMs, monotonicNow(context.clock))
    if (requests > 0 && execution.handled !== undefined) keepIfNotStored(context, object, body, execution.handled)
    if (execution.wakeAtMs !== undefined) context.timers.set(object, execution.wakeAtMs)
    if (context.stopping.aborted || isPaused(context, object)) return
    if (requests === 0 && execution.retried === undefined) {
      if (execution.hasHandlers && execution.wakeAtMs === undefined) {
        run.logger.debug('Handling cycle is finished, waiting for new changes.')
      }
      return
    }
    idleWrites = execution.hasCalled ? 0 : idleWrites + 1
  }
  throw new KopfError(
    'KOPF_NOT_CONVERGING',
    'Cannot finish the handling of the object: each write to it is reverted at once; look for a webhook or a schema that does so',
  )
}

function isPaused({ pause }: Context, { body }: WatchedObject): boolean {
  return pause.isPausedIn(body.metadata.namespace)
}

/** Decides and executes; decides again if the object changes in the meantime. */
async function decideAndExecute(context: Context, object: WatchedObject, run: ProcessingRun): Promise<Execution> {
  for (;;) {
    const cause = new CauseView(context, object, run.logger)
    if (context.largeObjects.isDigested(object.body)) await cause.prepare()
    const handlers = object.served.handlers.change.filter((handler) => preMatches(handler, cause))
    const decisions = context.features.decide(object, cause)
    await context.features.tend(object, cause, decisions)
    // A daemon or timer has written a patch in the meantime: the decisions are for an outdated state.
    if (object.body !== cause.body) continue
    const needsFinalizer =
      decisions.some((decision) => decision?.needsFinalizer) || handlers.some((handler) => handler.needsFinalizer)
    const decision = decide({
      deleting: cause.deleting,
      hasFinalizer: cause.hasFinalizer,
      hasHandlers: handlers.length > 0,
      needsFinalizer,
      isPaused: isPaused(context, object),
      isHeld: () => isHeld(context, object, cause),
      reason: () => cause.reason,
      rateLimitMs: (reason) => rateLimitMs(context, object, reason),
    })
    context.observer?.decisionMade?.({ object: observedObject(object), decision })
    context.tracing.spans?.decided(decision)
    const execution = await execute(context, object, run, { cause, decision })
    if (execution !== 'outdated') return { ...execution, hasHandlers: handlers.length > 0 }
  }
}

/** Only updates are rate-limited; creations, deletions and retries are not. */
function rateLimitMs({ clock }: Context, object: WatchedObject, reason: string): number {
  if (reason !== 'update' || object.handled.progress !== undefined) return 0
  return object.updates.remainingMs(monotonicNow(clock))
}

function isHeld({ features }: Context, object: WatchedObject, cause: CauseView): boolean {
  return object.writes.hasBackground || features.holdsFinalizer(object, cause)
}

async function execute(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  { cause, decision }: { readonly cause: CauseView; readonly decision: Decision },
): Promise<Execution | 'outdated'> {
  switch (decision.type) {
    case 'add-finalizer':
      run.logger.debug('Adding the finalizer, thus preventing the actual deletion.')
      run.fns.push((body) => addMissingFinalizer(context, body))
      return {}
    case 'remove-finalizer':
      removeOwnFinalizer(context, object, run, decision.reason)
      return {}
    case 'wait':
      return { wakeAtMs: context.clock.now() + decision.delayMs }
    case 'handle':
      return callHandlers(context, object, run, { cause, reason: decision.reason })
    case 'ignore':
      if (decision.reason === 'released') {
        run.logger.debug('Deletion, but we are done with it, and we do not care.')
      }
      return {}
  }
}

/** Checks the deletion again: the API server rejects new finalizers on an object that is being deleted. */
function addMissingFinalizer({ settings }: Context, body: KubeObject): void {
  if (!isDeletionOngoing(body)) addFinalizer(body, settings.persistence.finalizer)
}

function removeOwnFinalizer(
  { settings, features }: Context,
  object: WatchedObject,
  run: ProcessingRun,
  reason: 'not-required' | 'finished',
): void {
  run.logger.debug(
    reason === 'finished'
      ? 'Removing the finalizer, thus allowing the actual deletion.'
      : 'Removing the finalizer, as there are no handlers requiring it.',
  )
  features.purge(object, run.merge)
  run.fns.push((body) => removeFinalizer(body, settings.persistence.finalizer))
}

interface HandlerCalls {
  readonly cause: CauseView
  readonly reason: HandlerReason | 'noop'
}

async function callHandlers(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  { cause, reason }: HandlerCalls,
): Promise<Execution | 'outdated'> {
  const found = isHandlerReason(reason) && reason !== 'resume' ? await readAfterTakeover(context, object) : 'same'
  if (found === 'newer') return 'outdated'
  if (found === 'not-found') return {}
  logCause(context, run.logger, cause)
  const cycle = createCycle(context, object, run, { cause, reason })
  await cycle.run(reason)
  run.outcome = outcomeOf(cycle, reason) ?? run.outcome ?? 'unchanged'
  run.add(cycle)
  if (cycle.isDone) return finish(context, object, run, { cause, cycle })
  if (isNotKept(object, cycle)) warnProgressNotKept(context, object)
  else cycle.store(object.body, run.merge)
  object.handled.keepProgress(cycle.progress)
  return { wakeAtMs: cycle.wakeAtMs, hasCalled: cycle.hasCalled }
}

/** Returns undefined if no handler was called: then the outcome of an earlier cycle in this run counts. */
function outcomeOf(cycle: Cycle, reason: HandlerReason | 'noop'): ObjectOutcome | undefined {
  if (!cycle.isDone) return 'retrying'
  if (!cycle.hasCalled) return undefined
  return cycle.hasFailed ? 'failed' : outcomes[isHandlerReason(reason) ? reason : 'update']
}

/** Whether the object did not store the progress: no handler was called, and the records to store equal those remembered from the last cycle. */
function isNotKept({ handled: { progress } }: WatchedObject, cycle: Cycle): boolean {
  if (progress === undefined || cycle.hasCalled) return false
  return [...cycle.progress].every(([id, current]) => current === progress.get(id))
}

function warnProgressNotKept({ warnOnce }: Context, { served }: WatchedObject): void {
  warnOnce(
    served.resource,
    'progress',
    'The progress of handlers does not stay on the object: it is remembered only until the operator restarts; ' +
      'let the schema preserve unknown fields where it is stored, or use another progress storage',
  )
}

/** Called when all handlers have finished: purges their records, and stores the essence as handled or removes the finalizer. */
function finish(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  { cause, cycle }: { readonly cause: CauseView; readonly cycle: Cycle },
): Execution {
  const { hasCalled } = cycle
  if (cause.deleting && isHeld(context, object, cause)) {
    // Daemons are still stopping, or reconcilers are cleaning up. The records stay until then, so that the finished handlers are not called again.
    if (!cycle.isIdle && !isNotKept(object, cycle)) cycle.store(object.body, run.merge)
    object.handled.keepProgress(cycle.progress)
    return { hasCalled }
  }
  object.handled.keepProgress(undefined)
  if (!cycle.isIdle) cycle.purge(object.body, run.merge)
  if (!isHandlerReason(cause.reason)) return { hasCalled }
  object.handled.finishInitial()
  if (cause.deleting) {
    removeOwnFinalizer(context, object, run, 'finished')
    return { hasCalled }
  }
  return { hasCalled, handled: storeEssence(context, object, run, cause) }
}

/** Adds the essence to the patch, and returns it; returns undefined if it is stored already. */
function storeEssence(
  { settings, warnOnce }: Context,
  object: WatchedObject,
  run: ProcessingRun,
  cause: CauseView,
): Essence | undefined {
  const { old, new: handled, diff } = cause.compared
  if (diff.length === 0 && isStoredAs(old, handled)) return undefined
  const essence = toStored(settings, cause.body, handled)
  const stored = settings.persistence.diffbaseStorage.store({ body: object.body, patch: run.merge, essence })
  if (stored?.digested) {
    warnOnce(
      cause.resource,
      'digest',
      'An object is too large for its state to be kept in an annotation: only a digest of it is, so that its next change ' +
        'comes without the old values; use ignoredFields or another diff-base storage',
    )
  }
  return handled
}

/**
 * Whether the stored essence needs no write. A resumed object may differ from it only by nulls, which are not a change. Such an essence is stored, as in Kopf,
 * because PRESENT and ABSENT distinguish null from a missing field in the old value.
 */
function isStoredAs(old: Essence | undefined, current: Essence): boolean {
  return old !== undefined && (isDigestEssence(old) || isDeepEqual(old, current))
}

function createCycle(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  { cause: view, reason }: HandlerCalls,
): Cycle {
  const { settings, lifecycle, random, handlersSignal: signal, stopping } = context
  const { old, new: current, diff } = view.compared
  const { initial } = view
  const cause: Cause = { reason: isHandlerReason(reason) ? reason : 'update', initial, old, new: current, diff }
  return new Cycle({
    cause,
    body: view.body,
    owned: object.served.handlers.change,
    matchContextOf: (other, changed) =>
      other === cause && changed === undefined ? view : view.matchContextOf(other, changed),
    before: { merge: run.merge, fns: [...run.fns] },
    args: view.objectArgs,
    seal: context.stepKeys.sealOf(object, { type: 'change', body: view.body, logger: run.logger }),
    settings,
    call: callContextOf(context, object, run.logger),
    lifecycle,
    random,
    signal,
    stopping,
    isPaused: () => isPaused(context, object),
    remembered: object.handled.progress,
    isHastened: object.handled.takeHaste(),
    isOutdated: () => object.body !== view.body,
    writeCheckpoint: (cycle) => writeCheckpoint(context, object, run, cycle),
  })
}

/** Writes the outcomes of finished handlers while another handler still runs. If the write fails, the final write of the run contains the patch. */
async function writeCheckpoint(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  cycle: Cycle,
): Promise<KubeObject | undefined> {
  run.add(cycle)
  cycle.clearWritten()
  cycle.store(object.body, run.merge)
  return (await writeRun(context, object, run, 'checkpoint')).body
}

/** Writes the patch of the run. If that fails after a handler was called, keeps the patch for the next run, so that the handler is not called again. */
async function writeExecution(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  execution: Execution,
): Promise<PatchResult> {
  const patch: CollectedPatch = { merge: run.merge, fns: run.fns, authors: run.authors }
  try {
    return await writeRun(context, object, run, 'handling')
  } catch (error) {
    const before = execution.retried ?? { rejections: 0, rejectedAt: undefined }
    const isRejected = isUnprocessable(error)
    const rejectedAt = before.rejectedAt ?? (isRejected ? object.state.version : undefined)
    const rejections = isRejected ? before.rejections + 1 : 0
    const handled = execution.handled && toLazy(execution.handled)
    if (execution.hasCalled || execution.retried) {
      object.writes.keepUnwritten({ patch, handled, rejectedAt, rejections })
    }
    throw error
  }
}

/**
 * Puts the patch that could not be written into this run. After `maxRejections` the patch is dropped once the object has changed, and the next decision is made
 * for the new state. It is not dropped earlier: a part of it may have been written, and the records would be incomplete without the rest.
 */
function takeUnwritten(object: WatchedObject, run: ProcessingRun): Execution | undefined {
  const { unwritten } = object.writes
  if (unwritten === undefined) return undefined
  object.writes.keepUnwritten(undefined)
  const { rejections, rejectedAt } = unwritten
  if (rejections >= maxRejections && rejectedAt !== object.state.version) return undefined
  run.prepend(unwritten.patch)
  return { handled: unwritten.handled, retried: unwritten }
}

async function writeRun(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  purpose: WritePurpose,
): Promise<PatchResult> {
  if (!run.hasPatch) return { body: object.body, requests: 0 }
  if (Object.keys(run.merge).length > 0) {
    // Removes the touch annotation, by which Kopf triggers a watch event on an otherwise unchanged object.
    context.settings.persistence.progressStorage.touch({ body: object.body, patch: run.merge, value: null })
  }
  const { merge, fns, authors } = run
  const written = await writePatch(context, object, { logger: run.logger, patch: { merge, fns, authors }, purpose })
  run.takePatch()
  // Waits until the written state is indexed, since the next handlers may read the indices.
  await context.features.settled(object)
  return written
}

/** Keeps the essence in memory if the schema of the object drops it: otherwise the object would be handled again and again. */
function keepIfNotStored(
  { settings, warnOnce }: Context,
  object: WatchedObject,
  body: KubeObject,
  handled: Essence,
): void {
  const isKept = isStored(settings, body, handled)
  object.handled.keepEssence(isKept ? undefined : handled)
  if (isKept) return
  warnOnce(
    object.served.resource,
    'unstored',
    'The last handled configuration does not stay on the object: it is remembered only until the operator restarts; ' +
      'let the schema preserve unknown fields where it is stored, or use another diff-base storage',
  )
}
