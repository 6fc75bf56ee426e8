/** What the operator's thread and those of handlers say to each other; all of it is plain data. Types only. */
import type { DaemonStoppingReason, Recorder } from '../../core/handling/args.ts'
import type { WorkerModule } from '../../core/handling/workers.ts'
import type { JsonObject } from '../../kube/objects.ts'
import type { Duration } from '../../util/duration.ts'
import type { Logger } from '../../util/log.ts'
import type { Carried } from './carried-errors.ts'
import type { PackedArgs } from './packing.ts'

/** What a thread is born with. */
export interface ThreadOptions {
  /** One number: how many messages were sent to it. Code that never lets go of the thread can see that there are some. */
  readonly sent: Int32Array
  readonly sourceMaps: boolean
}

export interface LoadedModule extends WorkerModule {
  /** What is imported: the file itself, or what it was compiled to. */
  readonly address: string
}

export type ToThread =
  | {
      readonly type: 'call'
      readonly call: number
      readonly module: LoadedModule
      readonly args: PackedArgs
    }
  | { readonly type: 'abort'; readonly call: number; readonly reason: Carried }
  | {
      readonly type: 'stop'
      readonly call: number
      readonly reason: Carried
      readonly why: DaemonStoppingReason | undefined
    }
  | { readonly type: 'waited'; readonly call: number; readonly wait: number; readonly isSet: boolean }

/** How a call has ended. */
export type Ending = {
  readonly type: 'ended'
  readonly call: number
  /** What the handler has put into its patch; also if it has thrown then. */
  readonly merge: JsonObject
  /** What it has pushed to its warnings, likewise. */
  readonly warnings: readonly Carried[]
} & ({ readonly result: unknown } | { readonly thrown: Carried; readonly isSpent: boolean })

export type FromThread =
  | {
      readonly type: 'log'
      readonly call: number
      readonly level: keyof Logger
      readonly message: string
      readonly fields: Readonly<Record<string, Carried>> | undefined
    }
  | {
      readonly type: 'record'
      readonly call: number
      readonly method: Exclude<keyof Recorder, 'for'>
      readonly args: readonly Carried[]
      /** Other objects than the one at hand. */
      readonly about: readonly object[] | undefined
    }
  | { readonly type: 'wait'; readonly call: number; readonly wait: number; readonly duration: Duration | undefined }
  | Ending
