/** Whom to ask for credentials: what was given, else the login handlers, else the service account of the pod or the kubeconfig. */
import { ConnectionInfo } from '../client/credentials.ts'
import { loginWithKubeconfig } from '../client/kubeconfig.ts'
import { loginWithServiceAccount } from '../client/service-account.ts'
import { LoginError } from '../errors.ts'
import type { LoginOutcome } from '../features/activities/login.ts'
import type { Activities } from './activities.ts'
import type { LoginAnswer, RunOptions } from './run-options.ts'

export interface Login {
  /** Whose credentials they are, for messages: `the login handlers`. */
  readonly title: string
  /** False where what was given is all there is. */
  readonly isAsked: boolean
  /** Rejects where they cannot be read, and with the reason of the signal. */
  ask(signal: AbortSignal): Promise<LoginOutcome>
}

export function createLogin({ connection }: Pick<RunOptions, 'connection'>, activities: Activities): Login {
  if (connection !== undefined) {
    const isAsked = typeof connection === 'function'
    return { title: 'the connection that was given', isAsked, ask: () => askGiven(connection) }
  }
  if (!activities.hasLogin) return { title: 'the service account or the kubeconfig', isAsked: true, ask: askByDefault }
  return { title: 'the login handlers', isAsked: true, ask: (signal) => activities.login(signal) }
}

async function askGiven(connection: NonNullable<RunOptions['connection']>): Promise<LoginOutcome> {
  const found = typeof connection === 'function' ? await connection() : connection
  return toOutcome('connection', found, 'Cannot log in: the function `connection` has returned no ConnectionInfo')
}

async function askByDefault(): Promise<LoginOutcome> {
  const found = loginWithServiceAccount() ?? (await loginWithKubeconfig())
  const nothing = 'Cannot find a cluster: there is neither a kubeconfig nor the service account of a pod'
  return toOutcome('default', found, nothing)
}

function toOutcome(id: string, found: LoginAnswer, nothing: string): LoginOutcome {
  const error = new LoginError(nothing)
  if (found === undefined || found === null) return { found: new Map(), error, isFinal: false }
  if (found instanceof ConnectionInfo) return { found: new Map([[id, found]]), error, isFinal: false }
  // What it is instead is not shown: it may be a secret.
  throw new LoginError(
    'Cannot log in: `connection` is no ConnectionInfo; make one with new ConnectionInfo({ server, … })',
  )
}
