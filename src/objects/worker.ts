/**
 * Processes the queued events of one object, from the event handlers to the patch. The queue calls it for each object, never twice at the same time for the
 * same object. Never rejects: after an unexpected error the object is processed again later.
 */
import { KopfError } from '../errors.ts'
import { preMatches } from '../handlers/matching.ts'
import { createCollectedPatch } from '../handlers/results.ts'
import { hasFinalizer, isDeletionOngoing, removeFinalizer } from '../kube/finalizers.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { ObservedObject } from '../observer.ts'
import { readObject } from '../patching/apply-patch.ts'
import type { QueueWait } from '../queueing/keyed-queue.ts'
import { monotonicNow } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import { type Logger, logsFrameworkLines } from '../util/log/log.ts'
import { CauseView } from './cause-view.ts'
import { handleChanges } from './change-handling.ts'
import { type Context, type ObjectEvent, objectLogger, observedObject, spanSubject } from './context.ts'
import { callEventHandlers } from './event-handling.ts'
import type { Reservation } from './large-objects.ts'
import { CallOutcomes, ProcessingRun } from './processing-run.ts'
import { allHandlers, objectKey } from './state/served-resource.ts'
import type { DeletionReport, WatchedObject } from './state/watched-object.ts'
import { clearTooLarge, rejectTooLarge } from './too-large-objects.ts'
import { acceptState, writePatch, writePendingPatches } from './writes.ts'

export function processObject(
  context: Context,
  object: WatchedObject,
  events: readonly ObjectEvent[],
  wait: QueueWait,
): Promise<void> {
  const { spans } = context.tracing
  if (spans === undefined) return processObserved(context, object, events, wait)
  return spans.processing(
    () => spanSubject(object),
    () => processObserved(context, object, events, wait),
  )
}

async function processObserved(
  context: Context,
  object: WatchedObject,
  events: readonly ObjectEvent[],
  wait: QueueWait,
): Promise<void> {
  const run = new ProcessingRun(objectLogger(context, object.body))
  const reported = reportStart(context, object, wait)
  let failure: unknown
  let release: (() => void) | undefined
  try {
    await context.features.settled(object)
    const reservation = reserveHandling(context, object, events)
    if (reservation !== undefined) release = await reservation.begun
    await process(context, object, run, events)
  } catch (error) {
    failure = error
    startThrottling(context, object, run.logger, error)
    run.outcome = 'retrying'
  } finally {
    run.held.release()
    release?.()
    context.catchUp?.processed(object, run.outcome)
    if (reported !== undefined) reportEnd(context, object, reported, { run, error: failure })
  }
}

interface ReportedProcessing {
  readonly observed: ObservedObject
  readonly startedMs: number
  readonly calls: CallOutcomes
}

/** Returns undefined if no listener needs the processing. */
function reportStart(
  { clock, observer, callOutcomes }: Context,
  object: WatchedObject,
  { sinceMs, priority }: QueueWait,
): ReportedProcessing | undefined {
  if (observer?.processingStarted === undefined && observer?.processingFinished === undefined) return undefined
  const startedMs = monotonicNow(clock)
  const observed = observedObject(object)
  const calls = new CallOutcomes()
  callOutcomes.set(object, calls)
  observer.processingStarted?.({ object: observed, priority, waitedMs: startedMs - sinceMs })
  return { observed, startedMs, calls }
}

function reportEnd(
  { clock, observer, callOutcomes, timers, features }: Context,
  object: WatchedObject,
  { observed, startedMs, calls }: ReportedProcessing,
  { run: { outcome, isEcho }, error }: { readonly run: ProcessingRun; readonly error: unknown },
): void {
  callOutcomes.delete(object)
  const delayMs = timers.remainingMs(object)
  observer?.processingFinished?.({
    object: observed,
    durationMs: monotonicNow(clock) - startedMs,
    error,
    // An echo has not caused the retry that the object may be waiting for.
    result: error === undefined ? calls.resultWith(isEcho ? undefined : delayMs) : 'error',
    outcome,
    reconciling: object.served.handlers.reconcile.length === 0 ? undefined : features.initialOutcomes(object)[0],
    hasFailedPermanently: calls.hasFailed,
    delayMs,
    isDeleting: !object.isEnding && isDeletionOngoing(object.body),
  })
}

