/**
 * Handlers on threads of their own, for code that computes or blocks: what stands in a registration in place of the function.
 * The threads are those of the run, found in the arguments; a call outside of any run gets a thread for itself.
 */
import type { Args, ArgsKind, ArgsParameter, Memo } from '../core/handling/args.ts'
import { type WorkerModule, workersOf } from '../core/handling/workers.ts'
import { findModule, nameOf } from '../features/workers/module-files.ts'
import { WorkerPool } from '../features/workers/pool.ts'
import type { ResourceLike } from '../kube/resources.ts'
import { systemClock } from '../util/clock.ts'

/** What stays with the operator. */
type NotInWorkers = 'client' | 'clock' | 'execute' | 'indices' | 'settings' | 'subhandler'

/**
 * What a function in a worker is called with: `WorkerArgs<'create', typeof Database>`. Copies, but for what speaks with the
 * operator: `patch`, `logger`, `recorder`, `signal`, `stopped`, `warnings`.
 */
export type WorkerArgs<
  K extends ArgsKind,
  R extends ResourceLike = string,
  P extends ArgsParameter<K>['type'] = ArgsParameter<K>['byDefault'],
  M = Memo,
> = Omit<Args<K, R, P, M>, NotInWorkers>

/** Which function of the module is meant. */
export interface InWorkerOptions {
  /** The name of the function among what the module exports. Default: its default export. */
  readonly name?: string
}

/** A function in a module; its types are checked where they are given. */
type AnyFunction = (args: never) => unknown
type Untyped = (args: object) => unknown

/**
 * A handler that runs in a worker thread: the default export of a module, or another one by its name.
 * Its id is that name; for a default export, the name of the file.
 *
 * @example
 * ```ts
 * kopf.on.create('widgets', inWorker(new URL('./heavy.ts', import.meta.url)))
 * kopf.on.update(Database, inWorker<typeof import('./heavy.ts').resize>(heavy, { name: 'resize' })) // checks the types
 * ```
 */
export function inWorker<F extends AnyFunction = Untyped>(
  url: URL | string,
  { name = 'default' }: InWorkerOptions = {},
): (args: Parameters<F>[0]) => Promise<Awaited<ReturnType<F>>> {
  const module: WorkerModule = { url: findModule(url).href, exportName: name }
  const run = (args: object): Promise<unknown> => workersOf(args)?.run(module, args) ?? runAlone(module, args)
  return Object.defineProperty(run, 'name', { value: nameOf(module) }) as (
    args: Parameters<F>[0],
  ) => Promise<Awaited<ReturnType<F>>>
}

async function runAlone(module: WorkerModule, args: object): Promise<unknown> {
  const pool = new WorkerPool({ clock: systemClock, limit: () => 1 })
  try {
    return await pool.run(module, args)
  } finally {
    await pool.close()
  }
}
