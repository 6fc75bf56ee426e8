/** Signals that live long and that any number of calls may listen to at the same time. */
import { setMaxListeners } from 'node:events'

/**
 * A controller whose signal has no limit of listeners. Node.js warns of a memory leak when a signal has more than ten, which is
 * an everyday number for a signal that is handed to handlers: one listener for each sleep or request under way.
 */
export function createSharedController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
