/**
 * From what has changed to what is written: the finalizer first where it is needed, then the handlers, then one patch.
 * Goes on from the answer to each write until there is nothing more to say. Called by process.ts.
 */

import { isUnprocessable } from '../client/api-error.ts'
import type { Essence, HandlerReason } from '../core/causation/causes.ts'
import { isDigestEssence } from '../core/causation/essence-digest.ts'
import { type Cause, titles } from '../core/handling/cause.ts'
import { toStored } from '../core/handling/compare.ts'
import { Cycle } from '../core/handling/cycle.ts'
import { isHandlerReason, preMatches } from '../core/handling/select.ts'
import { mergeInto } from '../core/patching/patch.ts'
import { KopfError } from '../errors.ts'
import { allowDeletion, blockDeletion, isDeletionOngoing } from '../kube/finalizers.ts'
import type { KubeObject } from '../kube/objects.ts'
import { monotonicOf } from '../util/clock.ts'
import { isDeepEqual } from '../util/equality.ts'
import { toLazy } from '../util/lazy-json.ts'
import { takesFrameworkLines } from '../util/log.ts'
import { isHeld, tendBackground, weighBackground } from './background.ts'
import { isCleanupOwed, needsCleanup } from './cleanups.ts'
import { confirm } from './confirm.ts'
import { describeDiff, describeState } from './describe.ts'
import { untilIndexed } from './indexing.ts'
import { writeLeftOver } from './late-writes.ts'
import type { Memory, Unwritten } from './memories.ts'
import { noteRun, pauseMsOf } from './pace.ts'
import { isPutOff } from './pausing.ts'
import { forgetSteps } from './reconciling-steps.ts'
import type { ObjectOutcome } from './run-observer.ts'
import type { Runtime } from './runtime.ts'
import { checkStored, warnOfProgress } from './unkept.ts'
import { View } from './view.ts'
import type { Visit } from './visit.ts'
import { writeWish } from './writing.ts'

/** What one step has decided, beside what is in the visit's patch. */
interface Step {
  /** When to look again if nothing happens. */
  readonly wakeAtMs?: number | undefined
  /** The essence that counts as handled once this is written. */
  readonly handled?: Essence | undefined
  /** A handler was called: writing again and again is then its business, not a loop of ours. */
  readonly hasCalled?: boolean
  /** Somebody could be concerned, whether anybody was called or not. */
  readonly isOfInterest?: boolean
  /** Nothing new: only what could not be written before. */
  readonly late?: Unwritten
}

/** So many writes in a row without any handler mean that somebody undoes what we write. */
const mostIdleWrites = 5

/** With the pauses of `queueing.errorDelays`, this takes seconds. */
const mostRefusals = 5

const outcomes: Readonly<Record<HandlerReason, ObjectOutcome>> = {
  create: 'created',
  update: 'updated',
  resume: 'resumed',
  delete: 'deleted',
}

export async function handleChanges(runtime: Runtime, memory: Memory, visit: Visit): Promise<void> {
  if (hasVanished(memory)) return
  for (let idleWrites = 0; idleWrites < mostIdleWrites; ) {
    const beganMs = monotonicOf(runtime.clock)
    if (runtime.large.isParsedInTurn(memory.body)) await visit.held.hold(memory.body)
    await writeLeftOver(runtime, memory)
    if (hasVanished(memory)) return
    const late = takeUpUnwritten(memory, visit)
    if (late === undefined && isPutOff(memory, visit)) return
    const step = late ?? (await takeStep(runtime, memory, visit))
    const { body, requests } = await writeStep(runtime, memory, visit, step)
    if (body === undefined) {
      memory.vanishedAt = memory.body.metadata.resourceVersion
      return
    }
    if (step.hasCalled) noteRun(runtime, memory, beganMs)
    if (requests > 0 && step.handled !== undefined) checkStored(runtime, memory, body, step.handled)
    if (step.wakeAtMs !== undefined) runtime.alarms.set(memory, step.wakeAtMs)
    if (runtime.stopping.aborted || runtime.pause.isPausedIn(memory.body.metadata.namespace)) return
    if (requests === 0 && step.late === undefined) {
      if (step.isOfInterest && step.wakeAtMs === undefined) {
        visit.logger.debug('Handling cycle is finished, waiting for new changes.')
      }
      return
    }
    idleWrites = step.hasCalled ? 0 : idleWrites + 1
  }
  throw new KopfError(
    'KOPF_NOT_CONVERGING',
    'Cannot settle the object: what is written to it is changed back at once; look for a webhook or a schema that does so',
  )
}

