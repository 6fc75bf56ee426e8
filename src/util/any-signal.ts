/**
 * One signal of several, for as long as some work takes. `AbortSignal.any` would be shorter; but of each that it makes, those
 * that live for long keep a trace for ever (Node 20), and there may be thousands in a second.
 */

/**
 * Calls it with what makes a signal that is aborted as soon as one of these is, for the same reason: it is dear, and made for those
 * who ask for it. Rejects with that reason then, whatever becomes of the work: it may never end.
 */
export function withAnySignal<T>(
  signals: readonly AbortSignal[],
  work: (signal: () => AbortSignal) => Promise<T>,
): Promise<T> {
  const aborted = signals.find((source) => source.aborted)
  let any: AbortController | undefined
  return new Promise<T>((resolve, reject) => {
    const stop = ({ target }: Pick<Event, 'target'>) => {
      const { reason } = target as AbortSignal
      leave()
      any?.abort(reason)
      reject(reason)
    }
    const leave = () => {
      for (const source of signals) source.removeEventListener('abort', stop)
    }
    const settle = (end: () => void) => {
      leave()
      end()
    }
    for (const source of signals) source.addEventListener('abort', stop)
    work(() => {
      any ??= new AbortController()
      const early = signals.find((source) => source.aborted)
      if (early !== undefined) any.abort(early.reason)
      return any.signal
    }).then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    )
    if (aborted !== undefined) stop({ target: aborted })
  })
}
