/**
 * The sessions of an operator: each call first waits until there are credentials, and is made again where they are refused.
 * What a replica may not do any more is not sent.
 */
import { ApiError, isUnauthorized } from '../client/api-error.ts'
import type { AuthenticatedTransport } from '../client/auth/authenticated-transport.ts'
import { type ApiCall, createSession, type Session, type SessionOptions } from '../client/session.ts'
import type { Leadership } from '../election/leadership.ts'
import type { JsonObject } from '../kube/objects.ts'
import { repeatsSecret, secretValuesOf } from '../steps/secret-values.ts'
import { withAnySignal } from '../util/async/any-signal.ts'
import { isPlainObject } from '../util/json/json.ts'
import type { Logger } from '../util/log/log.ts'
import { packageVersion } from '../util/process/package-files.ts'

interface OperatorSessionOptions
  extends Pick<SessionOptions, 'networking' | 'clock' | 'signal' | 'guardOf' | 'observer'> {
  readonly connection: AuthenticatedTransport
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
  leadership: Pick<Leadership, 'guardOf' | 'commonGuardOf' | 'lost'>,
  options: Omit<OperatorSessionOptions, 'guardOf' | 'fallen'>,
): OperatorSessions {
  const { lost: fallen } = leadership
  return {
    leading: createOperatorSession({ ...options, fallen, guardOf: (call) => leadership.guardOf(call) }),
    common: createOperatorSession({ ...options, fallen, guardOf: (call) => leadership.commonGuardOf(call) }),
  }
}

/** A call that was refused with so many credentials has that as its answer. */
const maxRefusals = 10

/** Without the words of the server where they repeat a secret of what was sent. */
function describeAnswer({ body }: Pick<ApiCall, 'body'>, error: Error): string {
  const sent = (isPlainObject(body) ? body : { body: body ?? null }) as JsonObject
  if (!(error instanceof ApiError) || !repeatsSecret(error.message, secretValuesOf(sent))) return error.message
  return error.reason === '' ? String(error.status) : `${error.status} ${error.reason}`
}

/** Whoever calls before there is a connection logs in, as startup handlers may. */
function createOperatorSession(options: OperatorSessionOptions): Session {
  const { connection, logger, fallen, ...others } = options
  const session = createSession({
    ...others,
    transport: connection,
    userAgent: `kopf/${packageVersion()}`,
    onRetry: ({ call, attempt, error, delayMs }) =>
      logger.warn(
        `Request attempt ${attempt} failed; will retry in ${(delayMs / 1000).toFixed(1)} seconds: ${call.method} ${call.path} -> ${describeAnswer(call, error)}`,
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
        if (!isUnauthorized(error) || !connection.canLogIn || refusals >= maxRefusals) throw error
      }
    }
  }
  /** Where nobody has a say there is nothing to break off. */
  const request: Session['request'] = (call, signal) => {
    if (options.guardOf?.(call) === undefined) return authorized(() => session.request(call, signal), signal)
    const signals = signal === undefined ? [fallen] : [signal, fallen]
    return withAnySignal(signals, (make) => {
      const any = make()
      return authorized(() => session.request(call, any), any)
    })
  }
  return {
    request,
    stream: (call, signal) => authorized(() => session.stream(call, signal), signal),
  }
}
