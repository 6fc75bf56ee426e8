/** The one session of an operator: each call first waits for the connection. */
import type { Session } from '../client/calls.ts'
import { createSession, type SessionOptions } from '../client/session.ts'
import type { Logger } from '../util/log.ts'
import type { Transport } from '../util/transport.ts'
import { packageVersion } from '../util/version.ts'
import type { Connection } from './connect.ts'

export interface SessionOpenerOptions extends Pick<SessionOptions, 'networking' | 'clock' | 'signal'> {
  readonly logger: Logger
}

/** Makes the session of one transport. */
export function createSessionOpener(options: SessionOpenerOptions): (transport: Transport) => Session {
  const { logger, ...others } = options
  return (transport) =>
    createSession({
      ...others,
      transport,
      userAgent: `kopf/${packageVersion()}`,
      onRetry: ({ call, attempt, error, delayMs }) =>
        logger.warn(
          `Request attempt ${attempt} failed; will retry in ${(delayMs / 1000).toFixed(1)} seconds: ${call.method} ${call.path} -> ${error.message}`,
        ),
    })
}

/** Whoever calls before there is a connection logs in, as startup handlers may. */
export function createOperatorSession(connection: Connection): Session {
  return {
    request: (call, signal) => connection.use((session) => session.request(call, signal), signal),
    stream: (call, signal) => connection.use((session) => session.stream(call, signal), signal),
  }
}
