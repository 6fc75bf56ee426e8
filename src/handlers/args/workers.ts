/**
 * Where functions made by `inWorker` find the threads of their run: in the arguments of every handler, under a key that no
 * author of handlers comes across. Put there by object-args.ts and run/run.ts, looked for by workers/in-worker.ts.
 */

/** A function that is to run on a thread. */
export interface WorkerModule {
  /** The address of the file. */
  readonly url: string
  /** What the file exports it as. */
  readonly exportName: string
}

export interface Workers {
  /** Calls the function with what can cross of the arguments; resolves and rejects as the call itself would. */
  run(module: WorkerModule, args: object): Promise<unknown>
}

/** Registered: operators that are merged may come from two copies of this package. */
export const workersKey: unique symbol = Symbol.for('kopf.workers') as never

export function workersOf(args: object): Workers | undefined {
  return (args as { readonly [workersKey]?: Workers })[workersKey]
}
