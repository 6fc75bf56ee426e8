/** A stream for each resource and namespace, and from each of them into the queue. Started by run.ts. */
import { isForbidden } from '../client/api-error.ts'
import { ABSENT, PRESENT } from '../core/handling/filters.ts'
import type { Handler, ValuePattern } from '../core/handling/handler.ts'
import { describeError } from '../core/handling/outcomes.ts'
import type { Registry } from '../core/handling/registry.ts'
import type { Settings } from '../core/settings.ts'
import type { ReflectedEvent } from '../core/watching/events.ts'
import type { WatchScope, WatchState } from '../core/watching/observer.ts'
import { reflect } from '../core/watching/reflect.ts'
import type { LabelPattern } from '../core/watching/scope.ts'
import { sharedSelectors } from '../core/watching/scope.ts'
import { isComparable, isOlder } from '../core/watching/versions.ts'
import type { Resource } from '../kube/resources.ts'
import { formatResource } from '../kube/selectors.ts'
import { createMemory, keyOf, type Memory, type Served } from './memories.ts'
import type { Arrival, Runtime } from './runtime.ts'

export function toServed(registry: Registry, settings: Settings, resource: Resource): Served {
  const handlers = registry.handlersFor(resource)
  const all = [...handlers.event, ...handlers.change]
  const selectors = sharedSelectors(all.map(toLabelled), settings.watching, resource)
  return { resource, handlers, selectors, memories: new Map() }
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
  /** Called each time all objects that are there have been brought. */
  readonly onListed: () => void
  /** The server refuses what we may not see. */
  readonly onForbidden: (error: Error) => void
}

/** Runs until the signal is aborted, whatever happens to the connection. */
export function runStream(runtime: Runtime, stream: Stream, signal: AbortSignal): Promise<void> {
  const { session, clock, settings, random } = runtime
  const { served, namespace } = stream
  const observer = {
    watchStateChanged: (state: WatchState, scope: WatchScope) => reportState(runtime, stream, state, scope),
    watchWarned: (message: string, scope: WatchScope) => runtime.logger.warn(`${message} (${describeScope(scope)})`),
  }
  return reflect(
    {
      session,
      clock,
      random,
      resource: served.resource,
      namespace,
      watching: settings.watching,
      selectors: served.selectors,
      observer,
    },
    (event) => deliver(runtime, stream, event),
    signal,
  )
}

function reportState({ logger }: Runtime, stream: Stream, state: WatchState, scope: WatchScope): void {
  if (state.type === 'watching') logger.debug(`Watching ${describeScope(scope)}.`)
  if (state.type !== 'broken') return
  const { error, delayMs, attempt } = state
  if (isForbidden(error)) stream.onForbidden(error)
  const message = `The watch-stream of ${describeScope(scope)} has failed and is taken up again in ${(delayMs / 1000).toFixed(1)} seconds: ${describeError(error)}`
  // A stream that breaks now and then is no news to anybody; one that stays broken is.
  if (attempt > 1 || isForbidden(error)) logger.warn(message)
  else logger.debug(message)
}

function describeScope({ resource, namespace }: WatchScope): string {
  return `${formatResource(resource)} ${namespace === undefined ? 'cluster-wide' : `in "${namespace}"`}`
}

function deliver(runtime: Runtime, { served, onListed }: Stream, event: ReflectedEvent): void {
  if (event.type === 'listed') {
    if (event.rewound) forgetVersions(runtime, served)
    onListed()
    return
  }
  const key = keyOf(event.object)
  const known = served.memories.get(key)
  if (event.type === 'deleted') {
    const memory = known ?? remember(served, key, createMemory(served, event.object, false))
    runtime.queue.put(memory, { type: 'deleted', object: event.object, missed: event.missed })
    return
  }
  if (known !== undefined && isEcho(known, event)) return
  const isListed = event.event === null
  const memory = known ?? remember(served, key, createMemory(served, event.object, isListed))
  const isSpied = served.handlers.event.length > 0
  const arrival: Arrival = { type: 'seen', event: event.event, object: event.object, isSpied }
  runtime.queue.put(memory, arrival, isListed ? 'backlog' : 'now')
}

function remember(served: Served, key: string, memory: Memory): Memory {
  served.memories.set(key, memory)
  return memory
}

/** Our own writes come back to us; where nobody spies on events, there is nothing to be done about them. */
function isEcho({ served, body }: Memory, { object }: Extract<ReflectedEvent, { type: 'applied' }>): boolean {
  if (served.handlers.event.length > 0) return false
  const { resourceVersion } = object.metadata
  // Where versions say nothing, the echo does: all that was held back until it came is older (consistency.ts).
  if (!isComparable(resourceVersion)) return false
  return resourceVersion === body.metadata.resourceVersion || isOlder(resourceVersion, body.metadata.resourceVersion)
}

/** A cluster restored from a backup counts from a lower number again: what we know is then from a past that never was. */
function forgetVersions({ logger }: Runtime, served: Served): void {
  logger.warn(
    `The versions of ${formatResource(served.resource)} have gone back, as after a restored backup: all objects are looked at anew.`,
  )
  for (const memory of served.memories.values()) {
    const { resourceVersion: _, ...metadata } = memory.body.metadata
    memory.body = { ...memory.body, metadata }
    memory.expected = undefined
  }
}
