/**
 * One signal of several, for as long as some work takes. `AbortSignal.any` would be shorter; but of each that it makes, those
 * that live for long keep a trace for ever (Node 20), and there may be thousands in a second.
 */
import { createSharedController } from './shared-signal.ts'

/**
 * Calls it with what makes a signal that is aborted as soon as one of these is, for the same reason: it is dear, and made for those
 * who ask for it. Rejects with that reason then, whatever becomes of the work: it may never end. What `late` gives counts only from
 * when somebody has asked: that one is dear, too.
 */
export function withAnySignal<T>(
  signals: readonly AbortSignal[],
  work: (signal: () => AbortSignal) => Promise<T>,
  late: () => AbortSignal | undefined = () => undefined,
): Promise<T> {
  const sources = [...signals]
  let any: AbortController | undefined
  let isOver = false
  return new Promise<T>((resolve, reject) => {
    const stop = ({ target }: Pick<Event, 'target'>) => {
      const { reason } = target as AbortSignal
      leave()
      any?.abort(reason)
      reject(reason)
    }
    const leave = () => {
      isOver = true
      for (const source of sources) source.removeEventListener('abort', stop)
    }
    const settle = (end: () => void) => {
      leave()
      end()
    }
    const make = () => {
      if (any !== undefined) return any.signal
      any = createSharedController()
      const more = late()
      if (more !== undefined) sources.push(more)
      if (!isOver) more?.addEventListener('abort', stop)
      const early = firstAborted(sources)
      if (early !== undefined) stop({ target: early })
      return any.signal
    }
    for (const source of sources) source.addEventListener('abort', stop)
    const early = firstAborted(sources)
    work(make).then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    )
    if (early !== undefined) stop({ target: early })
  })
}

function firstAborted(signals: readonly AbortSignal[]): AbortSignal | undefined {
  return signals.find(({ aborted }) => aborted)
}
