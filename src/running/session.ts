/** The one session of an operator: each call first waits until there are credentials, and is made again where they are refused. */
import { isUnauthorized } from '../client/api-error.ts'
import type { Session } from '../client/calls.ts'
import { createSession, type SessionOptions } from '../client/session.ts'
import type { Logger } from '../util/log.ts'
import { packageVersion } from '../util/version.ts'
import type { Connection } from './connect.ts'

export interface OperatorSessionOptions extends Pick<SessionOptions, 'networking' | 'clock' | 'signal'> {
  readonly connection: Connection
  readonly logger: Logger
}

/** A call that was refused with so many credentials has that as its answer. */
const mostRefusals = 10

/** Whoever calls before there is a connection logs in, as startup handlers may. */
export function createOperatorSession(options: OperatorSessionOptions): Session {
  const { connection, logger, ...others } = options
  const session = createSession({
    ...others,
    transport: connection,
    userAgent: `kopf/${packageVersion()}`,
    onRetry: ({ call, attempt, error, delayMs }) =>
      logger.warn(
        `Request attempt ${attempt} failed; will retry in ${(delayMs / 1000).toFixed(1)} seconds: ${call.method} ${call.path} -> ${error.message}`,
      ),
  })
  const authorized = async <T>(ask: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
    for (let refusals = 1; ; refusals += 1) {
      // Here, and not only where it is sent: no time limit of a request counts while people wait for credentials.
      const waiting = connection.ready(signal)
      if (waiting !== undefined) await waiting
      try {
        return await ask()
      } catch (error) {
        // Nothing was done: it is safe to ask again.
        if (!isUnauthorized(error) || !connection.canLogIn || refusals >= mostRefusals) throw error
      }
    }
  }
  return {
    request: (call, signal) => authorized(() => session.request(call, signal), signal),
    stream: (call, signal) => authorized(() => session.stream(call, signal), signal),
  }
}
