/**
 * The worker thread's side of one call: deserializes the arguments, and creates the remote objects (logger, patch, recorder, signals) that send
 * messages to host-call.ts in order.
 */

import { restoreDiffItems } from '../../causation/diff-item.ts'
import { KopfError } from '../../errors.ts'
import type { DaemonStoppingReason, Recorder, Stopped } from '../../handlers/args/args.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { createPatch, type Patch, readPatch } from '../../patching/patch.ts'
import { createSharedController } from '../../util/async/shared-signal.ts'
import { deepFreeze } from '../../util/json/deep-freeze.ts'
import { toText } from '../../util/log/error-text.ts'
import type { LogFields, Logger } from '../../util/log/log.ts'
import { type Duration, toMs } from '../../util/text/duration.ts'
import { restoreConcealed } from '../concealed-paths.ts'
import type { FromThread, ToThread } from '../messages.ts'
import { notTransferable, type RemoteValue, type SerializedArgs } from '../serialize-args.ts'
import { deserializeError, type SerializedErrorValue, serializeError, serializeField } from '../serialize-errors.ts'

/** The connection to the operator's thread. */
export interface HostChannel {
  post(message: FromThread): void
  /** Receives new messages synchronously, so that code which blocks the thread sees them, too. */
  poll(): void
}

type CallUpdate = Exclude<ToThread, { readonly type: 'call' }>

export class ThreadCall {
  readonly id: number
  readonly remoteValues: Readonly<Record<RemoteValue, unknown>>
  readonly #channel: HostChannel
  readonly #patch = createPatch<KubeObject>()
  readonly #warnings: unknown[] = []
  readonly #signal: RemoteSignal
  readonly #stop: RemoteSignal
  #stopReason: DaemonStoppingReason | undefined
  readonly #waits: Array<(isSet: boolean) => void> = []

  constructor(id: number, channel: HostChannel) {
    this.id = id
    this.#channel = channel
    this.#signal = new RemoteSignal(() => channel.poll())
    this.#stop = new RemoteSignal(() => channel.poll())
    this.remoteValues = {
      logger: this.#createLogger(),
      patch: withoutFunctions(this.#patch),
      recorder: this.#createRecorder(undefined),
      signal: this.#signal.signal,
      stopped: this.#createStopped(),
      warnings: this.#warnings,
    }
  }

  receive(message: CallUpdate): void {
    if (message.type === 'abort') this.#signal.abort(message.reason)
    else if (message.type === 'stop') {
      this.#stopReason = message.why
      this.#stop.abort(message.reason)
    } else this.#waits[message.wait]?.(message.isSet)
  }

  get warnings(): readonly SerializedErrorValue[] {
    return this.#warnings.map((one) => serializeError(one))
  }

  /** Throws if the patch contains a value that JSON cannot hold. */
  readMerge(): JsonObject {
    return readPatch(this.#patch as Patch<never>).merge
  }

  #createLogger(): Logger {
    const logAt = (level: keyof Logger) => (message: string, fields?: LogFields) => {
      const serialized =
        fields && Object.fromEntries(Object.entries(fields).map(([key, one]) => [key, serializeField(one)]))
      this.#channel.post({ type: 'log', call: this.id, level, message: toText(message), fields: serialized })
    }
    return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') }
  }

  #createRecorder(about: readonly object[] | undefined): Recorder {
    const record =
      (method: Exclude<keyof Recorder, 'for'>) =>
      (...args: readonly unknown[]) =>
        this.#channel.post({
          type: 'record',
          call: this.id,
          method,
          args: args.map((one) => serializeError(one)),
          about,
        })
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

  /** The operator's thread waits, with its clock. */
  async #wait(duration: Duration | undefined): Promise<boolean> {
    if (duration !== undefined) toMs(duration, 'the duration to wait')
    return new Promise((resolve) => {
      this.#channel.post({ type: 'wait', call: this.id, wait: this.#waits.push(resolve) - 1, duration })
    })
  }
}

/** `patch.fns` is not available: functions cannot be sent to another thread. */
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

/** The fields of an object that an event refers to. */
function toReferable(object: object): object {
  const { apiVersion, kind, metadata } = object as Partial<KubeObject>
  const { name, namespace, uid } = metadata ?? {}
  return { apiVersion, kind, metadata: { name, namespace, uid } }
}

/** Arguments that are frozen, as in the operator's thread: handlers make changes with `patch`. */
const frozen = [
  'annotations',
  'body',
  'diff',
  'event',
  'headers',
  'labels',
  'meta',
  'new',
  'old',
  'resource',
  'spec',
  'sslpeer',
  'status',
  'userinfo',
]

/** The arguments for the function. Reading one that is not available in a thread throws an error with an explanation. */
export function deserializeArgs(
  serialized: SerializedArgs,
  remoteValues: Readonly<Record<RemoteValue, unknown>>,
): object {
  const args: Record<string, unknown> = { ...serialized.values }
  restoreConcealed(args, serialized.concealed ?? [])
  if ('diff' in args) args['diff'] = restoreDiffItems(args['diff'])
  for (const name of frozen) deepFreeze(args[name])
  for (const name of serialized.remote) args[name] = remoteValues[name]
  for (const name of serialized.missing) {
    const inMemo = name.startsWith('memo.')
    defineUnavailable((inMemo ? args['memo'] : args) as object, inMemo ? name.slice('memo.'.length) : name, () =>
      throwUnavailable(name),
    )
  }
  return args
}

/** The property is not enumerable: copying all arguments must not trigger the error. */
function defineUnavailable(target: object, key: string, get: () => never): void {
  Object.defineProperty(target, key, { get, enumerable: false, configurable: true })
}

function throwUnavailable(name: string): never {
  const why = notTransferable.includes(name)
    ? 'it stays with the operator; do that part in an ordinary handler'
    : 'there is something in it that cannot be copied to another thread, such as a function; use plain data'
  throw new KopfError('KOPF_WORKER', `Cannot use "${name}" in a worker: ${why}`)
}

const isAborted = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted')!.get!

/** An AbortSignal that the operator's thread aborts. */
export class RemoteSignal {
  readonly #controller = createSharedController()

  /** Reading `aborted` polls for messages: code that blocks the thread receives no message events. */
  constructor(poll: () => void) {
    const { signal } = this.#controller
    const aborted = (): boolean => {
      poll()
      return isAborted.call(signal) as boolean
    }
    const throwIfAborted = (): void => {
      if (aborted()) throw signal.reason
    }
    Object.defineProperties(signal, { aborted: { get: aborted }, throwIfAborted: { value: throwIfAborted } })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(reason: SerializedErrorValue): void {
    this.#controller.abort(deserializeError(reason))
  }
}