async function process(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  events: readonly ObjectEvent[],
): Promise<void> {
  const failures = await observeAll(context, object, run, events)
  const throttledMs = object.errors.remainingMs(monotonicNow(context.clock))
  const isDeletedNow = events.some(({ type }) => type === 'deleted')
  if (object.deletion !== undefined && (isDeletedNow || throttledMs === 0)) {
    await handleDeletion(context, object, run, object.deletion)
  }
  if (object.isGone) return forget(context, object)
  if (object.deletion !== undefined && hasBackgroundWork(context, object)) return
  if (failures.length > 0) throw failures[0]
  if (throttledMs > 0) {
    context.timers.setAfter(object, throttledMs)
    return
  }
  run.isEcho = isOwnEcho(run)
  if (object.deletion !== undefined || run.isEcho) return
  if (context.largeObjects.isTooLarge(object.body)) return rejectTooLarge(context, object, run)
  clearTooLarge(context, object, run)
  await handleChanges(context, object, run)
  await context.features.afterChanges(object, run.logger)
  endThrottling(object, run.logger)
}

/** Limits how many large objects are parsed at the same time. An object that waits does not block the worker slots of other objects. */
function reserveHandling(
  { largeObjects, queue }: Context,
  object: WatchedObject,
  events: readonly ObjectEvent[],
): Reservation | undefined {
  const states = events.map((event) => (event.type === 'wake' ? object.body : event.object))
  const reservation = largeObjects.reserveHandling([object.body, ...states])
  if (reservation?.mustWait) queue.markSlow(object)
  return reservation
}

/** Whether the run has only watch events of the operator's own writes, which contain nothing new. */
function isOwnEcho({ hasNews, isWoken, hasPatch }: ProcessingRun): boolean {
  return !hasNews && !isWoken && !hasPatch
}

/** Observes all events and collects the errors: an error with one event must not lose the others, since the last one may be the deletion. */
async function observeAll(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  events: readonly ObjectEvent[],
): Promise<unknown[]> {
  const failures: unknown[] = []
  for (const event of events) {
    await observe(context, object, run, event).catch((error: unknown) => failures.push(error))
  }
  return failures
}

async function observe(context: Context, object: WatchedObject, run: ProcessingRun, event: ObjectEvent): Promise<void> {
  if (event.type === 'wake') {
    run.isWoken = true
    object.state.acceptHeld(monotonicNow(context.clock))
  } else if (event.type === 'seen') {
    const wasEnding = object.isEnding
    // An object that left the selector and matches it again must be handled, even if its state is known already.
    if (acceptState(context, object, event.object, { from: 'watch', event: event.event }) || wasEnding)
      run.hasNews = true
    object.markSeen()
    await callEventHandlers(context, object, run, { type: event.event, object: event.object })
  } else {
    object.reportDeletion(event)
  }
}

/** Handles a deletion that the watch reported: the object is deleted, or left the selectors, or its resource is not served any more. */
async function handleDeletion(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  { object: deleted, missed }: DeletionReport,
): Promise<void> {
  const { end } = object.served
  if (end === 'unwanted') {
    // The resource has no handlers any more in this version: its objects are dropped without a log line.
    context.features.released(object, 'filters-mismatch')
    object.markGone()
    return
  }
  const existing = end === undefined ? await readIfExists(context, object) : undefined
  if (existing !== undefined) return handleFilteredOut(context, object, run, existing)
  context.features.released(object, 'resource-deleted')
  object.markGone()
  // If the deletion was found by a list, the event has only the metadata: the last known state is more complete.
  const last = missed ? object.body : deleted
  object.state.acceptFinal(last)
  await callEventHandlers(context, object, run, { type: 'DELETED', object: last })
  if (logsFrameworkLines(context.sink, 'debug') && hasChangeHandlers(context, object, run.logger)) {
    run.logger.debug('Deleted, really deleted, and we are notified.')
  }
}

