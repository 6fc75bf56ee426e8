/**
 * Following what says what there is to serve: by metadata alone, and for as long as we may. Shared by the observers of
 * namespaces and of definitions.
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
  /** Kept from one time to the next, so that what goes in between is missed. */
  readonly known: KnownObjects
  readonly take: (event: ReflectedEvent) => void
  readonly onState: (state: WatchState) => void
}

/** Resolves when the signal is aborted, or when we may not see them. */
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

/** What is forbidden is tried again after so long, then less often. */
const retryMs = [1000, 2000, 4000, 8000, 15_000, 30_000, 60_000, 120_000]

export function retryAfter(attempt: number): number {
  return retryMs[Math.min(attempt, retryMs.length - 1)]!
}
