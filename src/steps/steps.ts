/**
 * The argument `step` of one handler call. Each step runs once: its result is recorded, and returned by later attempts of the handler instead of running the
 * step again. The journal stores the results: changes/cycle.ts implements it for change handlers, reconciling/steps.ts for reconcilers.
 */
import { KopfError } from '../errors.ts'
import type { KubeObject } from '../kube/objects.ts'
import { digestInHex } from '../util/text/digest.ts'
import type { Tracing } from '../util/tracing/spans.ts'
import { readStepResult, toStepResult } from './step-results.ts'

/** Stores the results of the steps of one handler, as JSON texts by `<handler id>/<step id>`. */
export interface StepJournal {
  /** Resolves when all stored results are loaded. Missing if they are loaded from the beginning. */
  open?(): Promise<void>
  /** Returns undefined if the step has not run yet. */
  recall(key: string): string | undefined | Promise<string | undefined>
  /** Records a result in memory. The next write stores it. */
  note(key: string, result: string): void
  /** Resolves when all recorded results are written. Rejects with the error of the handler if they cannot be written. */
  commit(): Promise<void>
}

export interface StepsOptions {
  /** The id of the handler. */
  readonly id: string
  readonly body: KubeObject
  readonly journal: StepJournal
  /** The steps and sub-handlers of this call, by the keys of their records: keys must be unique. */
  readonly names: Map<string, unknown>
  readonly tracing: Tracing | undefined
}

export class Steps {
  readonly #options: StepsOptions
  readonly #running: Promise<unknown>[] = []
  /** The number of characters of all results of this call. */
  #size = 0
  #isOver = false

  constructor(options: StepsOptions) {
    this.#options = options
  }

  /** The arguments of the handler that steps add. */
  readonly args: object = {
    step: (id: string, fn: () => unknown): Promise<unknown> => {
      const done = this.#run(id, fn)
      this.#running.push(done)
      // The handler may not await the step: `finish` reports a failure, and the rejection must not count as unhandled before.
      done.catch(() => {})
      return done
    },
  }

  /** Waits for steps that the handler did not await. Rejects if one failed, so that the call fails. */
  async finish(): Promise<void> {
    await Promise.all(this.#running)
  }

  /** Refuses further steps, and resolves when no step runs any more, whether they succeeded or failed. */
  async settle(): Promise<void> {
    this.#isOver = true
    if (this.#running.length > 0) await Promise.allSettled(this.#running)
  }

  async #run(id: string, fn: () => unknown): Promise<unknown> {
    const { journal, body, tracing, id: handler } = this.#options
    const key = this.#reserveKey(id, fn)
    if (journal.open !== undefined) await journal.open()
    const known = await journal.recall(key)
    if (known !== undefined) return this.#remember(known)
    await journal.commit()
    const spans = tracing?.spans
    const value = await (spans === undefined ? fn() : spans.step({ id, handler }, async () => fn()))
    const result = toStepResult(value, { what: this.#describe(id), body, size: this.#size })
    journal.note(key, result)
    return this.#remember(result)
  }

  /** Returns the stored form of a result, also right after the step: the first call and a retry get equal values, e.g. a string for a Date. */
  #remember(result: string): unknown {
    this.#size += result.length
    return readStepResult(result)
  }

  #reserveKey(id: string, fn: unknown): string {
    const { names } = this.#options
    if (typeof id !== 'string' || id === '') this.#refuse(id, 'the id of a step must be a non-empty string')
    if (typeof fn !== 'function') this.#refuse(id, 'the second argument must be a function')
    if (this.#isOver) this.#refuse(id, 'the handler has returned already; await all steps in it')
    const key = `${this.#options.id}/${toPlainId(id)}`
    if (names.has(key))
      this.#refuse(id, 'this call has a step or a sub-handler of that id; give one of them another id')
    names.set(key, this)
    return key
  }

  #describe(id: unknown): string {
    return `step "${String(id)}" of handler "${this.#options.id}"`
  }

  #refuse(id: unknown, why: string): never {
    throw new KopfError('KOPF_STEP', `Cannot run ${this.#describe(id)}: ${why}`)
  }
}

/** Keeps an id that is valid in an annotation name; replaces other characters and appends a digest, so that different ids stay different. */
function toPlainId(id: string): string {
  if (/^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$/.test(id)) return id
  const readable = id
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 24)
  return [readable, digestInHex(id)].filter((part) => part !== '').join('-')
}
