/**
 * Waits for abort signals, and combines several for the duration of some work, without leaving listeners behind. Replaces
 * `AbortSignal.any`, whose results long-lived source signals never release in Node 20: there may be thousands per second.
 */

import { setMaxListeners } from 'node:events'
import { createSharedController } from './shared-signal.ts'

/**
 * Runs `work` with a function that returns a combined signal. The signal is aborted when a source is, with its reason; it is created only
 * if `work` asks for it, since that is slow. When a source is aborted, the promise rejects with its reason, even if the work never
 * ends. `lazySource` adds a source that is slow to create: it is called only if `work` asks for the signal.
 */
export function withAnySignal<T>(
  signals: readonly AbortSignal[],
  work: (signal: () => AbortSignal) => Promise<T>,
  lazySource: () => AbortSignal | undefined = () => undefined,
): Promise<T> {
  const sources = [...signals]
  let any: AbortController | undefined
  let isOver = false
  return new Promise<T>((resolve, reject) => {
    const stop = ({ target }: Pick<Event, 'target'>) => {
      const { reason } = target as AbortSignal
      cleanUp()
      any?.abort(reason)
      reject(reason)
    }
    const cleanUp = () => {
      isOver = true
      for (const source of sources) source.removeEventListener('abort', stop)
    }
    const settle = (end: () => void) => {
      cleanUp()
      end()
    }
    const createSignal = () => {
      if (any !== undefined) return any.signal
      any = createSharedController()
      const more = lazySource()
      if (more !== undefined) sources.push(more)
      if (!isOver) more?.addEventListener('abort', stop)
      const aborted = firstAborted(sources)
      if (aborted !== undefined) stop({ target: aborted })
      return any.signal
    }
    for (const source of sources) source.addEventListener('abort', stop)
    const aborted = firstAborted(sources)
    work(createSignal).then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    )
    if (aborted !== undefined) stop({ target: aborted })
  })
}

function firstAborted(signals: readonly AbortSignal[]): AbortSignal | undefined {
  return signals.find(({ aborted }) => aborted)
}

/** Resolves when the signal is aborted or the work is done, whichever is first. Rejects if the work rejects. */
export function untilAborted(signal: AbortSignal | undefined, work?: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      resolve()
      return
    }
    const end = (): void => {
      signal?.removeEventListener('abort', end)
      resolve()
    }
    signal?.addEventListener('abort', end)
    work?.then(end, (error: unknown) => {
      signal?.removeEventListener('abort', end)
      reject(error)
    })
  })
}

/** Calls back when the signal is aborted, at once if it is aborted already, and stops listening when `until` is aborted. */
export function listenForAbort(signal: AbortSignal, onAbort: () => void, until: AbortSignal): void {
  if (until.aborted) return
  if (signal.aborted) {
    onAbort()
    return
  }
  // One listener per running or waiting call is no leak: disable Node's warning.
  setMaxListeners(0, signal)
  signal.addEventListener('abort', onAbort, { once: true, signal: until })
}