function hasVanished({ body: { metadata }, vanishedAt }: Memory): boolean {
  return metadata.resourceVersion !== undefined && metadata.resourceVersion === vanishedAt
}

/** Handlers that were called have done what they did: what could not be written of it is kept, and they are not called again. */
async function writeStep(runtime: Runtime, memory: Memory, visit: Visit, step: Step) {
  const { merge, fns } = visit
  try {
    return await write(runtime, memory, visit)
  } catch (error) {
    const before = step.late ?? { refusals: 0, refusedAt: undefined }
    const refusedAt = before.refusedAt ?? (isUnprocessable(error) ? memory.body.metadata.resourceVersion : undefined)
    const refusals = isUnprocessable(error) ? before.refusals + 1 : 0
    const handled = step.handled && toLazy(step.handled)
    if (step.hasCalled || step.late) memory.unwritten = { merge, fns, handled, refusedAt, refusals }
    throw error
  }
}

/**
 * What the server refuses again and again is given up with the next change: whatever was wrong with it may be right then.
 * Not at the first refusal: a part of it may have been written, and without the rest nobody knows who has seen what.
 */
function takeUpUnwritten(memory: Memory, visit: Visit): Step | undefined {
  const { unwritten, body } = memory
  memory.unwritten = undefined
  if (unwritten === undefined) return undefined
  const { refusals, refusedAt } = unwritten
  if (refusals >= mostRefusals && refusedAt !== body.metadata.resourceVersion) return undefined
  mergeInto(unwritten.merge, visit.merge)
  visit.merge = unwritten.merge
  visit.fns = [...unwritten.fns, ...visit.fns]
  return { handled: unwritten.handled, late: unwritten }
}

async function write(runtime: Runtime, memory: Memory, visit: Visit) {
  const { merge, fns } = visit
  if (Object.keys(merge).length === 0 && fns.length === 0) return { body: memory.body, requests: 0 }
  if (Object.keys(merge).length > 0) {
    // What an operator on Kopf has left to wake itself.
    runtime.settings.persistence.progressStorage.touch({ body: memory.body, patch: merge, value: null })
  }
  const written = await writeWish(runtime, memory, { logger: visit.logger, merge, fns })
  visit.merge = {}
  visit.fns = []
  // Whoever is called next finds in the indices what was written.
  await untilIndexed(memory)
  return written
}

