/** Credentials by the login handlers of the operator: all are asked, and of their answers one is used. Called by connect.ts. */
import { type Client, createClient } from '../../client/client.ts'
import { ConnectionInfo } from '../../client/credentials.ts'
import type { Handler } from '../../core/handling/handler.ts'
import { describeError, nameError } from '../../core/handling/outcomes.ts'
import { LoginError, PermanentError } from '../../errors.ts'
import { type ActivityOptions, type ActivityOutcomes, runActivities } from './run.ts'

/** Rejects with a `LoginError` where nobody has an answer; one who has failed is only logged where another has one. */
export async function login(
  handlers: readonly Handler[],
  options: ActivityOptions,
  random: () => number,
): Promise<ConnectionInfo> {
  const { logger } = options
  logger.info('Initial authentication has been initiated.')
  const outcomes = await runActivities(handlers, { ...options, finish: checkAnswer })
  const chosen = chooseConnection([...outcomes.results.values()] as ConnectionInfo[], random)
  if (chosen === undefined) {
    logger.warn('Initial authentication has failed: no credentials were retrieved from the login handlers.')
    throw noCredentials(handlers, outcomes)
  }
  logger.info('Initial authentication has finished.')
  return chosen
}

/** The one with the highest priority; by chance among equals. */
export function chooseConnection(
  connections: readonly ConnectionInfo[],
  random: () => number,
): ConnectionInfo | undefined {
  const highest = Math.max(...connections.map(({ priority }) => priority))
  const best = connections.filter(({ priority }) => priority === highest)
  return best[Math.floor(random() * best.length)]
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
