/**
 * Calls the probe handlers, all in parallel, when the liveness page is requested. The result, as JSON by handler id, is reused for 10 seconds,
 * and shared by concurrent requests. The page is public, so that it shows only the type of an error.
 */
import { SessionDeadlines } from '../client/session-deadline.ts'
import { HandlerRetriesError, HandlerTimeoutError } from '../errors.ts'
import type { Handler } from '../handlers/handler.ts'
import { toPlainJson } from '../patching/patch.ts'
import { monotonicNow } from '../util/async/clock.ts'
import { describeError, nameError } from '../util/log/describe-error.ts'
import { type RunActivityOptions, runActivity, type SettledActivity } from './run-activity.ts'

export interface ProbeReport {
  readonly isHealthy: boolean
  /** A JSON object. */
  readonly text: string
}

/** How long a healthy report is reused; the same as in Kopf. */
const cacheMs = 10_000
/** The time limit for all attempts of a probe together: the kubelet waits for the response. */
const timeLimitMs = 5000

export class Probes {
  readonly #handlers: readonly Handler[]
  readonly #options: RunActivityOptions
  readonly #deadlines: SessionDeadlines
  /** Handlers that are still running, perhaps since an earlier request. */
  readonly #busy = new Set<Handler>()
  #pending: Promise<ProbeReport> | undefined
  /** The last healthy report. Failures are not reused. */
  #last: { readonly report: ProbeReport; readonly atMs: number } | undefined

  constructor(handlers: readonly Handler[], options: RunActivityOptions) {
    this.#deadlines = new SessionDeadlines(options.clock, options.signal)
    const { debug, warn, error } = options.logger
    this.#handlers = handlers.map((handler) => ({ ...handler, timeoutMs: capTimeout(handler.timeoutMs) }))
    // Successes are logged at the debug level: they occur every few seconds.
    this.#options = { ...options, logger: { debug, info: debug, warn, error }, finish: checkResult }
  }

  report(): Promise<ProbeReport> {
    if (this.#last !== undefined && this.#now() - this.#last.atMs < cacheMs) {
      return Promise.resolve(this.#last.report)
    }
    this.#pending ??= this.#run().finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  async #run(): Promise<ProbeReport> {
    const outcomes = await Promise.all(this.#handlers.map((handler) => this.#callProbe(handler)))
    const entries = outcomes.map((outcome, index) => [this.#handlers[index]!.id, toReportEntry(outcome)] as const)
    const text = JSON.stringify(Object.fromEntries(entries.filter(([, entry]) => entry !== undefined)))
    const report = { isHealthy: outcomes.every(({ type }) => type === 'done'), text }
    if (report.isHealthy) this.#last = { report, atMs: this.#now() }
    return report
  }

  /** Never rejects, and never takes longer than the time limit: a probe that exceeds the limit has failed. */
  async #callProbe(handler: Handler): Promise<SettledActivity> {
    const timeout = new HandlerTimeoutError(
      `Probe "${handler.id}" has not returned within ${timeLimitMs / 1000} seconds`,
    )
    if (this.#busy.has(handler)) return { type: 'failed', error: timeout }
    this.#busy.add(handler)
    const { signal, release } = this.#deadlines.start(timeLimitMs, this.#options.signal, () => timeout)
    const call = runActivity(handler, { ...this.#options, signal }).finally(() => this.#busy.delete(handler))
    try {
      return await Promise.race([call, untilAborted(signal)])
    } catch (error) {
      if (error === timeout) this.#options.logger.error(`${timeout.message}.`)
      return { type: 'failed', error }
    } finally {
      release()
    }
  }

  #now(): number {
    return monotonicNow(this.#options.clock)
  }
}

/** Rejects with the reason of the signal. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}

function capTimeout(timeoutMs: number | undefined): number {
  return Math.min(timeoutMs ?? Infinity, timeLimitMs)
}

/** Rejects values that JSON cannot hold. BigInts are rejected, too: not every JSON parser reads such integers. */
function checkResult(result: unknown): unknown {
  try {
    const plain = toPlainJson(result)
    JSON.stringify(plain)
    return plain
  } catch (error) {
    throw new TypeError(`The result cannot be shown: ${describeError(error)}`)
  }
}

/** Undefined for handlers that returned nothing, and for ignored errors: the report omits them. */
function toReportEntry(outcome: SettledActivity): unknown {
  if (outcome.type === 'done') return outcome.result ?? undefined
  const { error } = outcome
  const isLimit = error instanceof HandlerTimeoutError || error instanceof HandlerRetriesError
  return { failed: nameError(isLimit ? (error.cause ?? error) : error) }
}
