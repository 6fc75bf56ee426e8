/**
 * Following what says what there is to serve: by metadata alone, and for as long as we may. Shared by the observers of
 * namespaces and of definitions.
 */
import { isForbidden } from '../client/api-error.ts'
import type { ReflectedEvent } from '../core/watching/events.ts'
import type { KnownObjects } from '../core/watching/known-objects.ts'
import type { WatchState } from '../core/watching/observer.ts'
import { reflect } from '../core/watching/reflect.ts'
import type { Resource } from '../kube/resources.ts'
import type { Runtime } from './runtime.ts'

export interface Observed {
  readonly resource: Resource
  /** Kept from one time to the next, so that what goes in between is missed. */
  readonly known: KnownObjects
  readonly take: (event: ReflectedEvent) => void
  readonly onState: (state: WatchState) => void
}

/** Resolves when the signal is aborted, or when we may not see them. */
export async function observe(runtime: Runtime, observed: Observed, signal: AbortSignal): Promise<void> {
  const { session, clock, random, settings, logger } = runtime
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
const tryAgainMs = [1000, 2000, 4000, 8000, 15_000, 30_000, 60_000, 120_000]

export function tryAgainAfter(attempt: number): number {
  return tryAgainMs[Math.min(attempt, tryAgainMs.length - 1)]!
}
