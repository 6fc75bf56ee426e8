/** Abort controllers whose signal may have any number of listeners. Used for long-lived signals that are passed to handlers. */
import { setMaxListeners } from 'node:events'

/**
 * A controller without Node's warning about a memory leak, which comes at more than ten listeners: a handler's signal has one listener per
 * running sleep or request.
 */
export function createSharedController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
