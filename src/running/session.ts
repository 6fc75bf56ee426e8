/** The one session of an operator: each call first waits for the connection, and tells afterwards what became of it. */
import type { Session } from '../client/calls.ts'
import { createSession, type SessionOptions } from '../client/session.ts'
import type { Logger } from '../util/log.ts'
import { packageVersion } from '../util/version.ts'
import type { Connection } from './connect.ts'
import type { Health } from './health.ts'

export interface OperatorSessionOptions extends Pick<SessionOptions, 'networking' | 'clock' | 'signal'> {
  readonly connection: Connection
  readonly health: Health
  readonly logger: Logger
}

/** Whoever calls before there is a connection logs in, as startup handlers may. */
export function createOperatorSession(options: OperatorSessionOptions): Session {
  const { connection, health, logger, ...others } = options
  let session: Session | undefined
  const open = async () => {
    const transport = await connection.open()
    session ??= createSession({
      ...others,
      transport,
      userAgent: `kopf/${packageVersion()}`,
      onRetry: ({ call, attempt, error, delayMs }) =>
        logger.warn(
          `Request attempt ${attempt} failed; will retry in ${(delayMs / 1000).toFixed(1)} seconds: ${call.method} ${call.path} -> ${error.message}`,
        ),
    })
    return session
  }
  const through = async <T>(ask: (session: Session) => Promise<T>): Promise<T> => {
    const opened = await open()
    try {
      const answer = await ask(opened)
      health.answered()
      return answer
    } catch (error) {
      health.answered(error)
      throw error
    }
  }
  return {
    request: (call, signal) => through((opened) => opened.request(call, signal)),
    stream: (call, signal) => through((opened) => opened.stream(call, signal)),
  }
}
