/** The hall: everything that has come for one object, from the door to the patch. Never rejects: see throttle.ts. */

import { preMatches } from '../core/handling/select.ts'
import { applyWish, readObject } from '../core/patching/apply.ts'
import { isOlder } from '../core/watching/versions.ts'
import { allowDeletion, isDeletionBlocked, isDeletionOngoing } from '../kube/finalizers.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Logger } from '../util/log.ts'
import { handleChanges } from './changes.ts'
import { releaseHeld, takeIn, writerOf } from './consistency.ts'
import { keyOf, type Memory } from './memories.ts'
import { type Arrival, loggerOf, type Runtime } from './runtime.ts'
import { callSpies } from './spies.ts'
import { easeThrottle, throttle } from './throttle.ts'
import { View } from './view.ts'
import { createVisit, type Visit } from './visit.ts'

export async function processObject(runtime: Runtime, memory: Memory, arrivals: readonly Arrival[]): Promise<void> {
  const logger = loggerOf(runtime, memory.body)
  try {
    const visit = createVisit(logger)
    const failures = await welcomeAll(runtime, memory, visit, arrivals)
    const isThrottled = memory.throttledUntilMs > runtime.clock.now()
    const isNews = arrivals.some(({ type }) => type === 'deleted')
    if (memory.goodbye !== undefined && (isNews || !isThrottled))
      await sayGoodbye(runtime, memory, visit, memory.goodbye)
    if (memory.isGone) return forget(runtime, memory)
    if (failures.length > 0) throw failures[0]
    if (isThrottled) {
      runtime.alarms.set(memory, memory.throttledUntilMs)
      return
    }
    if (isUneventful(visit)) return
    await handleChanges(runtime, memory, visit)
    easeThrottle(memory, logger)
  } catch (error) {
    throttle(runtime, memory, logger, error)
  }
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
    // It has left what we watch, and has come back.
    memory.goodbye = undefined
    if (takeIn(runtime, memory, arrival.object)) visit.hasNews = true
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
  const alive = await findAlive(runtime, memory)
  // Should it fail, it is done again: a finalizer that nobody removes would keep the object for ever.
  if (alive !== undefined) await release(runtime, memory, alive, visit.logger)
  memory.isGone = true
  if (alive !== undefined) return
  // Of what went unnoticed, only the metadata is known from the stream; we may know more.
  const last = missed ? memory.body : object
  if (!isOlder(last.metadata.resourceVersion, memory.body.metadata.resourceVersion)) memory.body = last
  await callSpies(runtime, memory, visit, { type: 'DELETED', object: last })
  if (runtime.sink.minimumLevel === 'debug' && isOfInterest(runtime, memory, visit.logger)) {
    visit.logger.debug('Deleted, really deleted, and we are notified.')
  }
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
async function release(runtime: Runtime, memory: Memory, alive: KubeObject, logger: Logger): Promise<void> {
  const { finalizer } = runtime.settings.persistence
  if (!isDeletionBlocked(alive, finalizer)) return
  logger.debug('Removing the finalizer, as there are no handlers requiring it.')
  await applyWish(writerOf(runtime, memory, logger), alive, {
    merge: {},
    fns: [(body) => allowDeletion(body, finalizer)],
  })
}

function forget(runtime: Runtime, memory: Memory): void {
  const { memories } = memory.served
  runtime.alarms.cancel(memory)
  const key = keyOf(memory.body)
  if (memories.get(key) === memory) memories.delete(key)
}
