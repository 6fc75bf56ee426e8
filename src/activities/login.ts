/**
 * Obtains credentials from the option `connection`, or else from all login handlers, or else from the service account of the pod or the
 * kubeconfig. Called by the authenticator whenever credentials are needed.
 */

import type { LoginMethod, LoginOutcome } from '../client/auth/authenticator.ts'
import { ConnectionInfo, type GivenConnection, type LoginAnswer } from '../client/auth/connection-info.ts'
import { loginWithKubeconfig, whyNoKubeconfig } from '../client/auth/kubeconfig.ts'
import { loginWithServiceAccount } from '../client/auth/service-account.ts'
import { type Client, createClient } from '../client/client.ts'
import { LoginError, PermanentError } from '../errors.ts'
import type { Handler } from '../handlers/handler.ts'
import { describeError, nameError } from '../util/log/describe-error.ts'
import type { Activities } from './activities.ts'
import { type ActivityOutcomes, type RunActivityOptions, runActivities } from './run-activity.ts'

/** Calls all login handlers. Rejects only with the reason of the signal. */
export async function callLoginHandlers(
  handlers: readonly Handler[],
  options: RunActivityOptions,
): Promise<LoginOutcome> {
  const outcomes = await runActivities(handlers, { ...options, finish: checkResult })
  return {
    found: outcomes.results as ReadonlyMap<string, ConnectionInfo>,
    error: noCredentials(handlers, outcomes),
    isFinal: outcomes.failures.size > 0 && outcomes.results.size === 0,
  }
}

/** The error shows only the type of a wrong result: the value may be a secret. */
function checkResult(result: unknown): unknown {
  if (result === undefined || result === null || result instanceof ConnectionInfo) return result
  throw new PermanentError(
    `Cannot log in with the result of the login handler: expected a ConnectionInfo, got ${nameError(result)}; ` +
      'return new ConnectionInfo({ server, … }), or nothing',
    { code: 'KOPF_LOGIN' },
  )
}

function noCredentials(handlers: readonly Handler[], { failures }: ActivityOutcomes): LoginError {
  for (const [id, cause] of failures) {
    return new LoginError(`Cannot log in: the login handler "${id}" has failed: ${describeError(cause)}`, { cause })
  }
  const ids = handlers.map(({ id }) => `"${id}"`).join(', ')
  return new LoginError(
    `Cannot log in: none of the login handlers (${ids}) has returned a ConnectionInfo; return one, such as ` +
      'loginWithServiceAccount() ?? loginWithKubeconfig(), or remove the login handlers, since this is the default',
  )
}

/** The client for login handlers rejects all requests: they would wait for the login, which waits for the handler. */
export function createUnavailableClient(): Client {
  const reject = () =>
    Promise.reject(new LoginError('Cannot use the client in a login handler: it waits for the login'))
  return createClient({ session: { request: reject, stream: reject }, resolve: reject, namespace: undefined })
}

export function createLogin(connection: GivenConnection | undefined, activities: Activities): LoginMethod {
  if (connection !== undefined) {
    const isRenewable = typeof connection === 'function'
    return { title: 'the connection that was given', isRenewable, run: () => useGivenConnection(connection) }
  }
  if (!activities.hasLogin)
    return { title: 'the service account or the kubeconfig', isRenewable: true, run: loginByDefault }
  return { title: 'the login handlers', isRenewable: true, run: (signal) => activities.login(signal) }
}

async function useGivenConnection(connection: GivenConnection): Promise<LoginOutcome> {
  const found = typeof connection === 'function' ? await connection() : connection
  return toOutcome('connection', found, 'Cannot log in: the function `connection` has returned no ConnectionInfo')
}

async function loginByDefault(): Promise<LoginOutcome> {
  const found = loginWithServiceAccount() ?? (await loginWithKubeconfig())
  return toOutcome('default', found, `Cannot find a cluster: ${whyNoKubeconfig()}, and no service account of a pod`)
}

function toOutcome(id: string, found: LoginAnswer, message: string): LoginOutcome {
  const error = new LoginError(message)
  if (found === undefined || found === null) return { found: new Map(), error, isFinal: false }
  if (found instanceof ConnectionInfo) return { found: new Map([[id, found]]), error, isFinal: false }
  // The error does not show the value: it may be a secret.
  throw new LoginError(
    'Cannot log in: `connection` is not a ConnectionInfo; create one with new ConnectionInfo({ server, … })',
  )
}
