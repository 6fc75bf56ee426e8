/** The hall: everything that has come for one object, from the door to the patch. Never rejects: see throttle.ts. */

import { preMatches } from '../core/handling/select.ts'
import { readObject } from '../core/patching/apply.ts'
import { isOlder } from '../core/watching/versions.ts'
import { allowDeletion, isDeletionBlocked, isDeletionOngoing } from '../kube/finalizers.ts'
import type { KubeObject } from '../kube/objects.ts'
import { monotonicOf } from '../util/clock.ts'
import { type Logger, takesFrameworkLines } from '../util/log.ts'
import { isAccompanied, isHeld, leaveBackground } from './background.ts'
import { handleChanges } from './changes.ts'
import { releaseHeld, takeIn } from './consistency.ts'
import { noteState } from './idleness.ts'
import { unindex, untilIndexed } from './indexing.ts'
import type { Reservation } from './large-objects.ts'
import { writeLeftOver } from './late-writes.ts'
import { allHandlers, keyOf, type Memory } from './memories.ts'
import { reconcileObject } from './reconciling.ts'
import { type Arrival, loggerOf, type Runtime } from './runtime.ts'
import { callSpies } from './spies.ts'
import { easeThrottle, throttle } from './throttle.ts'
import { noteFitting, refuseTooLarge } from './too-large.ts'
import { View } from './view.ts'
import { createVisit, type Visit } from './visit.ts'
import { writeWish } from './writing.ts'

export async function processObject(runtime: Runtime, memory: Memory, arrivals: readonly Arrival[]): Promise<void> {
  const logger = loggerOf(runtime, memory.body)
  const visit = createVisit(logger)
  let release: (() => void) | undefined
  try {
    await untilIndexed(memory)
    const reservation = reserveHandling(runtime, memory, arrivals)
    if (reservation !== undefined) release = await reservation.begun
    const failures = await welcomeAll(runtime, memory, visit, arrivals)
    const throttledMs = memory.throttledUntilMs - monotonicOf(runtime.clock)
    const isThrottled = throttledMs > 0
    const isNews = arrivals.some(({ type }) => type === 'deleted')
    if (memory.goodbye !== undefined && !memory.isGone && (isNews || !isThrottled))
      await sayGoodbye(runtime, memory, visit, memory.goodbye)
    if (memory.isGone) return forget(runtime, memory)
    if (memory.goodbye !== undefined && isHeld(memory)) return
    if (failures.length > 0) throw failures[0]
    if (isThrottled) {
      runtime.alarms.setAfter(memory, throttledMs)
      return
    }
    if (memory.goodbye !== undefined || isUneventful(visit)) return
    if (runtime.large.isTooLarge(memory.body)) return await refuseTooLarge(runtime, memory, visit)
    noteFitting(runtime, memory, visit)
    await handleChanges(runtime, memory, visit)
    await reconcileObject(runtime, memory, logger)
    easeThrottle(memory, logger)
  } catch (error) {
    throttle(runtime, memory, logger, error)
    visit.outcome = 'retrying'
  } finally {
    visit.held.release()
    release?.()
    runtime.backlog?.visited(memory, visit.outcome)
  }
}

/** Large objects take turns, so that few of them are parsed at once. One that waits does not keep others from being handled. */
function reserveHandling(
  { large, queue }: Runtime,
  memory: Memory,
  arrivals: readonly Arrival[],
): Reservation | undefined {
  const states = arrivals.map((arrival) => (arrival.type === 'wake' ? memory.body : arrival.object))
  const reservation = large.reserveHandling([memory.body, ...states])
  if (reservation?.mustWait) queue.excuse(memory)
  return reservation
}

/** Nothing but the echo of what we wrote: it often comes before the answer does. */
function isUneventful({ hasNews, isWoken, merge, fns }: Visit): boolean {
  return !hasNews && !isWoken && fns.length === 0 && Object.keys(merge).length === 0
}

/** What fails with one of them is no reason to lose the others: the last may be the end of the object. */
async function welcomeAll(
  runtime: Runtime,
  memory: Memory,
  visit: Visit,
  arrivals: readonly Arrival[],
): Promise<unknown[]> {
  const failures: unknown[] = []
  for (const arrival of arrivals) {
    await welcome(runtime, memory, visit, arrival).catch((error: unknown) => failures.push(error))
  }
  return failures
}

async function welcome(runtime: Runtime, memory: Memory, visit: Visit, arrival: Arrival): Promise<void> {
  if (arrival.type === 'wake') {
    visit.isWoken = true
    releaseHeld(runtime, memory)
  } else if (arrival.type === 'seen') {
    // It has left what we watch, and has come back: that is news, even if we know the state already, or a newer one.
    if (takeIn(runtime, memory, arrival.object) || memory.goodbye !== undefined) visit.hasNews = true
    memory.goodbye = undefined
    memory.isGone = false
    await callSpies(runtime, memory, visit, { type: arrival.event, object: arrival.object })
  } else {
    memory.goodbye = arrival
  }
}

