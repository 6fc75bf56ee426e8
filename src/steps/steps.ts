/**
 * Steps of one call: each is run once, in line, and what it has come to is remembered until the handler has finished, however
 * often that is called. Where it is kept is the matter of the journal: that of change handlers is in cycle.ts.
 */
import { KopfError } from '../errors.ts'
import type { KubeObject } from '../kube/objects.ts'
import { digestInHex } from '../util/text/digest.ts'
import { readStepResult, toStepResult } from './step-results.ts'

/** What the steps of one handler have come to, as texts; by keys that any storage can take. */
export interface StepJournal {
  /** Resolves when all that was ever written can be recalled; where it is not there, that is so from the beginning. */
  open?(): Promise<void>
  /** Undefined where it was not run yet. */
  recall(key: string): string | undefined | Promise<string | undefined>
  /** It is remembered from now on, and written with what is written next. */
  note(key: string, result: string): void
  /** Resolves when all that was noted is written; rejects where it cannot be, with what the handler is to fail with. */
  commit(): Promise<void>
}

export interface StepsOptions {
  /** The id of the handler. */
  readonly id: string
  readonly body: KubeObject
  readonly journal: StepJournal
  /** What has a record in this call already, by its key: sub-handlers, too. */
  readonly names: Map<string, unknown>
}

export class Steps {
  readonly #options: StepsOptions
  readonly #running: Promise<unknown>[] = []
  /** Of all results of this call together. */
  #size = 0
  #isOver = false

  constructor(options: StepsOptions) {
    this.#options = options
  }

  /** The arguments that belong to it. */
  readonly args: object = {
    step: (id: string, fn: () => unknown): Promise<unknown> => {
      const done = this.#run(id, fn)
      this.#running.push(done)
      // Nobody may be waiting for it yet, or ever: whoever finishes the call does.
      done.catch(() => {})
      return done
    },
  }

  /** Those that nobody has waited for are a part of the call, too; and so are their failures. */
  async finish(): Promise<void> {
    await Promise.all(this.#running)
  }

  /** Resolves when nothing runs any more, whatever came of it. */
  async settle(): Promise<void> {
    this.#isOver = true
    if (this.#running.length > 0) await Promise.allSettled(this.#running)
  }

  async #run(id: string, fn: () => unknown): Promise<unknown> {
    const { journal, body } = this.#options
    const key = this.#claim(id, fn)
    if (journal.open !== undefined) await journal.open()
    const known = await journal.recall(key)
    if (known !== undefined) return this.#remember(known)
    await journal.commit()
    const result = toStepResult(await fn(), { what: this.#describe(id), body, size: this.#size })
    journal.note(key, result)
    return this.#remember(result)
  }

  /** Always what was written, also the first time: a Date would be a text from then on. */
  #remember(result: string): unknown {
    this.#size += result.length
    return readStepResult(result)
  }

  #claim(id: string, fn: unknown): string {
    const { names } = this.#options
    if (typeof id !== 'string' || id === '') this.#refuse(id, 'the id of a step is a string that is not empty')
    if (typeof fn !== 'function') this.#refuse(id, 'a step is a function, and the second argument')
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

/** What can be in the name of an annotation, where dots and slashes are the same; anything else is told apart by a digest. */
function toPlainId(id: string): string {
  if (/^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$/.test(id)) return id
  const readable = id
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 24)
  return [readable, digestInHex(id)].filter((part) => part !== '').join('-')
}
