/**
 * `inWorker`: registers a function of a module as a handler that runs in a worker thread. The arguments of a call contain the thread pool of
 * the run; a call outside of a run, as in a test, gets its own thread.
 */
import type { Args, ArgsHandlerType, ArgsParameter, Memo } from '../handlers/args/args.ts'
import { type WorkerModule, workersOf } from '../handlers/args/workers.ts'
import type { ResourceLike } from '../kube/resources/resources.ts'
import { systemClock } from '../util/async/clock.ts'
import { findModule, nameOf } from './module-files.ts'
import { WorkerPool } from './pool.ts'

/** Arguments that are not available in a worker thread. */
type NotInWorkers =
  | 'client'
  | 'clock'
  | 'conditions'
  | 'execute'
  | 'indices'
  | 'metrics'
  | 'now'
  | 'settings'
  | 'step'
  | 'subhandler'

/**
 * The arguments of a function that runs in a worker thread. They are copies, except `patch`, `logger`, `recorder`, `signal`, `stopped` and
 * `warnings`, which communicate with the operator. `client`, `clock`, `conditions`, `execute`, `indices`, `metrics`, `now`, `settings`,
 * `step` and `subhandler` are not available.
 *
 * @example
 * ```ts
 * export default async function ({ spec, patch }: WorkerArgs<'create', typeof Database>) {
 *   patch.status.checksum = computeChecksum(spec)
 * }
 * ```
 */
export type WorkerArgs<
  K extends ArgsHandlerType,
  R extends ResourceLike = string,
  P extends ArgsParameter<K>['type'] = ArgsParameter<K>['byDefault'],
  M = Memo,
> = Omit<Args<K, R, P, M>, NotInWorkers>

/** The options of `inWorker`. */
export interface InWorkerOptions {
  /** The name of the exported function. Default: the default export. */
  readonly name?: string
}

/** Any exported function. Its types are checked if `inWorker` has a type argument. */
type AnyFunction = (args: never) => unknown
type UntypedArgs = (args: object) => unknown

/**
 * Creates a handler that runs in a worker thread, for code that computes or blocks. The handler is the default export of a module, or the
 * export with the given name. Its id is that name, or the name of the file for a default export. The number of threads is limited by
 * `settings.execution.maxWorkers`.
 *
 * @example
 * ```ts
 * kopf.on.create('widgets', inWorker(new URL('./heavy.ts', import.meta.url)))
 * kopf.on.update(Database, inWorker<typeof import('./heavy.ts').resize>(heavy, { name: 'resize' })) // checks the types
 * ```
 */
export function inWorker<F extends AnyFunction = UntypedArgs>(
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
