/** A stream for each resource and namespace, and from each of them into the queue. Started by run.ts. */
import { isForbidden, isNotFound } from '../client/api-error.ts'
import { ABSENT, PRESENT } from '../core/handling/filters.ts'
import type { Handler, ValuePattern } from '../core/handling/handler.ts'
import { describeError } from '../core/handling/outcomes.ts'
import type { Registry } from '../core/handling/registry.ts'
import type { Settings } from '../core/settings.ts'
import type { ReflectedEvent } from '../core/watching/events.ts'
import type { KnownObjects } from '../core/watching/known-objects.ts'
import type { WatchScope, WatchState } from '../core/watching/observer.ts'
import { reflect } from '../core/watching/reflect.ts'
import type { LabelPattern } from '../core/watching/scope.ts'
import { sharedSelectors } from '../core/watching/scope.ts'
import { isComparable, isOlder } from '../core/watching/versions.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources.ts'
import { formatResource } from '../kube/selectors.ts'
import { monotonicOf } from '../util/clock.ts'
import { RecentMap } from '../util/recent-map.ts'
import { noteState } from './idleness.ts'
import { indexState, unindex } from './indexing.ts'
import { allHandlers, createMemory, isOnlyIndexed, keyOf, Memories, type Memory, type Served } from './memories.ts'
import { takeBack } from './pausing.ts'
import { Rewinding } from './rewinding.ts'
import type { Arrival, Runtime } from './runtime.ts'

/** What comes late comes within a minute or two: so many objects do not go out of sight in that time. */
const mostUnseen = 1000

type ObjectEvent = Exclude<ReflectedEvent, { type: 'listed' }>

export function toServed(registry: Registry, settings: Settings, resource: Resource): Served {
  const handlers = registry.handlersFor(resource)
  const selectors = sharedSelectors(allHandlers(handlers).map(toLabelled), settings.watching, resource)
  const isNarrowedBySettings = Object.keys(sharedSelectors([], settings.watching, resource)).length > 0
  const hasIdling = handlers.background.some(({ background }) => background?.rhythm?.idleMs !== undefined)
  const areNamed = handlers.reconcile.some(({ reconciling }) => (reconciling?.watches.length ?? 0) > 0)
  const kept = {
    memories: new Memories({ areNamed }),
    unseen: new RecentMap<string, string>(mostUnseen),
    dropsConditions: false,
    dropped: new Set<string>(),
    end: undefined,
  }
  const traits = { isNarrowedBySettings, hasIdling, isOnlyIndexed: isOnlyIndexed(handlers) }
  return { resource, handlers, selectors, ...traits, ...kept }
}

function toLabelled({ labels }: Handler) {
  if (labels === undefined) return { labels: undefined }
  return { labels: Object.fromEntries(Object.entries(labels).map(([key, pattern]) => [key, toLabelPattern(pattern)])) }
}

function toLabelPattern(pattern: ValuePattern): LabelPattern {
  if (pattern === PRESENT) return 'present'
  if (pattern === ABSENT) return 'absent'
  return typeof pattern === 'string' ? { equals: pattern } : 'unknown'
}

export interface Stream {
  readonly served: Served
  /** Undefined for the whole cluster. */
  readonly namespace: string | undefined
  /** Which objects an earlier stream of the same scope has left, if any. */
  readonly known: KnownObjects
  /** Called each time all objects that are there have been brought. */
  readonly onListed: () => void
  /** The server refuses what we may not see. */
  readonly onForbidden: (error: Error) => void
  /** The server does not know the resource. */
  readonly onMissing: () => void
  /** Whether changes come, or not. */
  readonly onState: (state: WatchState) => void
}

/** Runs until the signal is aborted, whatever happens to the connection. */
export function runStream(runtime: Runtime, stream: Stream, signal: AbortSignal): Promise<void> {
  const { session, clock, settings, random } = runtime
  const { served, namespace, known } = stream
  const rewinding = new Rewinding(served)
  const observer = {
    watchStateChanged: (state: WatchState, scope: WatchScope) => reportState(runtime, stream, state, scope),
    watchWarned: (message: string, scope: WatchScope) => runtime.logger.warn(`${message} (${describeScope(scope)})`),
  }
  const options = {
    session,
    clock,
    random,
    resource: served.resource,
    namespace,
    watching: settings.watching,
    selectors: served.selectors,
    observer,
    // What goes during a pause is found out by the list after it.
    known,
  }
  const take = (event: ReflectedEvent) => {
    if (event.type !== 'listed') {
      rewinding.note(event)
      deliver(runtime, served, event)
      return
    }
    for (const object of rewinding.end(event, runtime.logger)) {
      deliver(runtime, served, { type: 'applied', event: null, object })
    }
    stream.onListed()
  }
  return reflect(options, take, signal)
}

