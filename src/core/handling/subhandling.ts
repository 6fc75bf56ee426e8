/** Sub-handlers of one call: declared by the handler, run when it says so, or when it returns. */
import { KopfError } from '../../errors.ts'
import type { Handler } from './handler.ts'
import { createSubhandler } from './register.ts'

type Declared = readonly [id: string | undefined, options: object, fn: (args: never) => unknown]

export class Subhandling {
  readonly #parent: Handler
  readonly #run: (handlers: readonly Handler[]) => Promise<void>
  #declared: Handler[] = []
  /** What has a record of its own in this call, by id: all that was declared, and steps. */
  readonly names: Map<string, unknown> = new Map()

  constructor(parent: Handler, run: (handlers: readonly Handler[]) => Promise<void>) {
    this.#parent = parent
    this.#run = run
  }

  /** The arguments that belong to it. */
  readonly args: object = {
    subhandler: (id: string, ...rest: [object, Declared[2]] | [Declared[2]]) => {
      const [options, fn] = rest.length === 2 ? rest : [{}, rest[0]]
      this.#declare([id, options, fn])
    },
    execute: async (fns: Readonly<Record<string, Declared[2]>> | readonly Declared[2][] = []) => {
      const entries = Array.isArray(fns) ? fns.map((fn) => [undefined, fn] as const) : Object.entries(fns)
      for (const [id, fn] of entries) this.#declare([id, {}, fn])
      await this.#execute()
    },
  }

  /** What was declared and not run yet is run now. */
  async finish(): Promise<void> {
    if (this.#declared.length > 0) await this.#execute()
  }

  #declare([id, options, fn]: Declared): void {
    const handler = createSubhandler(this.#parent, id, options, fn)
    const known = this.names.get(handler.id)
    if (known !== undefined && known !== fn) {
      // They would share one progress: the success of one would be taken for that of the other.
      throw new KopfError(
        'KOPF_HANDLER_ID',
        `Cannot declare a second sub-handler "${handler.id}": give one of them another id`,
      )
    }
    this.names.set(handler.id, handler.fn)
    this.#declared.push(handler)
  }

  async #execute(): Promise<void> {
    const declared = this.#declared
    this.#declared = []
    await this.#run(declared)
  }
}
