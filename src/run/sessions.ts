/**
 * The API sessions of an operator. Each request waits until there are credentials, and is repeated with new credentials after a 401. A replica that has lost the
 * leadership sends no more writes. Created by bootstrap.ts.
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
  extends Pick<SessionOptions, 'networking' | 'clock' | 'signal' | 'guardOf' | 'observer' | 'tracing'> {
  readonly connection: AuthenticatedTransport
  readonly logger: Logger
  /** Aborted when this replica has lost the leadership: its writes that are under way are cancelled. */
  readonly fallen: AbortSignal
}

export interface OperatorSessions {
  /** For requests that only the leader may send: those of handlers, and writes of their outcomes. */
  readonly leading: Session
  /** For requests that a candidate may send too. */
  readonly common: Session
}

/** Without leader election, both sessions allow all requests: see `guardOf` and `commonGuardOf` in election/leadership.ts. */
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

/** The maximum number of credentials to try for one request; the last 401 is then returned to the caller. */
const maxCredentials = 10

/** Describes the response to a failed request, without the message of the server if it repeats a secret value of the request. */
function describeResponse({ body }: Pick<ApiCall, 'body'>, error: Error): string {
  const sent = (isPlainObject(body) ? body : { body: body ?? null }) as JsonObject
  if (!(error instanceof ApiError) || !repeatsSecret(error.message, secretValuesOf(sent))) return error.message
  return error.reason === '' ? String(error.status) : `${error.status} ${error.reason}`
}

/** A request logs in if there is no connection yet: startup handlers may send requests. */
function createOperatorSession(options: OperatorSessionOptions): Session {
  const { connection, logger, fallen, ...others } = options
  const session = createSession({
    ...others,
    transport: connection,
    userAgent: `kopf/${packageVersion()}`,
    onRetry: ({ call, attempt, error, delayMs }) =>
      logger.warn(
        `Request attempt ${attempt} failed; will retry in ${(delayMs / 1000).toFixed(1)} seconds: ${call.method} ${call.path} -> ${describeResponse(call, error)}`,
      ),
  })
  const authenticated = async <T>(send: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
    for (let attempts = 1; ; attempts += 1) {
      // Waits for credentials before the request starts, so that the timeouts of the request do not include a login.
      const waiting = connection.ready(signal)
      if (waiting !== undefined) await waiting
      try {
        return await send()
      } catch (error) {
        // A request that is rejected with 401 has had no effect: repeating it is safe.
        if (!isUnauthorized(error) || !connection.canLogIn || attempts >= maxCredentials) throw error
      }
    }
  }
  /** Requests that are restricted by leader election are also cancelled when the leadership is lost. */
  const request: Session['request'] = (call, signal) => {
    if (options.guardOf?.(call) === undefined) return authenticated(() => session.request(call, signal), signal)
    const signals = signal === undefined ? [fallen] : [signal, fallen]
    return withAnySignal(signals, (make) => {
      const any = make()
      return authenticated(() => session.request(call, any), any)
    })
  }
  return {
    request,
    stream: (call, signal) => authenticated(() => session.stream(call, signal), signal),
  }
}
