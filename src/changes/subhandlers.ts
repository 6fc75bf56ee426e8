/** The sub-handlers of one call: declared by the handler, and called by `execute()` or when the handler returns. */
import { KopfError, PermanentError } from '../errors.ts'
import type { ExecuteOptions, SubhandlerOutcome } from '../handlers/args/call-parts.ts'
import { createSubhandler } from '../handlers/create-handler.ts'
import type { ChangeHandler, Handler } from '../handlers/handler.ts'

type SubhandlerFunctions = Readonly<Record<string, DeclaredSubhandler[2]>> | readonly DeclaredSubhandler[2][]

type DeclaredSubhandler = readonly [id: string | undefined, options: object, fn: (args: never) => unknown]

export class Subhandlers {
  readonly #parent: Handler
  readonly #run: (handlers: readonly ChangeHandler[]) => Promise<readonly SubhandlerOutcome[]>
  #declared: ChangeHandler[] = []
  /** The ids that are taken in this call, by sub-handlers and by steps. */
  readonly names: Map<string, unknown> = new Map()

  /** `run` resolves with the outcomes when all sub-handlers have finished; it throws if the parent must be called again. */
  constructor(parent: Handler, run: (handlers: readonly ChangeHandler[]) => Promise<readonly SubhandlerOutcome[]>) {
    this.#parent = parent
    this.#run = run
  }

  /** The arguments `subhandler` and `execute`. */
  readonly args: object = {
    subhandler: (id: string, ...rest: [object, DeclaredSubhandler[2]] | [DeclaredSubhandler[2]]) => {
      const [options, fn] = rest.length === 2 ? rest : [{}, rest[0]]
      this.#declare([id, options, fn])
    },
    execute: async (fns: SubhandlerFunctions = [], { throwOnFailure = false }: ExecuteOptions = {}) => {
      const entries = Array.isArray(fns) ? fns.map((fn) => [undefined, fn] as const) : Object.entries(fns)
      for (const [id, fn] of entries) this.#declare([id, {}, fn])
      const outcomes = await this.#execute()
      if (throwOnFailure) failWith(outcomes.filter(({ succeeded }) => !succeeded))
      return Object.fromEntries(outcomes.map((outcome) => [this.#ownIdOf(outcome.id), outcome]))
    },
  }

  /** Calls the sub-handlers that were declared and not called yet. */
  async finish(): Promise<void> {
    if (this.#declared.length > 0) await this.#execute()
  }

  #declare([id, options, fn]: DeclaredSubhandler): void {
    const handler = createSubhandler(this.#parent, id, options, fn)
    const known = this.names.get(handler.id)
    if (known !== undefined && known !== fn) {
      // Both would share one progress record: the success of one would count for the other.
      throw new KopfError(
        'KOPF_HANDLER_ID',
        `Cannot declare a second sub-handler "${handler.id}": give one of them another id`,
      )
    }
    this.names.set(handler.id, handler.fn)
    this.#declared.push(handler)
  }

  #execute(): Promise<readonly SubhandlerOutcome[]> {
    const declared = this.#declared
    this.#declared = []
    return this.#run(declared)
  }

  #ownIdOf(id: string): string {
    return id.slice(`${this.#parent.id}/`.length)
  }
}

function failWith(failed: readonly SubhandlerOutcome[]): void {
  if (failed.length === 0) return
  const reasons = failed.map(({ id, message }) => `"${id}": ${message}`)
  throw new PermanentError(
    `${failed.length === 1 ? 'A sub-handler has' : 'Sub-handlers have'} failed: ${reasons.join('; ')}`,
  )
}