async function sayGoodbye(
  runtime: Runtime,
  memory: Memory,
  visit: Visit,
  { object, missed }: NonNullable<Memory['goodbye']>,
): Promise<void> {
  const { end } = memory.served
  if (end === 'unwanted') return abandon(runtime, memory)
  const alive = end === undefined ? await findAlive(runtime, memory) : undefined
  if (alive !== undefined) return loseSight(runtime, memory, visit, alive)
  leaveBackground(runtime, memory, 'resource-deleted')
  memory.isGone = true
  // Of what went unnoticed, only the metadata is known from the stream; we may know more.
  const last = missed ? memory.body : object
  if (!isOlder(last.metadata.resourceVersion, memory.body.metadata.resourceVersion)) memory.body = last
  await callSpies(runtime, memory, visit, { type: 'DELETED', object: last })
  if (takesFrameworkLines(runtime.sink, 'debug') && isOfInterest(runtime, memory, visit.logger)) {
    visit.logger.debug('Deleted, really deleted, and we are notified.')
  }
}

/** Nobody is for the whole resource any more, in this version of it: nothing is said of its objects, nor done about them. */
function abandon(runtime: Runtime, memory: Memory): void {
  leaveBackground(runtime, memory, 'filters-mismatch')
  memory.isGone = true
}

/** It lives, and is none of our business any more; as long as it stays so. */
async function loseSight(runtime: Runtime, memory: Memory, visit: Visit, alive: KubeObject): Promise<void> {
  noteState(runtime, memory, alive)
  takeIn(runtime, memory, alive)
  if (isInSight(runtime, memory, visit.logger)) {
    // What was said of it is old: it is about to be told of again.
    memory.goodbye = undefined
    visit.hasNews = true
    return
  }
  leaveBackground(runtime, memory, isDeletionOngoing(memory.body) ? 'resource-deleted' : 'filters-mismatch')
  await writeLeftOver(runtime, memory)
  // Nothing is done about the finalizer as long as somebody counts on it; whoever ends calls us again.
  if (isHeld(memory)) return
  // Should it fail, it is done again: a finalizer that nobody removes would keep the object for ever.
  await release(runtime, memory, visit.logger)
  const { resourceVersion } = memory.body.metadata
  if (resourceVersion !== undefined) memory.served.unseen.set(keyOf(memory.body), resourceVersion)
  memory.isGone = true
}

/** Whether the server was asked for it, as it is now; where the settings have a say in that, it is as the server says. */
function isInSight(runtime: Runtime, memory: Memory, logger: Logger): boolean {
  const { handlers, isNarrowedBySettings } = memory.served
  if (isNarrowedBySettings) return false
  const view = new View(runtime, memory, logger)
  const situation = { resource: view.resource, body: view.body, args: view.objectArgs }
  return allHandlers(handlers).some((handler) => preMatches(handler, situation))
}

/** What no handler was ever for goes as it lived: without a word. */
function isOfInterest(runtime: Runtime, memory: Memory, logger: Logger): boolean {
  const view = new View(runtime, memory, logger)
  return memory.served.handlers.change.some((handler) => preMatches(handler, view))
}

/**
 * An object that leaves the labels we watch comes as deleted, as it was before, although it lives; while we did not watch,
 * it is just not there any more. One that was only waiting for its finalizers is gone; of any other, the server can tell.
 */
async function findAlive(runtime: Runtime, { served, body }: Memory): Promise<KubeObject | undefined> {
  const { resource, selectors } = served
  if (Object.keys(selectors).length === 0) return undefined
  if (isDeletionOngoing(body) && (body.metadata.finalizers ?? []).length === 0) return undefined
  return readObject({ session: runtime.session, resource, signal: runtime.writing }, body)
}

/** It is none of our business any more: nothing of ours must keep it from being deleted. */
async function release(runtime: Runtime, memory: Memory, logger: Logger): Promise<void> {
  const { finalizer } = runtime.settings.persistence
  if (!isDeletionBlocked(memory.body, finalizer)) return
  logger.debug('Removing the finalizer, as there are no handlers requiring it.')
  await writeWish(runtime, memory, { logger, merge: {}, fns: [(body) => allowDeletion(body, finalizer)] })
}

/** Not before the last daemon has ended, nor when it has come back: nothing is to be started a second time for it. */
function forget(runtime: Runtime, memory: Memory): void {
  const { memories } = memory.served
  runtime.alarms.cancel(memory)
  if (runtime.queue.hasNews(memory)) return
  unindex(runtime, memory)
  if (isAccompanied(memory)) return
  const key = keyOf(memory.body)
  if (memories.get(key) === memory) memories.delete(key)
}
