/** The messages between the operator's thread and worker threads. All are plain data. Types only. */
import type { DaemonStoppingReason, Recorder } from '../handlers/args/args.ts'
import type { WorkerModule } from '../handlers/args/workers.ts'
import type { JsonObject } from '../kube/objects.ts'
import type { Logger } from '../util/log/log.ts'
import type { Duration } from '../util/text/duration.ts'
import type { SerializedArgs } from './serialize-args.ts'
import type { SerializedErrorValue } from './serialize-errors.ts'

/** The `workerData` of a thread. */
export interface ThreadOptions {
  /** The number of messages sent to the thread, in shared memory. Code that blocks the thread can detect new messages with it. */
  readonly sent: Int32Array
  readonly sourceMaps: boolean
}

export interface LoadedModule extends WorkerModule {
  /** The URL to import: the file itself, or its compiled version. */
  readonly address: string
}

export type ToThread =
  | {
      readonly type: 'call'
      readonly call: number
      readonly module: LoadedModule
      readonly args: SerializedArgs
    }
  | { readonly type: 'abort'; readonly call: number; readonly reason: SerializedErrorValue }
  | {
      readonly type: 'stop'
      readonly call: number
      readonly reason: SerializedErrorValue
      readonly why: DaemonStoppingReason | undefined
    }
  | { readonly type: 'waited'; readonly call: number; readonly wait: number; readonly isSet: boolean }

/** The end of a call: a result or an error. */
export type CallEnding = {
  readonly type: 'ended'
  readonly call: number
  /** The content of the handler's patch, also if the handler has thrown. */
  readonly merge: JsonObject
  /** The content of the handler's `warnings`, also if the handler has thrown. */
  readonly warnings: readonly SerializedErrorValue[]
} & ({ readonly result: unknown } | { readonly thrown: SerializedErrorValue; readonly isUnusable: boolean })

export type FromThread =
  | {
      readonly type: 'log'
      readonly call: number
      readonly level: keyof Logger
      readonly message: string
      readonly fields: Readonly<Record<string, SerializedErrorValue>> | undefined
    }
  | {
      readonly type: 'record'
      readonly call: number
      readonly method: Exclude<keyof Recorder, 'for'>
      readonly args: readonly SerializedErrorValue[]
      /** The objects of `recorder.for()`. Undefined: the handled object. */
      readonly about: readonly object[] | undefined
    }
  | { readonly type: 'wait'; readonly call: number; readonly wait: number; readonly duration: Duration | undefined }
  | CallEnding
