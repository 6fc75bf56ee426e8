/**
 * How a command ends: exits the process after a second signal or a stop that takes too long, and describes failures of an operator with advice for
 * the user.
 */

import { InvalidArgumentError, Option } from 'commander'
import { ApiError } from '../client/api-error.ts'
import { ConnectionError } from '../client/connection-error.ts'
import { KopfError } from '../errors.ts'
import type { ObservedCall, ObservedHandler, Observer } from '../observer.ts'
import type { Operator } from '../operator.ts'
import { callAfter, systemClock } from '../util/async/clock.ts'
import { withTimeout } from '../util/async/with-timeout.ts'
import { isBuilt } from '../util/process/package-files.ts'
import { untilSignal } from '../util/process/signals.ts'
import { exitMsWithin } from '../util/stopping-times.ts'
import { type Duration, isDuration, toMs } from '../util/text/duration.ts'
import { formatFailure } from './failure-format.ts'
import { printable, writeLog } from './terminal.ts'

/** Resolves with the first signal. A second signal exits the process immediately. */
export function untilStopped(calls?: CallsAtWork): Promise<NodeJS.Signals> {
  return untilSignal({
    onSecond: (signal) => exitNow(`${signal} was received a second time: the process ends at once`, calls),
  })
}

/** The time between the end of a child process by a signal to the process group, and the arrival of the signal in this process. */
const sameStopMs = 100

/**
 * Whether a failure is a consequence of a stop. A signal to the process group, as sent by a terminal or by npm, also ends the compiler, whose failure may be
 * known before the signal arrives.
 */
export async function isCausedByStop(stopped: Promise<unknown>): Promise<boolean> {
  let isStopped = false
  const known = stopped.then(() => {
    isStopped = true
  })
  await withTimeout(systemClock, sameStopMs, known)
  return isStopped
}

/** Exits the process when the stop exceeds its limit: an operator that never ends could not be restarted. */
export function exitAfterTimeout({ settings }: Operator, calls: CallsAtWork): void {
  const { ultimateExitingTimeout: ultimate, gracePeriod } = settings.process
  const limitMs = Math.min(
    ultimate === null ? Infinity : toMs(ultimate, 'process.ultimateExitingTimeout'),
    gracePeriod === null ? Infinity : exitMsWithin(toMs(gracePeriod, 'process.gracePeriod')),
  )
  if (limitMs === Infinity) return
  const why = `the operator has not stopped within ${limitMs / 1000} seconds: the process ends now`
  callAfter(limitMs, () => exitNow(why, calls))
}

/** How many calls are named; the others are counted. */
const maxNamed = 10

/** The handler calls of a run that have not ended: a process that ends early names them. */
export class CallsAtWork implements Observer {
  /** By the handler of the events: both events of one call have the same object. */
  readonly #calls = new Map<ObservedHandler, ObservedCall>()

  handlerStarted(call: ObservedCall): void {
    this.#calls.set(call.handler, call)
  }

  handlerFinished({ handler }: ObservedCall): void {
    this.#calls.delete(handler)
  }

  /** `; cut off: create "provision" of default/orders`. Empty if no call is at work. */
  describe(): string {
    if (this.#calls.size === 0) return ''
    const named = [...this.#calls.values()].slice(0, maxNamed).map(describeCall)
    const more = this.#calls.size - named.length
    return `; cut off: ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  }
}

function describeCall({ handler: { id, type }, object }: ObservedCall): string {
  if (object === undefined) return `${type} "${id}"`
  return `${type} "${id}" of ${object.namespace === undefined ? '' : `${object.namespace}/`}${object.name}`
}

/** The option for the time that the process has to stop. */
export function gracePeriodOption(): Option {
  const description = 'stop within this time, such as 30s: terminationGracePeriodSeconds of the pod'
  return new Option('--grace-period <duration>', description).argParser((text): Duration => {
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : text
    if (isDuration(value)) return value
    throw new InvalidArgumentError('Expected a number of seconds, or a duration such as 30s or 2m.')
  })
}

/** Sets the exit code 1 for the regular end of the command. */
export function setFailed(): void {
  process.exitCode = 1
}

function exitNow(why: string, calls: CallsAtWork | undefined): never {
  writeLog(formatFailure(`${why}${printable(calls?.describe() ?? '')}`))
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

/** A program of `kopf build` does not contain the embedded server. */
const withoutCluster = isBuilt ? '' : ', or run without any cluster: --embedded'

function adviceFor(error: unknown): string | undefined {
  if (error instanceof ConnectionError) {
    return `Choose another cluster with --kubeconfig or --context${withoutCluster}`
  }
  if (error instanceof ApiError && error.status === 403) {
    return 'Give the user of the kubeconfig, or the service account of the pod, a role with these verbs on this resource'
  }
  if (error instanceof ApiError && error.status === 401) {
    return 'The credentials are not accepted: log in again, or choose others with --kubeconfig or --context'
  }
  if (error instanceof KopfError && error.code === 'KOPF_LOGIN') {
    return `Name a kubeconfig with --kubeconfig or KUBECONFIG${withoutCluster}`
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
