/**
 * In a thread: one call, and what stands in there for the arguments that speak. Everything they are told is passed on to
 * conversation.ts on the other side, in the order it was said.
 */
import type { DaemonStoppingReason, Recorder, Stopped } from '../../core/handling/args.ts'
import { createPatch, type Patch, readPatch } from '../../core/patching/patch.ts'
import { KopfError } from '../../errors.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { type Duration, toMs } from '../../util/duration.ts'
import type { LogFields, Logger } from '../../util/log.ts'
import { toText } from '../../util/log-text.ts'
import { type Carried, carry, carryField } from './carried-errors.ts'
import type { FromThread, ToThread } from './messages.ts'
import type { StandIn } from './packing.ts'
import { RemoteSignal } from './remote-signal.ts'

/** The way to the operator. */
export interface Line {
  post(message: FromThread): void
  /** Takes in what has come from there, also for code that never lets go of its thread. */
  poll(): void
}

type Told = Exclude<ToThread, { readonly type: 'call' }>

export class ThreadCall {
  readonly id: number
  readonly standIns: Readonly<Record<StandIn, unknown>>
  readonly #line: Line
  readonly #patch = createPatch<KubeObject>()
  readonly #warnings: unknown[] = []
  readonly #signal: RemoteSignal
  readonly #stop: RemoteSignal
  #stopReason: DaemonStoppingReason | undefined
  readonly #waits: Array<(isSet: boolean) => void> = []

  constructor(id: number, line: Line) {
    this.id = id
    this.#line = line
    this.#signal = new RemoteSignal(() => line.poll())
    this.#stop = new RemoteSignal(() => line.poll())
    this.standIns = {
      logger: this.#createLogger(),
      patch: withoutFunctions(this.#patch),
      recorder: this.#createRecorder(undefined),
      signal: this.#signal.signal,
      stopped: this.#createStopped(),
      warnings: this.#warnings,
    }
  }

  receive(message: Told): void {
    if (message.type === 'abort') this.#signal.abort(message.reason)
    else if (message.type === 'stop') {
      this.#stopReason = message.why
      this.#stop.abort(message.reason)
    } else this.#waits[message.wait]?.(message.isSet)
  }

  get warnings(): readonly Carried[] {
    return this.#warnings.map((one) => carry(one))
  }

  /** Throws where the patch holds what JSON cannot. */
  readMerge(): JsonObject {
    return readPatch(this.#patch as Patch<never>).merge
  }

  #createLogger(): Logger {
    const at = (level: keyof Logger) => (message: string, fields?: LogFields) => {
      const carried = fields && Object.fromEntries(Object.entries(fields).map(([key, one]) => [key, carryField(one)]))
      this.#line.post({ type: 'log', call: this.id, level, message: toText(message), fields: carried })
    }
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  }

  #createRecorder(about: readonly object[] | undefined): Recorder {
    const record =
      (method: Exclude<keyof Recorder, 'for'>) =>
      (...args: readonly unknown[]) =>
        this.#line.post({ type: 'record', call: this.id, method, args: args.map((one) => carry(one)), about })
    return {
      event: record('event'),
      info: record('info'),
      warn: record('warn'),
      exception: record('exception'),
      for: (objects) => this.#createRecorder([objects].flat().map(toReferable)),
    }
  }

  #createStopped(): Stopped {
    const stop = this.#stop
    const reason = () => (stop.signal.aborted ? this.#stopReason : undefined)
    return {
      isSet: () => stop.signal.aborted,
      get reason() {
        return reason()
      },
      wait: (duration) => this.#wait(duration),
      signal: stop.signal,
    }
  }

  /** Waiting is done on the other side, by the clock of the operator. */
  async #wait(duration: Duration | undefined): Promise<boolean> {
    if (duration !== undefined) toMs(duration, 'the duration to wait')
    return new Promise((resolve) => {
      this.#line.post({ type: 'wait', call: this.id, wait: this.#waits.push(resolve) - 1, duration })
    })
  }
}

/** Functions cannot be carried to where they would be called. */
function withoutFunctions(patch: Patch<KubeObject>): Patch<KubeObject> {
  return new Proxy(patch, {
    get(target, key) {
      if (key !== 'fns') return Reflect.get(target, key)
      throw new KopfError(
        'KOPF_WORKER',
        'Cannot use "patch.fns" in a worker: functions stay in their thread; put values into the patch, or do that part in an ordinary handler',
      )
    },
  })
}

/** As much of an object as events need to know. */
function toReferable(object: object): object {
  const { apiVersion, kind, metadata } = object as Partial<KubeObject>
  const { name, namespace, uid } = metadata ?? {}
  return { apiVersion, kind, metadata: { name, namespace, uid } }
}