async function takeStep(runtime: Runtime, memory: Memory, visit: Visit): Promise<Step> {
  const { finalizer } = runtime.settings.persistence
  const view = new View(runtime, memory, visit.logger)
  if (runtime.large.isDigested(memory.body)) await view.prepare()
  const interested = memory.served.handlers.change.filter((handler) => preMatches(handler, view))
  const background = weighBackground(memory, view)
  await tendBackground(runtime, memory, { view, ...background })
  // A daemon has had its last words meanwhile, or a timer has: nobody is to see the object as it was before.
  if (memory.body !== view.body) return takeStep(runtime, memory, visit)
  const needsFinalizer =
    background.isRequired || needsCleanup(memory, view) || interested.some((handler) => handler.needsFinalizer)
  if (needsFinalizer && !view.blocked && !view.deleting) {
    visit.logger.debug('Adding the finalizer, thus preventing the actual deletion.')
    // The server takes none on what was deleted meanwhile.
    visit.fns.push((body) => {
      if (!isDeletionOngoing(body)) blockDeletion(body, finalizer)
    })
    return {}
  }
  if (!needsFinalizer && view.blocked) {
    visit.logger.debug('Removing the finalizer, as there are no handlers requiring it.')
    forgetSteps(runtime, memory, visit.merge)
    visit.fns.push((body) => allowDeletion(body, finalizer))
    return {}
  }
  // Objects that no handler could ever be for are left alone: no annotations, no logs.
  if (interested.length === 0) {
    if (view.deleting && view.blocked && !isHeld(memory) && !isCleanupOwed(memory, view))
      release(runtime, memory, visit)
    return {}
  }
  if (runtime.pause.isPausedIn(memory.body.metadata.namespace)) return {}
  const pauseMs = pauseMsOf(runtime, memory, view.reason)
  if (pauseMs > 0) return { wakeAtMs: runtime.clock.now() + pauseMs }
  return { ...(await callHandlers(runtime, memory, visit, view)), isOfInterest: true }
}

function release(runtime: Runtime, memory: Memory, visit: Visit): void {
  visit.logger.debug('Removing the finalizer, thus allowing the actual deletion.')
  forgetSteps(runtime, memory, visit.merge)
  visit.fns.push((body) => allowDeletion(body, runtime.settings.persistence.finalizer))
}

async function callHandlers(runtime: Runtime, memory: Memory, visit: Visit, view: View): Promise<Step> {
  const { reason, compared } = view
  if (reason === 'free' || reason === 'gone') {
    visit.logger.debug('Deletion, but we are done with it, and we do not care.')
    return {}
  }
  const found = isHandlerReason(reason) && reason !== 'resume' ? await confirm(runtime, memory) : 'same'
  if (found !== 'same') return found === 'gone' ? {} : takeStep(runtime, memory, visit)
  report(runtime, visit, view)
  const cause: Cause = {
    reason: isHandlerReason(reason) ? reason : 'update',
    initial: view.initial,
    old: compared.old,
    new: compared.new,
    diff: compared.diff,
  }
  const cycle = createCycle(runtime, memory, visit, { view, cause })
  await cycle.run(isHandlerReason(reason) ? reason : 'noop')
  visit.outcome = outcomeOf(cycle, cause) ?? visit.outcome ?? 'unchanged'
  mergeInto(visit.merge, cycle.merge)
  for (const fn of cycle.fns) visit.fns.push(fn)
  if (!cycle.isDone) {
    if (isUnkept(memory, cycle)) warnOfProgress(runtime, memory)
    else cycle.store(memory.body, visit.merge)
    memory.progress = cycle.progress
    return { wakeAtMs: cycle.wakeAtMs, hasCalled: cycle.hasCalled }
  }
  return finish(runtime, memory, visit, { view, cycle })
}

/** Undefined where there was nobody to call: what came before it counts. */
function outcomeOf(cycle: Cycle, { reason }: Cause): ObjectOutcome | undefined {
  if (!cycle.isDone) return 'retrying'
  if (!cycle.hasCalled) return undefined
  return cycle.hasFailed ? 'failed' : outcomes[reason]
}

/** Nobody was called, and what there is to store is what we remember, not what the object says: it does not keep it. */
function isUnkept({ progress }: Memory, cycle: Cycle): boolean {
  if (progress === undefined || cycle.hasCalled) return false
  return [...cycle.progress].every(([id, current]) => current === progress.get(id))
}

