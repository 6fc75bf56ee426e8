/**
 * Watches cluster-scoped objects by their metadata only, until the signal is aborted or the permission is missing. Shared by the
 * watches of namespaces and CRDs.
 */
import { isForbidden } from '../client/api-error.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { Context } from '../objects/context.ts'
import { reflect } from '../watching/reflector.ts'
import type { KnownObjects } from '../watching/store.ts'
import type { ReflectedEvent } from '../watching/watch-events.ts'
import type { WatchState } from '../watching/watch-observer.ts'

export interface MetadataWatchOptions {
  readonly resource: Resource
  /** Kept between calls, so that objects deleted between two watches are reported as deleted. */
  readonly known: KnownObjects
  readonly take: (event: ReflectedEvent) => void
  readonly onState: (state: WatchState) => void
}

/** Resolves when the signal is aborted, or when the operator lacks the permission to watch the resource. */
export async function watchMetadata(
  context: Context,
  observed: MetadataWatchOptions,
  signal: AbortSignal,
): Promise<void> {
  const { session, clock, random, settings, logger } = context
  const { resource, known, take, onState } = observed
  const end = new AbortController()
  signal.addEventListener('abort', () => end.abort(), { once: true, signal: end.signal })
  const observer = {
    watchStateChanged: (state: WatchState) => {
      onState(state)
      if (state.type === 'broken' && isForbidden(state.error)) end.abort()
    },
    watchWarned: (message: string) => logger.warn(message),
  }
  const { watching } = settings
  const scope = { resource, namespace: undefined, metadataOnly: true, known }
  await reflect({ session, clock, random, watching, observer, ...scope }, take, end.signal)
}

/** Delays before a forbidden watch is tried again. */
const retryMs = [1000, 2000, 4000, 8000, 15_000, 30_000, 60_000, 120_000]

export function retryAfter(attempt: number): number {
  return retryMs[Math.min(attempt, retryMs.length - 1)]!
}
