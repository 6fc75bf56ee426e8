/**
 * One call on a thread, from the operator's side: sends the arguments, answers for what cannot cross, and brings home what
 * came of it. Made by worker-thread.ts for each call.
 */
import type { Recorder, Stopped } from '../../core/handling/args.ts'
import { addToPatch } from '../../core/patching/patch.ts'
import { noLongerNeeded } from '../../util/clock.ts'
import { type Logger, toFrameworkLogger } from '../../util/log.ts'
import { listenForAbort } from './abort.ts'
import { type Carried, carry, restore } from './carried-errors.ts'
import type { Ending, FromThread, LoadedModule, ToThread } from './messages.ts'
import { packArgs, packCarefully } from './packing.ts'

/** The arguments that speak; any of them may be missing where an author calls the function. */
interface SpeakingArgs {
  readonly logger?: Logger
  readonly patch?: object
  readonly recorder?: Recorder
  readonly signal?: AbortSignal
  readonly stopped?: Stopped
  readonly warnings?: unknown[]
}

type Message<T extends FromThread['type']> = Extract<FromThread, { readonly type: T }>

export class Conversation {
  /** Settles as the call does. */
  readonly outcome: Promise<unknown>
  readonly #call: number
  readonly #args: SpeakingArgs
  readonly #send: (message: ToThread) => void
  readonly #over = new AbortController()
  #resolve!: (result: unknown) => void
  #reject!: (error: unknown) => void

  constructor(call: number, args: object, send: (message: ToThread) => void) {
    this.#call = call
    this.#args = args
    this.#send = send
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  begin(module: LoadedModule): void {
    const call = this.#call
    try {
      this.#send({ type: 'call', call, module, args: packArgs(this.#args) })
    } catch {
      this.#send({ type: 'call', call, module, args: packCarefully(this.#args) })
    }
    const { signal, stopped } = this.#args
    this.#follow(signal, (reason) => this.#send({ type: 'abort', call, reason }))
    this.#follow(stopped?.signal, (reason) => this.#send({ type: 'stop', call, reason, why: stopped?.reason }))
  }

  hear(message: FromThread): void {
    // What a handler has left running says it to nobody: its call is over.
    if (message.call !== this.#call) return
    if (message.type === 'log') this.#log(message)
    else if (message.type === 'record') this.#record(message)
    else if (message.type === 'wait') void this.#wait(message)
    else this.#end(message)
  }

  /** The thread is gone, and will say nothing more. */
  fail(error: Error): void {
    this.#over.abort(noLongerNeeded)
    // With its stack: the error itself has room for a sentence only.
    const { logger } = this.#args
    if (error.cause !== undefined && logger !== undefined)
      toFrameworkLogger(logger).error('The worker thread has died.', { error: error.cause })
    this.#reject(error)
  }

  #follow(signal: AbortSignal | undefined, tell: (reason: Carried) => void): void {
    if (signal !== undefined) listenForAbort(signal, () => tell(carry(signal.reason)), this.#over.signal)
  }

  #log({ level, message, fields }: Message<'log'>): void {
    const restored = Object.entries(fields ?? {}).map(([key, value]) => [key, restore(value)])
    this.#args.logger?.[level](message, fields && Object.fromEntries(restored))
  }

  #record({ method, args, about }: Message<'record'>): void {
    const recorder = about === undefined ? this.#args.recorder : this.#args.recorder?.for(about)
    const record = recorder?.[method] as ((...args: readonly unknown[]) => void) | undefined
    record?.(...args.map(restore))
  }

  /** The clock is on this side. */
  async #wait({ wait, duration }: Message<'wait'>): Promise<void> {
    const isSet = (await this.#args.stopped?.wait(duration)) ?? false
    if (!this.#over.signal.aborted) this.#send({ type: 'waited', call: this.#call, wait, isSet })
  }

  #end(ending: Ending): void {
    this.#over.abort(noLongerNeeded)
    if (this.#args.patch !== undefined) addToPatch(this.#args.patch, ending.merge)
    for (const warning of ending.warnings) this.#args.warnings?.push(restore(warning))
    if ('thrown' in ending) this.#reject(restore(ending.thrown))
    else this.#resolve(ending.result)
  }
}
