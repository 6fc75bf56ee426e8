/** Listening to signals that many calls share. */
import { setMaxListeners } from 'node:events'

/** At once where it is aborted already; never once `until` is. */
export function listenForAbort(signal: AbortSignal, onAbort: () => void, until: AbortSignal): void {
  if (until.aborted) return
  if (signal.aborted) {
    onAbort()
    return
  }
  // One for each call that is under way or waits: no leak, whatever their number.
  setMaxListeners(0, signal)
  signal.addEventListener('abort', onAbort, { once: true, signal: until })
}