function reportState({ logger }: Runtime, stream: Stream, state: WatchState, scope: WatchScope): void {
  stream.onState(state)
  if (state.type === 'watching') logger.debug(`Watching ${describeScope(scope)}.`)
  if (state.type !== 'broken') return
  const { error, delayMs, attempt } = state
  if (isForbidden(error)) stream.onForbidden(error)
  if (isNotFound(error)) stream.onMissing()
  const message = `The watch-stream of ${describeScope(scope)} has failed and is taken up again in ${(delayMs / 1000).toFixed(1)} seconds: ${describeError(error)}`
  // A stream that breaks now and then is no news to anybody; one that stays broken is.
  if (attempt > 1 || isForbidden(error)) logger.warn(message)
  else logger.debug(message)
}

export function describeScope({ resource, namespace }: WatchScope): string {
  return `${formatResource(resource)} ${namespace === undefined ? 'cluster-wide' : `in "${namespace}"`}`
}

/** Into the queue, and past it into the indices. Our own writes come back by this way; they are no news. */
function deliver(runtime: Runtime, served: Served, event: ObjectEvent): void {
  const key = keyOf(event.object)
  const known = served.memories.get(key)
  if (served.isOnlyIndexed) {
    deliverToIndices(runtime, served, event)
    return
  }
  if (runtime.standing.isStandingBy) {
    deliverToStandBy(runtime, served, event)
    return
  }
  if (known === undefined && isOlder(event.object.metadata.resourceVersion, served.unseen.get(key))) return
  if (event.type === 'deleted') {
    if (known !== undefined) unindex(runtime, known)
    const memory = known ?? remember(runtime, served, { object: event.object, isInitial: false })
    runtime.queue.put(memory, { type: 'deleted', object: event.object, missed: event.missed })
    return
  }
  const isListed = event.event === null
  const memory = known ?? remember(runtime, served, { object: event.object, isInitial: isListed })
  const isBack = memory.isUnwatched
  if (isBack) takeBack(memory, event.object)
  if (isBack || (isListed && known === undefined)) runtime.backlog?.found(memory)
  noteState(runtime, memory, event.object)
  indexState(runtime, memory, event.object)
  if (known !== undefined && !isBack && isEcho(known, event)) return
  const isSpied = served.handlers.event.length > 0 && runtime.large.canWaitInStates(event.object)
  const arrival: Arrival = { type: 'seen', event: event.event, object: event.object, isSpied }
  runtime.queue.put(memory, arrival, isListed ? 'backlog' : 'now')
  // Also where nothing has changed: somebody is to be started, or tried, again.
  if (isBack) runtime.queue.put(memory, { type: 'wake' }, 'backlog')
}

/** Nobody else wants to know: the queue is not bothered, and the object itself is not kept. */
function deliverToIndices(runtime: Runtime, served: Served, event: ObjectEvent): void {
  const key = keyOf(event.object)
  const known = served.memories.get(key)
  if (event.type === 'applied') {
    const memory = known ?? remember(runtime, served, { object: toIdentity(event.object), isInitial: false })
    indexState(runtime, memory, event.object)
  } else if (known !== undefined) {
    unindex(runtime, known)
    served.memories.delete(key)
  }
}

function toIdentity({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, creationTimestamp } = metadata
  return { apiVersion, kind, metadata: { name, namespace, uid, creationTimestamp } as KubeObject['metadata'] }
}

/**
 * Another replica handles it. Of what it sees, a stand-by keeps what it would find at a start: what is there, each as it is last,
 * and nothing of what is gone. That is how it begins when its turn comes, without a list.
 */
function deliverToStandBy(runtime: Runtime, served: Served, event: ObjectEvent): void {
  const known = served.memories.get(keyOf(event.object))
  if (event.type === 'deleted') {
    if (known !== undefined) leaveToOthers(runtime, known)
    return
  }
  const memory = known ?? remember(runtime, served, { object: event.object, isInitial: true })
  noteState(runtime, memory, event.object)
  indexState(runtime, memory, event.object)
  memory.body = event.object
  runtime.queue.put(memory, { type: 'seen', event: null, object: event.object, isSpied: false }, 'backlog')
}

/** A stand-by has nothing to do with the end of an object but to forget it. */
export function leaveToOthers(runtime: Runtime, memory: Memory): void {
  unindex(runtime, memory)
  runtime.queue.drop(memory)
  memory.served.memories.delete(keyOf(memory.body))
}

function remember(
  { clock }: Runtime,
  served: Served,
  { object, isInitial }: { readonly object: KubeObject; readonly isInitial: boolean },
): Memory {
  const memory = createMemory(served, object, { isInitial, nowMs: monotonicOf(clock) })
  served.memories.set(keyOf(object), memory)
  return memory
}

/** Our own writes come back to us; where nobody spies on events, there is nothing to be done about them. */
function isEcho({ served, body, goodbye }: Memory, { object }: Extract<ReflectedEvent, { type: 'applied' }>): boolean {
  // That it is in sight again matters, whichever of its states says so.
  if (served.handlers.event.length > 0 || goodbye !== undefined) return false
  const { resourceVersion } = object.metadata
  // Where versions say nothing, the echo does: all that was held back until it came is older (consistency.ts).
  if (!isComparable(resourceVersion)) return false
  return resourceVersion === body.metadata.resourceVersion || isOlder(resourceVersion, body.metadata.resourceVersion)
}