/** The object exists but does not match the selectors any more: stops its daemons and removes the finalizer. */
async function handleFilteredOut(
  context: Context,
  object: WatchedObject,
  run: ProcessingRun,
  existing: KubeObject,
): Promise<void> {
  acceptState(context, object, existing, { from: 'read' })
  if (matchesSelectors(context, object, run.logger)) {
    // The object matches again: the watch will deliver it.
    object.markSeen()
    run.hasNews = true
    return
  }
  object.markFilteredOut()
  context.features.released(object, isDeletionOngoing(object.body) ? 'resource-deleted' : 'filters-mismatch')
  await writePendingPatches(context, object)
  // The finalizer stays as long as daemons run; the worker is woken when they have ended.
  if (hasBackgroundWork(context, object)) return
  // A failure is retried with backoff: a finalizer that is left behind would block the deletion of the object forever.
  await removeOwnFinalizer(context, object, run.logger)
  const { version } = object.state
  if (version !== undefined) object.served.filteredOut.set(objectKey(object.body), version)
  object.markGone()
}

/** Whether running daemons or their pending patches still need the finalizer. */
function hasBackgroundWork({ features }: Context, object: WatchedObject): boolean {
  return object.writes.hasBackground || features.holdsFinalizer(object)
}

/** Whether list and watch requests return the object. False with selectors of `settings.watching`, which only the server can evaluate. */
function matchesSelectors(context: Context, object: WatchedObject, logger: Logger): boolean {
  const { handlers, isNarrowedBySettings } = object.served
  if (isNarrowedBySettings) return false
  const { resource, body, objectArgs } = new CauseView(context, object, logger)
  return allHandlers(handlers).some((handler) => preMatches(handler, { resource, body, args: objectArgs }))
}

/** Whether a change handler can match the object: the deletion of other objects is not logged. */
function hasChangeHandlers(context: Context, object: WatchedObject, logger: Logger): boolean {
  const cause = new CauseView(context, object, logger)
  return object.served.handlers.change.some((handler) => preMatches(handler, cause))
}

/**
 * Reads the object if it may still exist: the watch reports an object that left the label selector as deleted. Without selectors the object is deleted, and so
 * is an object that was being deleted and had no finalizers left: both cost no request.
 */
async function readIfExists(context: Context, { served, body }: WatchedObject): Promise<KubeObject | undefined> {
  const { resource, selectors } = served
  if (Object.keys(selectors).length === 0) return undefined
  if (isDeletionOngoing(body) && (body.metadata.finalizers ?? []).length === 0) return undefined
  return readObject({ session: context.session, resource, signal: context.writesSignal, purpose: 'handling' }, body)
}

/** Removes the operator's finalizer from an object that has no handlers any more, so that it can be deleted. */
async function removeOwnFinalizer(context: Context, object: WatchedObject, logger: Logger): Promise<void> {
  const { finalizer } = context.settings.persistence
  if (!hasFinalizer(object.body, finalizer)) return
  logger.debug('Removing the finalizer, as there are no handlers requiring it.')
  const patch = { ...createCollectedPatch(), fns: [(body: KubeObject) => removeFinalizer(body, finalizer)] }
  await writePatch(context, object, { logger, patch, purpose: 'handling' })
}

/** Drops the object from memory, unless a daemon still runs or new events wait: otherwise a daemon could be started twice for one object. */
function forget(context: Context, object: WatchedObject): void {
  const { objects } = object.served
  context.timers.cancel(object)
  if (context.queue.hasNewEvents(object)) return
  context.features.forgotten(object)
  if (context.features.isActive(object)) return
  const key = objectKey(object.body)
  if (objects.get(key) === object) objects.delete(key)
  context.observer?.objectForgotten?.({ object: observedObject(object) })
}

function startThrottling(context: Context, object: WatchedObject, logger: Logger, error: unknown): void {
  // Errors while the operator stops are interruptions, not failures.
  if (context.stopping.aborted) return
  context.tracing.spans?.processingFailed(error)
  const { clock, settings, timers } = context
  const delayMs = object.errors.fail([...settings.queueing.errorDelays], monotonicNow(clock))
  timers.setAfter(object, delayMs)
  const message = `Throttling for ${delayMs / 1000} seconds due to an unexpected error: ${describeError(error)}`
  // The message of a KopfError is complete; any other error is a bug, and is logged with its stack trace.
  logger.error(message, error instanceof KopfError ? {} : { error })
}

function endThrottling(object: WatchedObject, logger: Logger): void {
  if (!object.errors.hasFailed) return
  object.errors.reset()
  logger.info('Throttling is over. Switching back to normal operations.')
}