/** Everybody is done: nothing of the progress is kept, and the state at hand counts as handled. */
function finish(
  runtime: Runtime,
  memory: Memory,
  visit: Visit,
  { view, cycle }: { readonly view: View; readonly cycle: Cycle },
): Step {
  const { settings, warnOnce } = runtime
  const { diffbaseStorage } = settings.persistence
  const hasCalled = cycle.hasCalled
  if (view.deleting && (isHeld(memory) || isCleanupOwed(memory, view))) {
    // Daemons take their time to end, and reconcilers to clean up; that the handlers are done must not be forgotten until then.
    if (!cycle.isIdle && !isUnkept(memory, cycle)) cycle.store(memory.body, visit.merge)
    memory.progress = cycle.progress
    return { hasCalled }
  }
  memory.progress = undefined
  if (!cycle.isIdle) cycle.purge(memory.body, visit.merge)
  if (!isHandlerReason(view.reason)) return { hasCalled }
  memory.isInitial = false
  if (view.deleting) {
    release(runtime, memory, visit)
    return { hasCalled }
  }
  const { old, new: handled, diff } = view.compared
  if (diff.length === 0 && isStoredAs(old, handled)) return { hasCalled }
  const essence = toStored(settings, view.body, handled)
  const stored = diffbaseStorage.store({ body: memory.body, patch: visit.merge, essence })
  if (stored?.digested) {
    warnOnce(
      view.resource,
      'digest',
      'An object is too large for its state to be kept in an annotation: only a digest of it is, so that its next change ' +
        'comes without the old values; use ignoredFields or another diff-base storage',
    )
  }
  return { hasCalled, handled }
}

/**
 * Whether the stored essence needs no write. An object that was resumed may differ from it by nulls, which are no change; they are
 * stored, as by Kopf, because PRESENT and ABSENT tell null from absent in the old value.
 */
function isStoredAs(old: Essence | undefined, current: Essence): boolean {
  return old !== undefined && (isDigestEssence(old) || isDeepEqual(old, current))
}

function createCycle(
  runtime: Runtime,
  memory: Memory,
  visit: Visit,
  { view, cause }: { readonly view: View; readonly cause: Cause },
): Cycle {
  const { settings, clock, lifecycle, random, signal, stopping, pause } = runtime
  return new Cycle({
    cause,
    body: view.body,
    owned: memory.served.handlers.change,
    situationOf: (other, changed) =>
      other === cause && changed === undefined ? view : view.situationOf(other, changed),
    before: { merge: visit.merge, fns: [...visit.fns] },
    args: view.objectArgs,
    seal: runtime.stepKeys.sealOf(memory, { type: 'change', body: view.body, logger: visit.logger }),
    settings,
    clock,
    logger: visit.logger,
    lifecycle,
    random,
    watch: runtime.watchOf(memory),
    signal,
    stopping,
    isPaused: () => pause.isPausedIn(memory.body.metadata.namespace),
    remembered: memory.progress,
    isOutdated: () => memory.body !== view.body,
    flush: (cycle) => flush(runtime, memory, visit, cycle),
  })
}

/** The part of what is finished, written while a handler is still running. What fails is left to the write at the end. */
async function flush(runtime: Runtime, memory: Memory, visit: Visit, cycle: Cycle): Promise<KubeObject | undefined> {
  mergeInto(visit.merge, cycle.merge)
  for (const fn of cycle.fns) visit.fns.push(fn)
  cycle.clearWritten()
  cycle.store(memory.body, visit.merge)
  return (await write(runtime, memory, visit)).body
}

/** Diffs are described only where the log shows debug messages. */
function report({ sink }: Runtime, { logger }: Visit, view: View): void {
  if (!takesFrameworkLines(sink, 'debug')) return
  if (!isHandlerReason(view.reason)) {
    logger.debug('Something has changed, but we are not interested (the essence is the same).')
    return
  }
  const title = titles[view.reason]
  logger.debug(`${title} is in progress: ${describeState(view.body)}.`)
  const { old, diff } = view.compared
  if (diff.length > 0 && old !== undefined) logger.debug(`${title} diff: ${describeDiff(diff)}.`)
}
