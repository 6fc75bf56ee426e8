/**
 * The thread pool of a run, as a hidden argument of every handler: functions made by `inWorker` find it there. object-args.ts and
 * run/run.ts set it, workers/in-worker.ts reads it.
 */

/** An exported function that runs in a worker thread. */
export interface WorkerModule {
  /** The URL of the module. */
  readonly url: string
  /** The name of the export. */
  readonly exportName: string
}

export interface Workers {
  /** Calls the function in a thread, with copies of the arguments. Resolves and rejects like the function. */
  run(module: WorkerModule, args: object): Promise<unknown>
}

/** A registered symbol, since operators that are merged may come from two copies of this package. */
export const workersKey: unique symbol = Symbol.for('kopf.workers') as never

export function workersOf(args: object): Workers | undefined {
  return (args as { readonly [workersKey]?: Workers })[workersKey]
}
