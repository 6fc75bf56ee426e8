/** The sessions of an operator: each call first waits for the connection, and tells afterwards what became of it. */
import type { Session } from '../client/calls.ts'
import { createSession, type SessionOptions } from '../client/session.ts'
import { withAnySignal } from '../util/any-signal.ts'
import type { Logger } from '../util/log.ts'
import { packageVersion } from '../util/version.ts'
import type { Connection } from './connect.ts'
import type { Health } from './health.ts'
import type { Leadership } from './leadership.ts'

interface OperatorSessionOptions extends Pick<SessionOptions, 'networking' | 'clock' | 'signal' | 'guardOf'> {
  readonly connection: Connection
  readonly health: Health
  readonly logger: Logger
  /** Aborted when nothing more may be written: what is under way then is broken off. */
  readonly fallen: AbortSignal
}

export interface OperatorSessions {
  /** For what only the leader does: handlers, and what is written for them. */
  readonly leading: Session
  /** For what every replica does. */
  readonly common: Session
}

/** Without an election they are the same but for their names: see leadership.ts. */
export function createOperatorSessions(
  leadership: Pick<Leadership, 'guardOf' | 'commonGuardOf' | 'fallen'>,
  options: Omit<OperatorSessionOptions, 'guardOf' | 'fallen'>,
): OperatorSessions {
  const { fallen } = leadership
  return {
    leading: createOperatorSession({ ...options, fallen, guardOf: (call) => leadership.guardOf(call) }),
    common: createOperatorSession({ ...options, fallen, guardOf: (call) => leadership.commonGuardOf(call) }),
  }
}

/** Whoever calls before there is a connection logs in, as startup handlers may. */
function createOperatorSession(options: OperatorSessionOptions): Session {
  const { connection, health, logger, fallen, ...others } = options
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
  /** Where nobody has a say there is nothing to break off. */
  const request: Session['request'] = (call, signal) => {
    if (options.guardOf?.(call) === undefined) return through((opened) => opened.request(call, signal))
    const signals = signal === undefined ? [fallen] : [signal, fallen]
    return withAnySignal(signals, (any) => through((opened) => opened.request(call, any())))
  }
  return {
    request,
    stream: (call, signal) => through((opened) => opened.stream(call, signal)),
  }
}
