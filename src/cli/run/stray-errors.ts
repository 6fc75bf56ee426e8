/**
 * Logs errors that no caller waits for: unhandled rejections, and errors thrown in timers and event listeners. Node would print them in its own
 * format and exit. Here they are logged with the handler that caused them, and the command decides how to end. Used by `kopf run` and by
 * dev/operator-process.ts.
 */

import { createLogger, type LogSink } from '../../util/log/log.ts'
import { currentCall, trackCalls } from '../../util/process/current-call.ts'

/** The limit of logged errors: a timer that throws repeatedly must not fill the log while the operator stops. */
const maxLogged = 10

const descriptions = {
  unhandledRejection: ['left behind a promise that was rejected', 'A promise was rejected, and nothing handled it'],
  uncaughtException: ['left behind code that threw an error', 'An error was thrown, and nothing caught it'],
} as const

type StrayEvent = keyof typeof descriptions

/** Logs each stray error, then calls `onError` with it. Does nothing if the user's code listens to the event itself. */
export function catchStrayErrors(sink: LogSink, onError: (error: unknown) => void): void {
  trackCalls()
  let logged = 0
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      if (process.listenerCount(event) > 1) return
      logged += 1
      if (logged <= maxLogged) logStrayError(sink, event, error)
      onError(error)
    })
  }
}

function logStrayError(sink: LogSink, event: StrayEvent, error: unknown): void {
  const call = currentCall()
  const [ofHandler, ofNone] = descriptions[event]
  const what = call === undefined ? ofNone : `${call.title} ${ofHandler}`
  const logger = call?.logger ?? createLogger(sink, 'kopf.operator')
  logger.error(`${what}: ${toMessage(error)}. The operator stops. Await every promise in the handler that starts it.`, {
    ...(call && { handler: call.handler }),
    error,
  })
}

function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
