/** Credentials by the login handlers of the operator: all are asked. Called by running/login.ts. */
import { type Client, createClient } from '../../client/client.ts'
import { ConnectionInfo } from '../../client/credentials.ts'
import type { Handler } from '../../core/handling/handler.ts'
import { describeError, nameError } from '../../core/handling/outcomes.ts'
import { LoginError, PermanentError } from '../../errors.ts'
import { type ActivityOptions, type ActivityOutcomes, runActivities } from './run.ts'

export interface LoginOutcome {
  /** By the id of the handler. */
  readonly found: ReadonlyMap<string, ConnectionInfo>
  /** What to say where nothing was found. */
  readonly error: LoginError
  /** Nobody has an answer, and a handler has failed for good: asking again is of no use. */
  readonly isFinal: boolean
}

/** Rejects only with the reason of the signal. */
export async function askLoginHandlers(handlers: readonly Handler[], options: ActivityOptions): Promise<LoginOutcome> {
  const outcomes = await runActivities(handlers, { ...options, finish: checkAnswer })
  return {
    found: outcomes.results as ReadonlyMap<string, ConnectionInfo>,
    error: noCredentials(handlers, outcomes),
    isFinal: outcomes.failures.size > 0 && outcomes.results.size === 0,
  }
}

/** What came instead is not shown: it may be a secret. */
function checkAnswer(answer: unknown): unknown {
  if (answer === undefined || answer === null || answer instanceof ConnectionInfo) return answer
  throw new PermanentError(
    `Cannot log in with what the handler returned: it is no ConnectionInfo but of type ${nameError(answer)}; ` +
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
      'loginWithServiceAccount() ?? loginWithKubeconfig(), or remove the handlers to have just that',
  )
}

/** For login handlers: whatever they would ask the cluster would wait for themselves. */
export function createRefusingClient(): Client {
  const refuse = () =>
    Promise.reject(new LoginError('Cannot use the client in a login handler: it waits for the login'))
  return createClient({ session: { request: refuse, stream: refuse }, resolve: refuse, namespace: undefined })
}
