/**
 * What the probe handlers say, by id, as JSON. Asked when somebody looks, all at once, and not again for a while; whoever
 * looks meanwhile gets the same answer. Of failures only the kind is told: anybody may look.
 */
import { Deadlines } from '../../client/deadline.ts'
import type { Handler } from '../../core/handling/handler.ts'
import { describeError, nameError } from '../../core/handling/outcomes.ts'
import { toPlainJson } from '../../core/patching/patch.ts'
import { HandlerRetriesError, HandlerTimeoutError } from '../../errors.ts'
import { monotonicOf } from '../../util/clock.ts'
import { type ActivityOptions, runActivity, type Settled } from './run.ts'

export interface ProbeReport {
  readonly isHealthy: boolean
  /** A JSON object. */
  readonly text: string
}

/** As in Kopf. */
const freshForMs = 10_000
/** For all attempts of a probe together: who looks does not wait for ever. */
const budgetMs = 5000

export class Probes {
  readonly #handlers: readonly Handler[]
  readonly #options: ActivityOptions
  readonly #deadlines: Deadlines
  /** Those that have not come back, perhaps from an earlier look. */
  readonly #busy = new Set<Handler>()
  #looking: Promise<ProbeReport> | undefined
  /** Never of a failure. */
  #last: { readonly report: ProbeReport; readonly atMs: number } | undefined

  constructor(handlers: readonly Handler[], options: ActivityOptions) {
    this.#deadlines = new Deadlines(options.clock, options.signal)
    const { debug, warn, error } = options.logger
    this.#handlers = handlers.map((handler) => ({ ...handler, timeoutMs: shorter(handler.timeoutMs) }))
    // That all is well every few seconds is no news.
    this.#options = { ...options, logger: { debug, info: debug, warn, error }, finish: checkResult }
  }

  report(): Promise<ProbeReport> {
    if (this.#last !== undefined && this.#now() - this.#last.atMs < freshForMs) {
      return Promise.resolve(this.#last.report)
    }
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(): Promise<ProbeReport> {
    const outcomes = await Promise.all(this.#handlers.map((handler) => this.#ask(handler)))
    const entries = outcomes.map((outcome, index) => [this.#handlers[index]!.id, toShown(outcome)] as const)
    const text = JSON.stringify(Object.fromEntries(entries.filter(([, shown]) => shown !== undefined)))
    const report = { isHealthy: outcomes.every(({ type }) => type === 'done'), text }
    if (report.isHealthy) this.#last = { report, atMs: this.#now() }
    return report
  }

  /** Never rejects, and never takes longer than the budget: one that does not come back has failed. */
  async #ask(handler: Handler): Promise<Settled> {
    const late = new HandlerTimeoutError(`Probe "${handler.id}" has not come back within ${budgetMs / 1000} seconds`)
    if (this.#busy.has(handler)) return { type: 'failed', error: late }
    this.#busy.add(handler)
    const { signal, release } = this.#deadlines.start(budgetMs, this.#options.signal, () => late)
    const call = runActivity(handler, { ...this.#options, signal }).finally(() => this.#busy.delete(handler))
    try {
      return await Promise.race([call, untilAborted(signal)])
    } catch (error) {
      if (error === late) this.#options.logger.error(`${late.message}.`)
      return { type: 'failed', error }
    } finally {
      release()
    }
  }

  #now(): number {
    return monotonicOf(this.#options.clock)
  }
}

/** Rejects with its reason. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}

function shorter(timeoutMs: number | undefined): number {
  return Math.min(timeoutMs ?? Infinity, budgetMs)
}

/** Unlike on objects, integers beyond the range of numbers are nothing that every reader of JSON would understand. */
function checkResult(result: unknown): unknown {
  try {
    const plain = toPlainJson(result)
    JSON.stringify(plain)
    return plain
  } catch (error) {
    throw new TypeError(`The result cannot be shown: ${describeError(error)}`)
  }
}

/** Undefined for what is left out: those that had nothing to say, and those whose errors are ignored. */
function toShown(outcome: Settled): unknown {
  if (outcome.type === 'done') return outcome.result ?? undefined
  const { error } = outcome
  const isLimit = error instanceof HandlerTimeoutError || error instanceof HandlerRetriesError
  return { failed: nameError(isLimit ? (error.cause ?? error) : error) }
}
