/**
 * How a command ends: exits the process after a second signal or a stop that takes too long, and describes failures of an operator with advice for
 * the user.
 */

import { ApiError } from '../client/api-error.ts'
import { ConnectionError } from '../client/connection-error.ts'
import { KopfError } from '../errors.ts'
import type { Operator } from '../operator.ts'
import { callAfter } from '../util/async/clock.ts'
import { untilSignal } from '../util/process/signals.ts'
import { toMs } from '../util/text/duration.ts'
import { formatFailure } from './failure-format.ts'
import { writeLog } from './terminal.ts'

/** Resolves with the first signal. A second signal exits the process immediately. */
export function untilStopped(): Promise<NodeJS.Signals> {
  return untilSignal({
    onSecond: (signal) => exitNow(`${signal} has come for the second time: the process ends at once`),
  })
}

/** Exits the process when the stop exceeds its limit: an operator that never ends could not be restarted. */
export function exitAfterTimeout({ settings }: Operator): void {
  const { ultimateExitingTimeout: limit } = settings.process
  if (limit === null) return
  const limitMs = toMs(limit, 'process.ultimateExitingTimeout')
  const seconds = limitMs / 1000
  callAfter(limitMs, () => exitNow(`stopping has taken more than ${seconds} seconds: the process ends unfinished`))
}

/** Sets the exit code 1 for the regular end of the command. */
export function setFailed(): void {
  process.exitCode = 1
}

function exitNow(why: string): never {
  writeLog(formatFailure(why))
  process.exit(1)
}

/** Adds advice about the options of the command to an error, depending on its innermost cause. Returns unknown errors unchanged. */
export function toRunError(error: unknown): unknown {
  const advice = causesOf(error).reverse().map(adviceFor).find(Boolean)
  if (advice === undefined || !(error instanceof KopfError)) return error
  return new KopfError(error.code, `${error.message}\n${advice}`, { cause: error })
}

/** The message of an expected error; the stack of any other error. */
export function describeFailure(error: unknown): string {
  if (error instanceof KopfError || !(error instanceof Error)) return String((error as Error)?.message ?? error)
  return error.stack ?? error.message
}

function adviceFor(error: unknown): string | undefined {
  if (error instanceof ConnectionError) {
    return 'Choose another cluster with --kubeconfig or --context, or run without any: --embedded'
  }
  if (error instanceof ApiError && error.status === 403) {
    return 'Give the user of the kubeconfig, or the service account of the pod, a role with these verbs on this resource'
  }
  if (error instanceof ApiError && error.status === 401) {
    return 'The credentials are not accepted: log in again, or choose others with --kubeconfig or --context'
  }
  if (error instanceof KopfError && error.code === 'KOPF_LOGIN') {
    return 'Name a kubeconfig with --kubeconfig or KUBECONFIG, or run without any cluster: --embedded'
  }
  return undefined
}

/** The error, then its chain of causes. */
function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = []
  for (let one = error; one !== undefined && one !== null && chain.length < 10; one = (one as Error).cause)
    chain.push(one)
  return chain
}
