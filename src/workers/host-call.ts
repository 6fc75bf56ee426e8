/**
 * The operator's side of one call in a worker thread: sends the arguments, executes the messages of the thread (log lines, events, waits),
 * and settles with the result. Created by worker-thread.ts for each call; the other side is thread/call.ts.
 */
import type { Recorder, Stopped } from '../handlers/args/args.ts'
import { addToPatch } from '../patching/patch.ts'
import { listenForAbort } from '../util/async/any-signal.ts'
import { noLongerNeeded } from '../util/async/clock.ts'
import { type Logger, toFrameworkLogger } from '../util/log/log.ts'
import { bindToContext } from '../util/tracing/open-telemetry.ts'
import type { CallEnding, FromThread, LoadedModule, ToThread } from './messages.ts'
import { serializeArgs, serializeCloneable } from './serialize-args.ts'
import { deserializeError, type SerializedErrorValue, serializeError } from './serialize-errors.ts'

/** The arguments that have a counterpart in the thread. Any of them may be missing if users call the function themselves. */
interface CallableArgs {
  readonly logger?: Logger
  readonly patch?: object
  readonly recorder?: Recorder
  readonly signal?: AbortSignal
  readonly stopped?: Stopped
  readonly warnings?: unknown[]
}

type WorkerMessage<T extends FromThread['type']> = Extract<FromThread, { readonly type: T }>

export class WorkerCall {
  /** Settles with the result or the error of the function. */
  readonly outcome: Promise<unknown>
  /** Messages arrive outside of the handler's context: its log lines have the ids of its span all the same. */
  readonly receive: (message: FromThread) => void = bindToContext((message) => this.#receive(message))
  readonly #call: number
  readonly #args: CallableArgs
  readonly #send: (message: ToThread) => void
  readonly #ended = new AbortController()
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

  start(module: LoadedModule): void {
    const call = this.#call
    try {
      this.#send({ type: 'call', call, module, args: serializeArgs(this.#args) })
    } catch {
      this.#send({ type: 'call', call, module, args: serializeCloneable(this.#args) })
    }
    const { signal, stopped } = this.#args
    this.#forwardAbort(signal, (reason) => this.#send({ type: 'abort', call, reason }))
    this.#forwardAbort(stopped?.signal, (reason) => this.#send({ type: 'stop', call, reason, why: stopped?.reason }))
  }

  #receive(message: FromThread): void {
    // Ignores messages of an earlier call: code that a handler left running after its end.
    if (message.call !== this.#call) return
    if (message.type === 'log') this.#log(message)
    else if (message.type === 'record') this.#record(message)
    else if (message.type === 'wait') void this.#wait(message)
    else this.#end(message)
  }

  /** The thread has died and sends no more messages. */
  fail(error: Error): void {
    this.#ended.abort(noLongerNeeded)
    // Logs the cause with its stack: the message of the error contains only its first line.
    const { logger } = this.#args
    if (error.cause !== undefined && logger !== undefined)
      toFrameworkLogger(logger).error('The worker thread has died.', { error: error.cause })
    this.#reject(error)
  }

  #forwardAbort(signal: AbortSignal | undefined, send: (reason: SerializedErrorValue) => void): void {
    if (signal !== undefined) listenForAbort(signal, () => send(serializeError(signal.reason)), this.#ended.signal)
  }

  #log({ level, message, fields }: WorkerMessage<'log'>): void {
    const restored = Object.entries(fields ?? {}).map(([key, value]) => [key, deserializeError(value)])
    this.#args.logger?.[level](message, fields && Object.fromEntries(restored))
  }

  #record({ method, args, about }: WorkerMessage<'record'>): void {
    const recorder = about === undefined ? this.#args.recorder : this.#args.recorder?.for(about)
    const record = recorder?.[method] as ((...args: readonly unknown[]) => void) | undefined
    record?.(...args.map(deserializeError))
  }

  /** Waits with the operator's clock, which is not available in the thread. */
  async #wait({ wait, duration }: WorkerMessage<'wait'>): Promise<void> {
    const isSet = (await this.#args.stopped?.wait(duration)) ?? false
    if (!this.#ended.signal.aborted) this.#send({ type: 'waited', call: this.#call, wait, isSet })
  }

  #end(ending: CallEnding): void {
    this.#ended.abort(noLongerNeeded)
    if (this.#args.patch !== undefined) addToPatch(this.#args.patch, ending.merge)
    for (const warning of ending.warnings) this.#args.warnings?.push(deserializeError(warning))
    if ('thrown' in ending) this.#reject(deserializeError(ending.thrown))
    else this.#resolve(ending.result)
  }
}
